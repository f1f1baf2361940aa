//! The requests of a log as an uplink sees them: when, and how many bytes on the wire. Read by the
//! command for [`compare`](super::compare).

use weir_sim::uplink::Transfer;
use weir_workload::Wire;

use super::clock::Clock;
use crate::failure::{Failure, failed};
use crate::trace::input::Input;

/// What a log asks of its uplink.
pub(super) struct Demand {
    /// The log as the user named it.
    pub(super) log: String,
    /// Its format.
    pub(super) format: String,
    /// In order of time; the first is at 0 or within the first second.
    pub(super) asked: Vec<Transfer>,
    /// Bytes of the bodies; those of unknown size count as empty.
    pub(super) sizes: Vec<u64>,
    /// Requests whose size is not known.
    pub(super) unknown_sizes: u64,
    /// Good records that are no requests for a body, such as POST or status 304.
    pub(super) left_out: u64,
    /// Bad records that were skipped.
    pub(super) bad: u64,
    /// The log's own times.
    pub(super) clock: Clock,
    /// How many times the traffic.
    pub(super) scale_load: f64,
    /// The seed by which requests were spread inside their second, if the log has whole seconds.
    pub(super) spread: Option<u64>,
    /// What a response costs on the link.
    pub(super) wire: Wire,
}

/// Reads a log whose gaps are divided by `scale_load`.
///
/// # Errors
///
/// The log cannot be read, a line of it cannot be understood, or it says no size at all.
pub(super) fn read(input: &Input, wire: &Wire, scale_load: f64) -> Result<Demand, Failure> {
    let mut reading = input.open()?;
    let (mut asked, mut sizes, mut unknown_sizes) = (Vec::new(), Vec::new(), 0);
    // Times of plain CSV may count from any moment.
    let mut begin = None;
    for request in reading.by_ref() {
        let begin = *begin.get_or_insert(request.at.floor());
        unknown_sizes += u64::from(request.size.is_none());
        let size = request.size.unwrap_or(0);
        asked.push(Transfer { at: (request.at - begin) / scale_load, bytes: wire.bytes(size) });
        sizes.push(size);
    }
    reading.end()?;
    let name = reading.name();
    if unknown_sizes == asked.len() as u64 {
        return Err(failed(format!(
            "{name}: no record says how large its response was; expected bytes in it (in Common \
             Log Format the number after the status), for the uplink's load is made of them"
        )));
    }
    let counts = reading.counts();
    let span = asked.last().map_or(0.0, |last| last.at);
    let base = reading.base().map(|base| base + begin.unwrap_or(0.0));
    Ok(Demand {
        log: name.to_owned(),
        format: reading.format().to_string(),
        clock: Clock::new(base, scale_load, span),
        left_out: counts.left_out.values().sum(),
        bad: counts.bad.values().sum(),
        spread: input.seed(reading.format()),
        asked,
        sizes,
        unknown_sizes,
        scale_load,
        wire: *wire,
    })
}
