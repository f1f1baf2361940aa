//! The replay of a trace: read once to check and measure it, so that nothing wrong turns up in the
//! middle of a run, then streamed. Called by [`demand`](super::demand).

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, PoisonError};

use weir_load::Demand;
use weir_units::Positive;
use weir_workload::Request;
use weir_workload::read::{self, Counts, Options, Trace};
use weir_workload::scale::{Scaling, Work, scale};

use super::arguments::Arguments;
use super::describe::{load_words, meaning};
use super::planned::{Broken, Counted, Open, Planned, link_bytes_per_second, shape, under, wire};
use super::target::Target;
use crate::failure::{Failure, invalid_usage};
use crate::values::LoadIs;
use crate::words::{bits, bytes, count, time};

/// What the first reading found.
#[derive(Default)]
struct Measured {
    requests: u64,
    /// Seconds from the start to the last request.
    span: f64,
    /// Bytes that count as load.
    work: f64,
    bytes: f64,
    without_size: u64,
    busiest_second: f64,
}

/// The replay that the flags describe.
///
/// # Errors
///
/// A trace that cannot be read or has errors that are not to be skipped: which line, what was
/// wrong.
pub(crate) fn plan(
    file: &Path,
    arguments: &Arguments,
    target: &Target,
) -> Result<Planned, Failure> {
    let options = Options {
        skip_bad: arguments.skip_bad,
        reorder: arguments.reorder.unwrap_or(0.0),
        ..Options::default()
    };
    let (found, counts) = measure(file, &options, arguments)?;
    if found.requests == 0 {
        return Err(invalid_usage(format!("{}: no request to replay", file.display())));
    }
    let words = words(file, &found, &counts, target);
    let mut planned = match arguments.load.is_some() || arguments.shape.is_some() {
        true => scaled(file, &options, arguments, target, &found)?,
        false => streamed(file, &options, arguments, target, &found)?,
    };
    planned.words.splice(0..0, words);
    planned.skipped = counts.bad.values().sum();
    Ok(planned)
}

/// The trace at its own speed or another, read again while it is replayed.
fn streamed(
    file: &Path,
    options: &Options,
    arguments: &Arguments,
    target: &Target,
    found: &Measured,
) -> Result<Planned, Failure> {
    let speed = arguments.speed.map_or(1.0, Positive::get);
    // The last request starts at the end, and must.
    let once = found.span / speed + 1e-3;
    let planned = Planned::lasting(arguments, once);
    let rate = found.requests as f64 / once;
    let mut words = vec![(
        "rate".to_owned(),
        format!(
            "{rate:.1}/s on average, the trace's own interarrivals, {speed} times as fast; {} once through",
            time(once * 1e3)
        ),
    )];
    if let Some(link) = link_bytes_per_second(arguments).filter(|_| found.work > 0.0) {
        let load = found.work / once / link;
        let load_is = meaning(arguments);
        words.push(("load".into(), format!("{load:.3} of {}; {load_is}", bits(link * 8.0))));
    }
    let (broken, scheduled) = (Broken::default(), Arc::new(AtomicU64::new(0)));
    let replay = Replay {
        trace: open(file, options)?,
        file: file.to_owned(),
        base: target.base(),
        speed,
        broken: broken.clone(),
    };
    let requests = Counted { requests: replay, scheduled: scheduled.clone(), first: true };
    Ok(Planned {
        demand: Demand::Open(Box::new(requests)),
        duration: planned.duration.map(|duration| duration.min(once)),
        scheduled: Some(scheduled),
        words,
        open: Open::PerSecond(found.busiest_second * speed),
        broken: Some(broken),
        ..planned
    })
}

