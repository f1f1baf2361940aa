//! `weir-lab sim inversion`: the service inversion of a CSV file of sizes and latencies.

use std::fs::File;
use std::path::{Path, PathBuf};

use csv::StringRecord;
use serde::Serialize;
use weir_stats::Response;
use weir_stats::inversion::service_inversion;

use crate::failure::{Failure, failed};
use crate::print;

/// How far the order of response times is from the order of sizes: 0 shortest first, 1 the reverse
/// (Ruan & Pai 2006, section 4.2).
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// CSV with the columns size and latency, each in any unit; others are ignored
    #[arg(value_name = "FILE.csv")]
    file: PathBuf,

    /// Write JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Json {
    inversion: f64,
    requests: usize,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let responses = read(&arguments.file)?;
    let inversion = service_inversion(&responses).ok_or_else(|| {
        failed(format!(
            "{}: {} requests; an order needs two or more",
            arguments.file.display(),
            responses.len()
        ))
    })?;
    let found = Json { inversion, requests: responses.len() };
    print::result(arguments.json, None, &found, || {
        format!("requests          {}\nservice inversion {inversion:.6}\n", found.requests)
    })
}

/// The sizes and latencies of a file.
fn read(path: &Path) -> Result<Vec<Response>, Failure> {
    let name = path.display();
    let file = File::open(path).map_err(|error| failed(format!("{name}: {error}")))?;
    let mut reader = csv::ReaderBuilder::new().trim(csv::Trim::All).from_reader(file);
    let wrong = |error: &csv::Error| failed(format!("{name}: {error}"));
    let header = reader.headers().map_err(|error| wrong(&error))?.clone();
    let column = |wanted: &str| {
        header.iter().position(|have| have == wanted).ok_or_else(|| {
            failed(format!(
                "{name}, line 1: no column {wanted}; the first line must name the columns \
                 size,latency"
            ))
        })
    };
    let (size, latency) = (column("size")?, column("latency")?);
    let mut responses = Vec::new();
    let mut record = StringRecord::new();
    while reader.read_record(&mut record).map_err(|error| wrong(&error))? {
        let line = record.position().map_or(0, csv::Position::line);
        let number = |column: usize, what: &str| {
            let text = record.get(column).unwrap_or_default();
            match text.parse::<f64>() {
                Ok(number) if number.is_finite() && number >= 0.0 => Ok(number),
                _ => Err(failed(format!(
                    "{name}, line {line}: the {what} is `{text}`; write a number, 0 or more"
                ))),
            }
        };
        // Only the order of sizes counts, and numbers from 0 on are ordered as their bits are.
        responses.push(((number(size, "size")? + 0.0).to_bits(), number(latency, "latency")?));
    }
    Ok(responses)
}
