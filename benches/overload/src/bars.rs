//! The bars: what each comparison should come to, and what it came to. Ratios
//! are taken seed by seed, on the same trace, then summed up by their median.

use std::fmt::Write as _;

use crate::matrix::{ROWS, Runs, median, spread};
use crate::report::Report;

/// A value that should be at most, or at least, a limit.
struct Bar {
    what: &'static str,
    at_most: bool,
    limit: f64,
    /// Rows by name; the value is taken from their runs of the same seed.
    rows: &'static [&'static str],
    value: fn(&[&Report]) -> f64,
}

const BARS: [Bar; 10] = [
    Bar {
        what: "srpt, mean ÷ exact SRPT",
        at_most: true,
        limit: 1.20,
        rows: &["weir srpt"],
        value: |runs| runs[0].over_srpt(),
    },
    Bar {
        what: "nginx, mean ÷ srpt",
        at_most: false,
        limit: 9.0,
        rows: &["nginx", "weir srpt"],
        value: ratio,
    },
    Bar {
        what: "fair, mean ÷ exact PS",
        at_most: true,
        limit: 1.30,
        rows: &["weir fair"],
        value: |runs| runs[0].over_sharing(),
    },
    Bar {
        what: "protective, mean ÷ srpt",
        at_most: true,
        limit: 1.12,
        rows: &["weir protective", "weir srpt"],
        value: ratio,
    },
    Bar {
        what: "protective, % later than exact PS by more than 50 ms",
        at_most: true,
        limit: 1.0,
        rows: &["weir protective"],
        value: |runs| runs[0].late_share * 100.0,
    },
    Bar {
        what: "srpt, link use in overload",
        at_most: false,
        limit: 0.975,
        rows: &["weir srpt"],
        value: |runs| runs[0].mean_link_use(),
    },
    Bar {
        what: "protective, link use in overload",
        at_most: false,
        limit: 0.975,
        rows: &["weir protective"],
        value: |runs| runs[0].mean_link_use(),
    },
    Bar {
        what: "srpt, 4 workers ÷ 1 worker",
        at_most: true,
        limit: 1.10,
        rows: &["weir srpt, 4 workers", "weir srpt"],
        value: ratio,
    },
    Bar {
        what: "protective, ordinary clients' mean with slow readers ÷ without",
        at_most: true,
        limit: 1.10,
        rows: &["weir protective, slow readers", "weir protective"],
        value: |runs| runs[0].ordinary_mean / runs[1].ordinary_mean,
    },
    Bar {
        what: "srpt, router ÷ plain",
        at_most: true,
        limit: 1.10,
        rows: &["weir srpt, router", "weir srpt"],
        value: ratio,
    },
];

fn ratio(runs: &[&Report]) -> f64 {
    runs[0].measured.mean / runs[1].measured.mean
}

/// The bars beside what was measured.
pub(crate) fn markdown(done: &[Runs]) -> String {
    let mut text = String::from("| bar | limit | measured | |\n| --- | --- | --- | --- |\n");
    for bar in BARS {
        let (values, valid) = values(&bar, done);
        let sign = if bar.at_most { "≤" } else { "≥" };
        let _ = writeln!(
            text,
            "| {} | {sign} {} | {} | {} |",
            bar.what,
            bar.limit,
            spread(values.clone(), 3),
            verdict(&bar, values, valid)
        );
    }
    text
}

/// The value of each seed for which every row has a run, and whether all count.
fn values(bar: &Bar, done: &[Runs]) -> (Vec<f64>, bool) {
    let seeds = done.iter().map(Vec::len).max().unwrap_or(0);
    let mut values = Vec::new();
    let mut valid = true;
    for seed in 0..seeds {
        let runs: Option<Vec<&Report>> = bar
            .rows
            .iter()
            .map(|name| {
                let row = ROWS.iter().position(|row| row.name == *name)?;
                done.get(row)?.get(seed)?.as_ref()
            })
            .collect();
        if let Some(runs) = runs {
            valid &= runs.iter().all(|run| run.invalid.is_empty());
            values.push((bar.value)(&runs));
        }
    }
    (values, valid)
}

fn verdict(bar: &Bar, mut values: Vec<f64>, valid: bool) -> &'static str {
    values.sort_by(f64::total_cmp);
    let middle = median(&values);
    let reached = match bar.at_most {
        true => middle <= bar.limit,
        false => middle >= bar.limit,
    };
    match (values.is_empty(), valid, reached) {
        (true, ..) => "not run",
        (_, false, _) => "invalid runs",
        (_, _, true) => "reached",
        _ => "**missed**",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bar_names_rows_that_exist() {
        for bar in BARS {
            for name in bar.rows {
                assert!(ROWS.iter().any(|row| row.name == *name), "{name}");
            }
        }
    }

    #[test]
    fn nothing_run_is_no_verdict() {
        let done: Vec<Runs> = ROWS.iter().map(|_| vec![None]).collect();
        assert!(markdown(&done).contains("not run"));
        assert!(!markdown(&done).contains("missed"));
    }
}
