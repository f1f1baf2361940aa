//! Medians, the interval of a median, and the rows of Markdown tables. Pure.

/// The middle; of an even number the mean of the middle two. NaN of nothing.
pub(crate) fn median(values: &[f64]) -> f64 {
    let sorted = sorted(values);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

/// An interval of the true median, from order statistics.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Interval {
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// The chance that the interval has the median, whatever the distribution.
    pub(crate) confidence: f64,
}

/// The narrowest interval from k-th lowest to k-th highest of at least 95 %; the
/// whole range where there are too few values for that. Of 9 values: k = 2, 96 %.
pub(crate) fn interval(values: &[f64]) -> Interval {
    let sorted = sorted(values);
    let n = sorted.len();
    if n == 0 {
        return Interval { low: f64::NAN, high: f64::NAN, confidence: 0.0 };
    }
    let enough = |k: &usize| confidence(n, *k) >= 0.95;
    let k = (2..=n / 2).take_while(enough).last().unwrap_or(1);
    Interval { low: sorted[k - 1], high: sorted[n - k], confidence: confidence(n, k) }
}

/// 1 - 2 P(fewer than k of n values are below the median).
fn confidence(n: usize, k: usize) -> f64 {
    let mut term = 0.5f64.powi(n as i32);
    let mut below = 0.0;
    for i in 0..k {
        below += term;
        term *= (n - i) as f64 / (i + 1) as f64;
    }
    1.0 - 2.0 * below
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// `median (lowest–highest)`.
pub(crate) fn spread(values: &[f64], digits: usize) -> String {
    let sorted = sorted(values);
    match (sorted.first(), sorted.last()) {
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
    fn medians() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn nine_rounds_give_96_percent_from_the_second_to_the_eighth() {
        let values: Vec<f64> = (1..=9).rev().map(f64::from).collect();
        let interval = interval(&values);
        assert_eq!((interval.low, interval.high), (2.0, 8.0));
        assert!((interval.confidence - 0.961).abs() < 0.001, "{interval:?}");
    }

    #[test]
    fn few_rounds_give_their_range() {
        let of_three = interval(&[5.0, 1.0, 3.0]);
        assert_eq!((of_three.low, of_three.high, of_three.confidence), (1.0, 5.0, 0.75));
        assert!(interval(&[]).low.is_nan());
    }

    #[test]
    fn tables_have_a_rule_under_the_heading() {
        assert_eq!(heading(&["a", "b"]), "| a | b |\n| --- | ---: |\n");
        assert_eq!(spread(&[1.0, 2.0, 4.0], 1), "2.0 (1.0–4.0)");
    }
}