/// The trace with its interarrivals scaled to a load over time; it is held in memory.
fn scaled(
    file: &Path,
    options: &Options,
    arguments: &Arguments,
    target: &Target,
    found: &Measured,
) -> Result<Planned, Failure> {
    let Some(link) = link_bytes_per_second(arguments) else {
        return Err(invalid_usage("--load and --shape are shares of a link: give --uplink"));
    };
    let shape = shape(arguments)?;
    let once = found.work / (shape.mean_load() * link);
    let planned = Planned::lasting(arguments, once);
    let duration = planned.duration.unwrap_or(once);
    let work = match arguments.load_is {
        LoadIs::Wire => Work::Wire(wire(arguments)),
        LoadIs::File => Work::File,
    };
    let scaling = Scaling { work, ..Scaling::new(shape.clone(), duration, link * 8.0) };
    let trace: Result<Vec<Request>, _> = open(file, options)?.collect();
    let trace = trace.map_err(|error| trace_error(file, &error))?;
    let scaled = scale(&trace, &scaling).map_err(|error| trace_error(file, &error))?;
    let rate = scaled.requests.len() as f64 / scaled.ended.unwrap_or(duration).max(1e-9);
    let mut words = vec![
        ("load".to_owned(), load_words(&shape, link, arguments)),
        (
            "rate".to_owned(),
            format!(
                "{rate:.1}/s on average: {} requests with the trace's own interarrivals, scaled",
                count(scaled.requests.len() as u64)
            ),
        ),
    ];
    if scaled.gaps_cut > 0 {
        let cut = count(scaled.gaps_cut as u64);
        let longest = scaling.longest_gap;
        words
            .push(("gaps".into(), format!("{cut} gaps of more than {longest} s were cut to that")));
    }
    if let Some(ended) = scaled.ended {
        words.push(("note".into(), format!("the trace lasts only {}", time(ended * 1e3))));
    }
    let scheduled = Arc::new(AtomicU64::new(0));
    let base = target.base();
    let requests = scaled.requests.into_iter().map(move |request| under(&base, request));
    let requests = Counted { requests, scheduled: scheduled.clone(), first: true };
    Ok(Planned {
        demand: Demand::Open(Box::new(requests)),
        scheduled: Some(scheduled),
        words,
        open: Open::PerSecond(rate),
        // The last requests may start at the very end, and must.
        duration: Some(duration + 1e-3),
        ..planned
    })
}

fn open(file: &Path, options: &Options) -> Result<Trace, Failure> {
    read::open(file, options.clone()).map_err(|error| trace_error(file, &error))
}

fn trace_error(file: &Path, error: &dyn std::fmt::Display) -> Failure {
    invalid_usage(format!("{}, {error}", file.display()))
}

fn measure(
    file: &Path,
    options: &Options,
    arguments: &Arguments,
) -> Result<(Measured, Counts), Failure> {
    let mut trace = open(file, options)?;
    let wire = wire(arguments);
    let mut found = Measured::default();
    let (mut second, mut in_second) = (0.0, 0.0);
    for request in trace.by_ref() {
        let Request { at, size, .. } = request.map_err(|error| {
            let mut failure = trace_error(file, &error);
            if !arguments.skip_bad {
                failure.message.push_str("; --skip-bad goes on after what cannot be read");
            }
            failure
        })?;
        if at.floor() != second {
            (second, in_second) = (at.floor(), 0.0);
        }
        in_second += 1.0;
        found.busiest_second = found.busiest_second.max(in_second);
        found.requests += 1;
        found.span = found.span.max(at);
        found.without_size += u64::from(size.is_none());
        let size = size.unwrap_or(0);
        found.bytes += size as f64;
        found.work += match arguments.load_is {
            LoadIs::Wire => wire.bytes(size) as f64,
            LoadIs::File => size as f64,
        };
    }
    Ok((found, trace.counts().clone()))
}

fn words(file: &Path, found: &Measured, counts: &Counts, target: &Target) -> Vec<(String, String)> {
    let mut words = vec![(
        "asks for".to_owned(),
        format!(
            "the {} requests of {} under {}, {} in {}",
            count(found.requests),
            file.display(),
            target.base(),
            bytes(found.bytes),
            time(found.span * 1e3)
        ),
    )];
    let left_out: Vec<String> =
        counts.left_out.iter().map(|(why, number)| format!("{} {why}", count(*number))).collect();
    if !left_out.is_empty() {
        words.push(("left out".into(), left_out.join(", ")));
    }
    let bad: Vec<String> =
        counts.bad.iter().map(|(reason, number)| format!("{} {reason}", count(*number))).collect();
    if !bad.is_empty() {
        let first = counts.first_bad.as_deref().unwrap_or_default();
        words.push(("skipped".into(), format!("{}; first: {first}", bad.join(", "))));
    }
    if found.without_size > 0 {
        words.push((
            "sizes".into(),
            format!(
                "{} requests have none; they count as empty bodies in the load",
                count(found.without_size)
            ),
        ));
    }
    words
}

/// The requests of a trace that was read before.
struct Replay {
    trace: Trace,
    file: PathBuf,
    base: String,
    speed: f64,
    broken: Broken,
}

impl Iterator for Replay {
    type Item = Request;

    fn next(&mut self) -> Option<Request> {
        match self.trace.next()? {
            Ok(request) => {
                let at = request.at / self.speed;
                Some(under(&self.base, Request { at, ..request }))
            }
            Err(error) => {
                let message = format!("{} changed during the run: {error}", self.file.display());
                *self.broken.lock().unwrap_or_else(PoisonError::into_inner) = Some(message);
                None
            }
        }
    }
}
