//! What a measurement, or a part of one, found: tables, and weir's figures beside the bars they are to
//! reach. Every command that has bars collects its findings here.

use weir_stats::confidence::MedianInterval;

use crate::compare::Ratio;
use crate::table::{heading, row};

/// A bound on a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Bar {
    AtMost(f64),
    AtLeast(f64),
}

/// A figure of weir's and its bar.
#[derive(Clone, Debug)]
struct Verdict {
    what: String,
    /// None if there is nothing to compare with, and why.
    found: Result<(MedianInterval, String), String>,
    bar: Bar,
}

/// What one part, or all, found.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// The tables.
    pub(crate) text: String,
    verdicts: Vec<Verdict>,
    /// Measurements that the machine spoiled.
    pub(crate) marked: usize,
}

impl Findings {
    /// A ratio to a peer and its bar.
    pub(crate) fn ratio(
        &mut self,
        what: impl Into<String>,
        ratio: Result<Ratio, &'static str>,
        bar: Bar,
    ) {
        let found = ratio.map(|ratio| (ratio.found, format!(" × {}", ratio.peer)));
        let found = found.map_err(str::to_owned);
        self.verdicts.push(Verdict { what: what.into(), found, bar });
    }

    /// A figure in some unit and its bar; no figure if weir was not measured.
    pub(crate) fn figure(
        &mut self,
        what: impl Into<String>,
        found: Option<MedianInterval>,
        unit: &str,
        bar: Bar,
    ) {
        let found = found.map(|found| (found, format!(" {unit}")));
        let found = found.ok_or_else(|| "weir was not measured".to_owned());
        self.verdicts.push(Verdict { what: what.into(), found, bar });
    }

    /// Take up those of a part.
    pub(crate) fn add(&mut self, part: Findings) {
        self.text.push_str(&part.text);
        self.verdicts.extend(part.verdicts);
        self.marked += part.marked;
    }

    /// All verdicts as Markdown.
    pub(crate) fn verdicts(&self) -> String {
        let mut text = String::from("\n### weir and its bars\n\n");
        text.push_str(&heading(&["what", "found", "interval of the median", "bar", "verdict"]));
        for verdict in &self.verdicts {
            text.push_str(&verdict.row());
        }
        if self.marked > 0 {
            text.push_str(&format!(
                "\nINVALID: too much steal or other work in {} measurements.\n",
                self.marked
            ));
        }
        text
    }
}

impl Verdict {
    fn row(&self) -> String {
        let bar = match self.bar {
            Bar::AtMost(bar) => format!("at most {bar}"),
            Bar::AtLeast(bar) => format!("at least {bar}"),
        };
        let (found, interval, word) = match &self.found {
            Err(why) => (format!("– ({why})"), "–".to_owned(), "not measured"),
            Ok((found, unit)) => {
                let MedianInterval { median, low, high, coverage, count } = found;
                let interval =
                    format!("{low:.3} to {high:.3} ({:.0} %, {count} rounds)", coverage * 100.0);
                let word = if self.bar.is_reached_by(*median) { "reached" } else { "missed" };
                (format!("{median:.3}{unit}"), interval, word)
            }
        };
        row([self.what.clone(), found, interval, bar, word.to_owned()])
    }
}

impl Bar {
    fn is_reached_by(self, figure: f64) -> bool {
        match self {
            Bar::AtMost(bar) => figure <= bar,
            Bar::AtLeast(bar) => figure >= bar,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::to_peer;

    #[test]
    fn a_bar_is_reached_missed_or_not_measured() {
        let figures = vec![
            ("weir".to_owned(), vec![12.0, 13.0, 14.0]),
            ("nginx".to_owned(), vec![10.0, 10.0, 10.0]),
        ];
        let mut all = Findings::default();
        let mut part = Findings { text: "a table\n".into(), marked: 2, ..Findings::default() };
        part.ratio("handshakes", to_peer(&figures, "nginx"), Bar::AtLeast(1.3));
        part.ratio("CPU", to_peer(&figures, "nginx"), Bar::AtMost(1.2));
        part.ratio("beside h2o", to_peer(&figures, "h2o"), Bar::AtMost(1.0));
        part.figure("memory", None, "bytes", Bar::AtMost(10_240.0));
        all.add(part);
        let text = all.verdicts();
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("| ")).collect();
        assert!(lines[2].contains("1.300 × nginx") && lines[2].ends_with("| reached |"), "{text}");
        assert!(lines[3].contains("at most 1.2") && lines[3].ends_with("| missed |"), "{text}");
        assert!(
            lines[4].contains("needs weir") && lines[4].ends_with("| not measured |"),
            "{text}"
        );
        assert!(lines[5].contains("weir was not measured"), "{text}");
        assert!(text.ends_with("in 2 measurements.\n") && all.text == "a table\n", "{text}");
    }
}
