//! Jobs in a CSV file, and their finish times in another. It does not know the server.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use csv::{ByteRecord, ReaderBuilder};
use weir_sim::queue::Job;

use super::super::happened;
use crate::Failure;

/// Beyond, differences of times are no numbers to rely on any more.
const MOST: f64 = 1e15;

/// The jobs of a file whose first line names the columns `arrival` and `size`.
pub(super) fn read(path: &Path) -> Result<Vec<Job>, Failure> {
    let wrong =
        |line: u64, what: String| happened(format!("{}, line {line}: {what}", path.display()));
    let file = File::open(path)
        .map_err(|error| happened(format!("cannot read {}: {error}", path.display())))?;
    let mut lines = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .trim(csv::Trim::All)
        .from_reader(file);
    let mut record = ByteRecord::new();
    let mut columns = None;
    let mut jobs: Vec<Job> = Vec::new();
    let unreadable =
        |error: csv::Error| happened(format!("cannot read {}: {error}", path.display()));
    while lines.read_byte_record(&mut record).map_err(unreadable)? {
        let line = record.position().map_or(0, csv::Position::line);
        let Some((arrival, size)) = columns else {
            let place = |name: &[u8]| record.iter().position(|field| field == name);
            columns = place(b"arrival").zip(place(b"size"));
            if columns.is_none() {
                let header = "the first line must name the columns, arrival and size, as in";
                return Err(wrong(line, format!("{header} `arrival,size`")));
            }
            continue;
        };
        let number = |name: &str, column: usize, from: &str, right: fn(f64) -> bool| {
            let Some(field) = record.get(column).filter(|field| !field.is_empty()) else {
                return Err(wrong(line, format!("`{name}` is missing; give a number {from}")));
            };
            let text = String::from_utf8_lossy(field);
            let value = text.parse::<f64>().ok().filter(|value| *value <= MOST && right(*value));
            value.ok_or_else(|| {
                let what = format!("`{name}` is `{text}`; give a number {from}, at most {MOST:e}");
                wrong(line, what)
            })
        };
        let job = Job {
            arrival: number("arrival", arrival, "of 0 or more", |value| value >= 0.0)?,
            size: number("size", size, "above 0", |value| value > 0.0)?,
        };
        if let Some(last) = jobs.last().filter(|last| last.arrival > job.arrival) {
            let (before, now) = (last.arrival, job.arrival);
            let what = format!("`arrival` is {now}, before the {before} of the job above it");
            return Err(wrong(line, format!("{what}; give jobs in order of arrival")));
        }
        jobs.push(job);
    }
    if jobs.is_empty() { Err(empty(path)) } else { Ok(jobs) }
}

/// Why a file without jobs is no trace.
pub(super) fn empty(path: &Path) -> Failure {
    let what = "there is no job; give a line `arrival,size`, then one line for each job";
    happened(format!("{}: {what}", path.display()))
}

/// Writes jobs and when they finish, in their order; the file appears when it is whole.
pub(super) fn write(path: &Path, jobs: &[Job], finishes: &[f64]) -> Result<(), Failure> {
    let failed = |error: io::Error| happened(format!("cannot write {}: {error}", path.display()));
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
    for (Job { arrival, size }, finish) in jobs.iter().zip(finishes) {
        writeln!(out, "{arrival},{size},{finish},{}", finish - arrival)?;
    }
    out.flush()
}
