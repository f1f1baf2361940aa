//! The trace that a command reads: its flags, its requests, and what was left out of it. Used by
//! every command of `weir-lab trace` and by `weir-lab sim replay`.

use std::path::PathBuf;

use weir_workload::Request;
use weir_workload::read::{self, Counts, Fault, Format, Options, Spread, Trace};

use crate::failure::{Failure, failed};
use crate::values::seconds;

/// A trace and how it is read.
#[derive(Debug, clap::Args)]
pub(crate) struct Input {
    /// The trace, plain, gzip or zstd
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Format, if not by content: clf, wc98, csv, edgar, cran or nasa
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,

    /// Skip bad records and count them
    #[arg(long)]
    skip_bad: bool,

    /// Statuses of the requests to keep, where the format has statuses
    #[arg(long, value_name = "LIST", value_delimiter = ',', default_value = "200,206")]
    statuses: Vec<u16>,

    /// Place of requests inside their second, if the trace has whole seconds only
    #[arg(long, value_enum, default_value = "uniform")]
    spread: Spreading,

    /// Seed of the uniform spread
    #[arg(long, value_name = "N", default_value_t = 0)]
    spread_seed: u64,

    /// The times of plain CSV are whole seconds too, to be spread
    #[arg(long)]
    whole_seconds: bool,

    /// Sort requests that are late in the trace by at most this time
    #[arg(long, value_name = "TIME", default_value = "0s")]
    #[arg(value_parser = seconds)]
    reorder: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Spreading {
    /// At random, as independent users
    Uniform,
    /// At equal distances
    Even,
    /// All at its start
    None,
}

/// The requests of a trace that is open.
pub(crate) struct Reading {
    trace: Trace,
    name: String,
    failure: Option<Failure>,
}

impl Input {
    /// Opens the trace.
    pub(crate) fn open(&self) -> Result<Reading, Failure> {
        let name = self.file.display().to_string();
        let options = Options {
            format: self.format,
            skip_bad: self.skip_bad,
            statuses: self.statuses.clone(),
            spread: match self.spread {
                Spreading::Uniform => Spread::Uniform { seed: self.spread_seed },
                Spreading::Even => Spread::Even,
                Spreading::None => Spread::None,
            },
            whole_seconds: self.whole_seconds,
            reorder: self.reorder,
        };
        let trace =
            read::open(&self.file, options).map_err(|error| failed(format!("{name}: {error}")))?;
        Ok(Reading { trace, name, failure: None })
    }

    /// The seed by which requests of a trace of this format are spread inside their second, if that
    /// is drawn at random.
    pub(crate) fn seed(&self, format: Format) -> Option<u64> {
        let spread = self.whole_seconds || format.whole_seconds();
        (spread && self.spread == Spreading::Uniform).then_some(self.spread_seed)
    }
}

impl Reading {
    /// The trace as the user named it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Seconds since 1970 at which the trace began, once the first request was read.
    pub(crate) fn base(&self) -> Option<f64> {
        self.trace.base()
    }

    /// The format of the trace.
    pub(crate) fn format(&self) -> Format {
        self.trace.format()
    }

    /// What became of the records.
    pub(crate) fn counts(&self) -> &Counts {
        self.trace.counts()
    }

    /// After the last request: why there are no more, if the trace has not come to its end, or if
    /// there were none. What was left out is said on stderr.
    pub(crate) fn end(&mut self) -> Result<(), Failure> {
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        let (name, counts) = (&self.name, self.trace.counts());
        let left_out: Vec<_> =
            counts.left_out.iter().map(|(why, n)| format!("{n} {why}")).collect();
        if !left_out.is_empty() {
            let number: u64 = counts.left_out.values().sum();
            let (all, list) = (counts.records, left_out.join(", "));
            eprintln!("weir-lab: {name}: {number} of {all} records left out: {list}");
        }
        let bad: Vec<_> = counts.bad.iter().map(|(why, n)| format!("{n} {why}")).collect();
        if !bad.is_empty() {
            let (number, list) = (counts.bad.values().sum::<u64>(), bad.join(", "));
            let first = counts.first_bad.as_deref().unwrap_or_default();
            eprintln!("weir-lab: {name}: {number} bad records skipped: {list} (first: {first})");
        }
        match counts.requests {
            0 => Err(failed(format!("{name}: no request to replay"))),
            _ => Ok(()),
        }
    }
}

impl Iterator for Reading {
    type Item = Request;

    /// Ends at an error too, see [`Reading::end`].
    fn next(&mut self) -> Option<Request> {
        match self.trace.next()? {
            Ok(request) => Some(request),
            Err(error) => {
                let help = match error.fault.reason() {
                    // Skipping those that are late would lose most of a busy server's log.
                    Some(_) if matches!(error.fault, Fault::Backwards { .. }) => {
                        ": --reorder 10m puts those in order that are at most ten minutes late"
                    }
                    Some(_) => " (--skip-bad skips bad records)",
                    None => "",
                };
                self.failure = Some(failed(format!("{}: {error}{help}", self.name)));
                None
            }
        }
    }
}
