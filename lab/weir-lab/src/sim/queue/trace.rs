//! Jobs read from a CSV file, and their finish times written to another. Used by `weir-lab sim
//! queue`.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use weir_sim::queue::Job;

use crate::failure::{Failure, failed};

/// Beyond, differences of times are no numbers to rely on any more.
const MOST: f64 = 1e15;

/// Sizes below have slowdowns that are no numbers to rely on either.
const LEAST: f64 = 1e-15;

/// The columns of a trace by their place.
#[derive(Clone, Copy)]
struct Columns {
    arrival: usize,
    size: usize,
}

/// The jobs of a file whose first line names the columns `arrival` and `size`.
pub(super) fn read(path: &Path) -> Result<Vec<Job>, Failure> {
    let unreadable = |error| failed(format!("cannot read {}: {error}", path.display()));
    let mut lines = BufReader::with_capacity(1 << 16, File::open(path).map_err(unreadable)?);
    let mut bytes = Vec::new();
    let mut columns = None;
    let mut jobs: Vec<Job> = Vec::new();
    for number in 1_u64.. {
        bytes.clear();
        if lines.read_until(b'\n', &mut bytes).map_err(unreadable)? == 0 {
            break;
        }
        let wrong = |what| failed(format!("{}, line {number}: {what}", path.display()));
        let text = String::from_utf8_lossy(&bytes);
        let text = text.trim_start_matches('\u{feff}').trim();
        if text.is_empty() {
            continue;
        }
        let Some(columns) = columns else {
            columns = Some(header(text).map_err(wrong)?);
            continue;
        };
        jobs.push(job(text, columns, jobs.last()).map_err(wrong)?);
    }
    if jobs.is_empty() { Err(empty(path)) } else { Ok(jobs) }
}

fn fields(line: &str) -> impl Iterator<Item = &str> {
    line.split(',').map(|field| field.trim().trim_matches('"'))
}

fn header(line: &str) -> Result<Columns, String> {
    let place = |name| fields(line).position(|field| field == name);
    match (place("arrival"), place("size")) {
        (Some(arrival), Some(size)) => Ok(Columns { arrival, size }),
        _ => Err("the first line must name the columns, as in `arrival,size`".into()),
    }
}

fn job(line: &str, columns: Columns, last: Option<&Job>) -> Result<Job, String> {
    let number = |name: &str, column: usize, range: &str, right: fn(f64) -> bool| {
        let field = fields(line).nth(column).filter(|field| !field.is_empty());
        let text = field.ok_or_else(|| format!("`{name}` is missing; give a number {range}"))?;
        let value = text.parse().ok().filter(|value| *value <= MOST && right(*value));
        value
            .ok_or_else(|| format!("`{name}` is `{text}`; give a number {range}, at most {MOST:e}"))
    };
    let arrival = number("arrival", columns.arrival, "of 0 or more", |value| value >= 0.0)?;
    let size = number("size", columns.size, "above 0, at least 1e-15", |value| value >= LEAST)?;
    match last {
        Some(last) if last.arrival > arrival => Err(format!(
            "`arrival` is {arrival}, before the {} of the job above it; give jobs in order of arrival",
            last.arrival
        )),
        _ => Ok(Job { arrival, size }),
    }
}

/// Why a file without jobs is no trace.
pub(super) fn empty(path: &Path) -> Failure {
    let what = "there is no job; give a line `arrival,size`, then one line for each job";
    failed(format!("{}: {what}", path.display()))
}

/// Writes jobs and when they finish, in their order; the file appears when it is whole. Finish
/// times are given since the first arrival, and written as arrivals are.
pub(super) fn write(path: &Path, jobs: &[Job], finishes: &[f64]) -> Result<(), Failure> {
    let failed = |error: io::Error| failed(format!("cannot write {}: {error}", path.display()));
    // A device or a pipe is written where it is.
    let in_place = fs::metadata(path).is_ok_and(|there| !there.is_file());
    let aside = if in_place { path.to_owned() } else { beside(path) };
    let written = File::create(&aside).and_then(|file| rows(file, jobs, finishes));
    let done = written.and_then(|()| if in_place { Ok(()) } else { fs::rename(&aside, path) });
    done.map_err(|error| {
        if !in_place {
            // It may not be there; what went wrong is said already.
            let _ = fs::remove_file(&aside);
        }
        failed(error)
    })
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    PathBuf::from(name)
}

fn rows(file: File, jobs: &[Job], finishes: &[f64]) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, file);
    writeln!(out, "arrival,size,finish,response")?;
    let first = jobs.first().map_or(0.0, |job| job.arrival);
    for (Job { arrival, size }, finish) in jobs.iter().zip(finishes) {
        let response = finish - (arrival - first);
        writeln!(out, "{arrival},{size},{},{response}", first + finish)?;
    }
    out.flush()
}
