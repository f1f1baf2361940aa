//! Rows of Markdown tables, and medians with the range of their rounds.

/// The middle; of an even number the mean of the middle two. NaN of nothing.
pub(crate) fn median(values: &[f64]) -> f64 {
    weir_stats::confidence::median_interval(values).map_or(f64::NAN, |found| found.median)
}

/// `median (lowest–highest)`.
pub(crate) fn spread(values: &[f64], digits: usize) -> String {
    let samples = weir_stats::Samples::new(values.iter().copied());
    match (samples.sorted().first(), samples.sorted().last()) {
        (Some(low), Some(high)) => {
            format!("{:.digits$} ({low:.digits$}–{high:.digits$})", median(values))
        }
        _ => "–".into(),
    }
}

/// A line of a Markdown table.
pub(crate) fn row<S: AsRef<str>>(cells: impl IntoIterator<Item = S>) -> String {
    let cells: Vec<_> = cells.into_iter().map(|cell| cell.as_ref().to_owned()).collect();
    format!("| {} |\n", cells.join(" | "))
}

/// The heading of a Markdown table: the first column is text, the others numbers.
pub(crate) fn heading(names: &[&str]) -> String {
    let rule = names.iter().enumerate().map(|(i, _)| if i == 0 { "---" } else { "---:" });
    format!("{}{}", row(names), row(rule))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_have_a_rule_under_the_heading() {
        assert_eq!(heading(&["a", "b"]), "| a | b |\n| --- | ---: |\n");
        assert_eq!(spread(&[1.0, 2.0, 4.0], 1), "2.0 (1.0–4.0)");
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&[]).is_nan());
    }
}
