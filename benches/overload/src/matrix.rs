//! The rows of the matrix and the table of their figures. It starts nothing.

use std::fmt::Write as _;

use crate::report::Report;

/// A row of the table: its name and the options of its runs.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) options: &'static str,
}

const fn row(name: &'static str, options: &'static str) -> Row {
    Row { name, options }
}

/// The matrix.
pub(crate) const ROWS: [Row; 9] = [
    row("nginx", "--system nginx"),
    row("nginx, queue 100", "--system nginx --queue 100"),
    row("weir srpt", "--system weir:srpt"),
    row("weir fair", "--system weir:fair"),
    row("weir protective", "--system weir:protective"),
    row("weir srpt, 4 workers", "--system weir:srpt --workers 4"),
    row("weir protective, slow readers", "--system weir:protective --scenario slow-readers"),
    row("weir srpt, router", "--system weir:srpt --scenario router"),
    row("nginx, router", "--system nginx --scenario router"),
];

/// The reports of a row; the seed is the index, less one.
pub(crate) type Runs = Vec<Option<Report>>;

/// The figures as a Markdown table.
pub(crate) fn markdown(done: &[Runs]) -> String {
    let mut text = String::from(
        "Medians over the seeds, least to most in brackets; times in ms.\n\n\
         | system | mean | × exact SRPT | × exact PS | median | p99 | top 1 % | link use | incomplete % | late % | lag p99 | runs |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for (row, runs) in ROWS.iter().zip(done) {
        let runs: Vec<&Report> = runs.iter().flatten().collect();
        let column = |digits: usize, value: &dyn Fn(&Report) -> f64| {
            spread(runs.iter().map(|run| value(run)).collect(), digits)
        };
        let invalid = runs.iter().filter(|run| !run.invalid.is_empty()).count();
        let valid = match invalid {
            0 => runs.len().to_string(),
            some => format!("{}, {some} INVALID", runs.len()),
        };
        let cells = [
            column(1, &|run| run.measured.mean),
            column(2, &Report::over_srpt),
            column(2, &Report::over_sharing),
            column(1, &|run| run.measured.median),
            column(0, &|run| run.measured.p99),
            column(0, &|run| run.measured.largest),
            column(4, &Report::mean_link_use),
            column(3, &|run| run.incomplete_share * 100.0),
            column(2, &|run| run.late_share * 100.0),
            column(2, &|run| run.start_lag_p99),
            valid,
        ];
        let _ = writeln!(text, "| {} | {} |", row.name, cells.join(" | "));
    }
    text
}

/// The median, and least and most in brackets where they differ in print.
pub(crate) fn spread(mut values: Vec<f64>, digits: usize) -> String {
    values.sort_by(f64::total_cmp);
    let (Some(least), Some(most)) = (values.first(), values.last()) else {
        return "–".into();
    };
    let print = |value: f64| format!("{value:.digits$}");
    let (least, most) = (print(*least), print(*most));
    let middle = print(median(&values));
    if least == most {
        return middle;
    }
    format!("{middle} ({least}–{most})")
}

/// The middle of sorted values, or the mean of the two in the middle.
pub(crate) fn median(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        even if even % 2 == 0 => (sorted[half - 1] + sorted[half]) / 2.0,
        _ => sorted[half],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_the_median_and_its_range() {
        assert_eq!(spread(vec![3.0, 1.0, 2.0], 1), "2.0 (1.0–3.0)");
        assert_eq!(spread(vec![1.01, 1.02], 1), "1.0");
        assert_eq!(spread(vec![], 1), "–");
    }
}
