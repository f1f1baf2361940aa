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
use crate::matrix::{ROWS, Row, Runs, markdown};
use crate::options::TableOptions;
use crate::report::{self, Report};
use crate::{Result, command, docroot, interrupt, network};

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
