//! Numbers as people read them, in rows, tables and verdicts.

/// Three significant figures, more only before the point.
pub(crate) fn number(value: f64) -> String {
    let digits = match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        0.0 => 0,
        _ => 3,
    };
    let text = format!("{value:.digits$}");
    // What is written as zero has no sign.
    match text.strip_prefix('-') {
        Some(zero) if !zero.contains(|digit| matches!(digit, '1'..='9')) => zero.to_owned(),
        _ => text,
    }
}
