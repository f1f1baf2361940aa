//! The formats that figures are written in, and which of them a client accepts. Used by `/metrics`.

/// How figures are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// OpenMetrics 1.0.0.
    OpenMetrics,
    /// The text format of Prometheus, 0.0.4, which every reader understands.
    Prometheus,
}

const OPEN_METRICS: &str = "application/openmetrics-text";

impl Format {
    /// The format for a reader with this `Accept` field (RFC 9110, section 12.5.1): OpenMetrics only
    /// if it is named, for a browser that takes anything shows text.
    pub(crate) fn accepted(accept: &str) -> Format {
        let quality = |format: &str, version: &str| {
            let ranges = accept.split(',').filter_map(|range| {
                let mut parts = range.split(';').map(str::trim);
                if !parts.next()?.eq_ignore_ascii_case(format) {
                    return None;
                }
                let mut quality = 1.0;
                for parameter in parts {
                    let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
                    match name.trim().to_ascii_lowercase().as_str() {
                        "q" => quality = value.trim().parse().unwrap_or(0.0),
                        "version" if value.trim().trim_matches('"') != version => return None,
                        _ => {}
                    }
                }
                Some(quality)
            });
            ranges.fold(0.0, f64::max)
        };
        let open_metrics = quality(OPEN_METRICS, "1.0.0");
        match open_metrics > 0.0 && open_metrics >= quality("text/plain", "0.0.4") {
            true => Format::OpenMetrics,
            false => Format::Prometheus,
        }
    }

    /// What `Content-Type` calls it.
    pub(crate) fn media(self) -> &'static str {
        match self {
            Format::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
            Format::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
        }
    }
}

/// OpenMetrics text in the older format: there a counter is named by its samples, with `_total`, and
/// units and the end are not marked.
pub(super) fn prometheus(open_metrics: &str) -> String {
    let mut text = String::with_capacity(open_metrics.len());
    // The help of a family comes before its type, which says what the family is called.
    let mut help = None;
    for line in open_metrics.lines() {
        let described = |keyword| line.strip_prefix(keyword)?.split_once(' ');
        if let Some(described) = described("# HELP ") {
            help = Some(described);
        } else if let Some((name, kind)) = described("# TYPE ") {
            let total = if kind == "counter" { "_total" } else { "" };
            if let Some((_, help)) = help.take().filter(|(of, _)| *of == name) {
                text.extend(["# HELP ", name, total, " ", help, "\n"]);
            }
            text.extend(["# TYPE ", name, total, " ", kind, "\n"]);
        } else if !line.starts_with('#') {
            text.extend([line, "\n"]);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reader_gets_open_metrics_if_it_asks_for_it() {
        for (accept, format) in [
            ("", Format::Prometheus),
            ("*/*", Format::Prometheus),
            ("text/html,application/xhtml+xml,*/*;q=0.8", Format::Prometheus),
            ("text/plain", Format::Prometheus),
            ("application/openmetrics-text", Format::OpenMetrics),
            ("Application/OpenMetrics-Text; Version=1.0.0; charset=utf-8", Format::OpenMetrics),
            ("application/openmetrics-text;q=0", Format::Prometheus),
            ("application/openmetrics-text;version=0.0.1", Format::Prometheus),
            ("text/plain;version=0.0.4,application/openmetrics-text;q=0.5", Format::Prometheus),
            // As Prometheus asks (2.42), and as it did before.
            (
                "application/openmetrics-text;version=1.0.0,application/openmetrics-text;\
                 version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
                Format::OpenMetrics,
            ),
            ("text/plain;version=0.0.4;q=1,*/*;q=0.1", Format::Prometheus),
            ("application/openmetrics-text;q=nonsense", Format::Prometheus),
        ] {
            assert_eq!(Format::accepted(accept), format, "{accept}");
        }
    }

    #[test]
    fn counters_are_called_as_their_samples_and_nothing_else_changes() {
        let open_metrics = "# HELP a_seconds What a is.\n# TYPE a_seconds counter\n# UNIT a_seconds seconds\n\
                            a_seconds_total{x=\"# HELP\"} 1.5\n# HELP b B\\n.\n# TYPE b gauge\nb 2\n# EOF\n";
        let expected = "# HELP a_seconds_total What a is.\n# TYPE a_seconds_total counter\n\
                        a_seconds_total{x=\"# HELP\"} 1.5\n# HELP b B\\n.\n# TYPE b gauge\nb 2\n";
        assert_eq!(prometheus(open_metrics), expected);
    }
}
