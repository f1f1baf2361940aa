//! The whole matrix: every row three seeds, several cells side by side, each a
//! process of its own (`overload run ...`, as a user would start it), and the bars
//! the figures should clear.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::fs;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::bars;
use crate::options::TableOptions;
use crate::report::{self, Report};
use crate::{Result, command, docroot, interrupt, network};

/// A row of the table: its name and the options of its runs.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    options: &'static str,
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

/// Run the matrix; print the table.
pub(crate) fn table(options: &TableOptions) -> Result<()> {
    command::need_root()?;
    network::remove_stale();
    let out = &options.out;
    fs::create_dir_all(out).map_err(|e| format!("cannot make {}: {e}", out.display()))?;
    docroot::prepare(out, &docroot::pool())?;
    let seeds = if options.quick { 1 } else { 3 };
    // Seed by seed, so that an early look at the results sees every row.
    let cells = (1..=seeds).flat_map(|seed| (0..ROWS.len()).map(move |row| (row, seed)));
    let waiting = Mutex::new(cells.collect::<VecDeque<_>>());
    let done: Mutex<Vec<Runs>> = Mutex::new(ROWS.iter().map(|_| vec![None; seeds]).collect());
    std::thread::scope(|scope| {
        for _ in 0..options.jobs.max(1) {
            scope.spawn(|| {
                while interrupt::check().is_ok() {
                    // The lock ends with the statement: cells run side by side.
                    let next = lock(&waiting).pop_front();
                    let Some((row, seed)) = next else {
                        return;
                    };
                    let name = ROWS[row].name;
                    match cell(options, &ROWS[row], seed) {
                        Ok(report) => lock(&done)[row][seed - 1] = Some(report),
                        Err(error) => eprintln!("overload: {name}, seed {seed}: {error}"),
                    }
                }
            });
        }
    });
    interrupt::check()?;
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut lines = String::new();
    for report in done.iter().flatten().flatten() {
        let json = serde_json::to_string(report).map_err(|e| format!("a report as JSON: {e}"))?;
        let _ = writeln!(lines, "{json}");
    }
    report::write(&out.join("runs.jsonl"), &lines)?;
    let text = format!("{}\n{}", markdown(&done), bars::markdown(&done));
    report::write(&out.join("table.md"), &text)?;
    print!("{text}");
    Ok(())
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One cell, in a process of its own.
fn cell(options: &TableOptions, row: &Row, seed: usize) -> Result<Report> {
    let own = std::env::current_exe().map_err(|e| format!("cannot find this program: {e}"))?;
    let mut command = Command::new(own);
    command.arg("run").args(row.options.split(' '));
    command.args(["--seed", &seed.to_string()]);
    command.args(["--head", &options.head.to_string()]);
    command.arg("--out").arg(&options.out);
    if options.quick {
        command.args(["--cycles", "1", "--period", "10", "--drain", "30"]);
    }
    if let Some(weir) = &options.weir {
        command.arg("--weir").arg(weir);
    }
    let child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|e| format!("cannot start a cell: {e}"))?;
    let line = wait(child)?;
    serde_json::from_str(&line).map_err(|e| format!("the cell printed no report: {e}"))
}

/// Wait for a cell; interrupted, have it clean up first. The pipe holds its one
/// line, so reading may wait until the end.
fn wait(mut child: Child) -> Result<String> {
    let mut told = false;
    loop {
        if let Ok(Some(_)) = child.try_wait() {
            break;
        }
        if interrupt::check().is_err() && !told {
            told = true;
            if let Some(pid) = Pid::from_raw(child.id() as i32) {
                let _ = kill_process(pid, Signal::TERM);
            }
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    let output =
        child.wait_with_output().map_err(|e| format!("cannot read what a cell printed: {e}"))?;
    if !output.status.success() {
        return Err(format!("the cell ended with {}", output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn markdown(done: &[Runs]) -> String {
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
