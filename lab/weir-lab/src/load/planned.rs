//! What every kind of demand comes to: requests for the generator, and what is known of them before
//! the run. Made by [`demand`](super::demand) and [`replay`](super::replay), used by the run.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use weir_load::Demand;
use weir_units::Positive;
use weir_workload::shape::Shape;
use weir_workload::wire::TlsBytes;
use weir_workload::{Request, Wire};

use super::arguments::Arguments;
use crate::failure::Failure;

/// Why a trace that could be read at first could not be read to its end later, if so.
pub(crate) type Broken = Arc<Mutex<Option<String>>>;

/// A demand, and what is known of it.
pub(crate) struct Planned {
    pub(crate) demand: Demand,
    /// Seconds in which requests start; `None`: until the demand ends.
    pub(crate) duration: Option<f64>,
    /// Requests whose time has come, in an open loop.
    pub(crate) scheduled: Option<Arc<AtomicU64>>,
    /// The plan: what, and how much.
    pub(crate) words: Vec<(String, String)>,
    /// Connections at once: so many for certain, or as many for each second that responses take.
    pub(crate) open: Open,
    /// Lines of a trace that could not be read.
    pub(crate) skipped: u64,
    /// Told at the end of a trace that could not be read to its end.
    pub(crate) broken: Option<Broken>,
}

/// How many connections a demand opens at once.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Open {
    /// So many.
    Exactly(u64),
    /// So many, if responses take a second.
    PerSecond(f64),
}

impl Planned {
    /// An empty demand of the flags' duration, or this one.
    pub(crate) fn lasting(arguments: &Arguments, seconds: f64) -> Planned {
        let duration = arguments.duration.unwrap_or(seconds);
        Planned {
            demand: Demand::Open(Box::new(std::iter::empty())),
            duration: Some(duration),
            scheduled: None,
            words: Vec::new(),
            open: Open::PerSecond(0.0),
            skipped: 0,
            broken: None,
        }
    }
}

/// What a response costs on the link.
pub(crate) fn wire(arguments: &Arguments) -> Wire {
    let handshake = match arguments.secure.resume {
        true => TlsBytes::RESUMED_HANDSHAKE,
        false => TlsBytes::FULL_HANDSHAKE,
    };
    Wire {
        head: arguments.head_bytes,
        requests_per_connection: arguments.requests_per_connection.get(),
        tls: speaks_tls(arguments).then_some(TlsBytes { handshake, ..TlsBytes::default() }),
        ..Wire::default()
    }
}

/// Whether the URL is an `https` one.
pub(crate) fn speaks_tls(arguments: &Arguments) -> bool {
    arguments.url.get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https:"))
}

/// Bytes a second of --uplink.
pub(crate) fn link_bytes_per_second(arguments: &Arguments) -> Option<f64> {
    arguments.uplink.map(|rate| rate.bits() as f64 / 8.0)
}

/// The shape of --shape and --load.
pub(crate) fn shape(arguments: &Arguments) -> Result<Shape, Failure> {
    let shape = arguments.shape.as_deref().map(Shape::parse).transpose()?;
    Ok(match (shape, arguments.load.map(Positive::get)) {
        (Some(shape), Some(load)) => shape.scaled_to(load)?,
        (Some(shape), None) => shape,
        (None, load) => Shape::constant(load.unwrap_or(1.0))?,
    })
}

/// The request with its path under `base`, which ends in `/`.
pub(crate) fn under(base: &str, request: Request) -> Request {
    if base == "/" {
        return request;
    }
    let path = format!("{base}{}", request.path.trim_start_matches('/')).into();
    Request { path, ..request }
}

/// Counts requests as the generator takes them; it holds one that is still to come.
pub(crate) struct Counted<I> {
    pub(crate) requests: I,
    pub(crate) scheduled: Arc<AtomicU64>,
    pub(crate) first: bool,
}

impl<I: Iterator<Item = Request>> Iterator for Counted<I> {
    type Item = Request;

    fn next(&mut self) -> Option<Request> {
        if !std::mem::take(&mut self.first) {
            self.scheduled.fetch_add(1, Ordering::Relaxed);
        }
        self.requests.next()
    }
}
