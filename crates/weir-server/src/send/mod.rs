//! Sends a response: as fast as the kernel takes it, or grant by grant over the uplink, whose gate
//! decides which response goes next. Used by connections, for every response.

mod fetch;
mod in_bands;
mod push;
mod waiting;

use std::cell::RefCell;
use std::sync::Arc;

use rustix::io::Errno;
use tokio::task::JoinSet;
use weir_sched::Time;

use self::push::{Pushed, SCRATCH};
use crate::answer::{AbortOn, Part, Place};
use crate::client::rate::Pace;
use crate::client::stall::Lull;
use crate::client::{Client, Left, Times, Wait};
use crate::content::{CHUNK, Site};
use crate::disk::Age;
use crate::logs::access_log::GateKind;
use crate::metrics::Metrics;
use crate::response::Response;
use crate::runtime::turn;
use crate::uplink::{Banded, Blocked, Flow, Job, WHOLE};

/// Bytes that are handed to the kernel without a gate before other tasks of the worker have their turn:
/// 0.2 ms of sending, as with nginx's default (sendfile_max_chunk). What does not fit the client's window
/// is sent by its acknowledgements; smaller turns find the window open again and send more packets
/// themselves.
const AT_ONCE: u64 = 2 * 1024 * 1024;

/// The same for the beginning of a response on a connection that the kernel paces: with a response of
/// 1 MB in the queue at once, BBR sends at half the rate, and packet by packet.
const AT_FIRST_PACED: u64 = 512 * 1024;

/// The same for a response of which some was not in memory. It is copied, which takes longer than
/// sendfile(2), and those whose files are in memory would wait for it.
const AT_ONCE_FETCHED: u64 = CHUNK;

/// The same for what is sealed, which takes the worker longer.
const AT_ONCE_SEALED: u64 = 256 * 1024;

/// How a response ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Complete,
    /// The client left.
    ClientLeft,
    /// The client took nothing for `send_timeout`, or less than `min_rate`.
    TimedOut,
    /// The body could not be read to its end; the connection must be closed.
    ContentFailed,
}

impl Outcome {
    /// What it means that nothing can be written any more. The kernel gives up a client that acknowledges
    /// nothing, too: after `send_timeout` (TCP_USER_TIMEOUT, tcp(7)), before a worker that was held up looks;
    /// on a connection in its bands only after the time that it has for all (net.ipv4.tcp_retries2).
    fn of_broken(error: Errno) -> Outcome {
        match error {
            Errno::TIMEDOUT => Outcome::TimedOut,
            _ => Outcome::ClientLeft,
        }
    }
}

/// What the responses of one worker are sent with.
#[derive(Debug)]
pub(crate) struct Sender {
    metrics: Arc<Metrics>,
    times: Times,
    /// A site of this worker, if it has one: all of them have the same disks and window.
    site: Option<Site>,
    /// Where bytes on their way to a socket are put together.
    scratch: RefCell<Box<[u8]>>,
}

impl Sender {
    pub(crate) fn new(metrics: Arc<Metrics>, times: Times, site: Option<Site>) -> Sender {
        Sender { metrics, times, site, scratch: RefCell::new(vec![0; SCRATCH].into()) }
    }

    /// Begins to send `response` to `client`. `name`: the requested path, for messages; `begun`: when the
    /// request had come.
    pub(crate) fn sending<'a>(
        &'a self,
        client: &'a Client,
        response: &'a Response<'a>,
        name: &'a str,
        begun: Time,
    ) -> Sending<'a> {
        let part = response.answer.first.take();
        let window = self.site.as_ref().map_or(0, Site::window);
        let fetched_to = part.as_ref().map(|part| part.at + window);
        let now = turn::began();
        let age = Age::new(if part.is_some() { begun } else { now }, now);
        Sending {
            client,
            response,
            sender: self,
            name,
            sent: 0,
            part,
            fetched_to,
            age,
            fetching: None,
            pace: None,
            lull: None,
            banded: None,
        }
    }
}

/// A response on its way.
#[derive(Debug)]
pub(crate) struct Sending<'a> {
    client: &'a Client,
    response: &'a Response<'a>,
    sender: &'a Sender,
    /// The requested path, for messages.
    name: &'a str,
    sent: u64,
    /// A part of the body that a helper fetched.
    part: Option<Part>,
    /// Up to where helpers were asked to fetch the file, if some of it was not in memory.
    fetched_to: Option<u64>,
    /// For how long it has waited for the disk.
    age: Age,
    /// Helpers that fetch more of the file; most responses need none, and no set of them.
    fetching: Option<JoinSet<()>>,
    /// The client's speed, once it was waited for. Boxed: that is rare.
    pace: Option<Box<Pace>>,
    /// The time in which there was nothing to send to a client in a band. Boxed, too.
    lull: Option<Box<Lull>>,
    /// The connection in the kernel's bands, if it goes through them.
    banded: Option<&'a Banded>,
}

impl Sending<'_> {
    /// Bytes that the kernel has taken, head included.
    pub(crate) fn sent(&self) -> u64 {
        self.sent
    }

    /// Bytes that are still to be sent; `u64::MAX` while that is unknown.
    fn left(&self) -> u64 {
        self.response.length().map_or(u64::MAX, |length| length - self.sent)
    }

    /// Sends without a gate. `lane`: what is sent changes bands as less is left.
    pub(crate) async fn directly(&mut self, lane: Option<&Banded>) -> Outcome {
        if lane.is_none() {
            self.client.begins(self.left());
        }
        while self.left() > 0 {
            let mut count = self.to_chunk();
            if let Some(lane) = lane {
                count = Box::pin(self.to_cutoff(lane, count)).await;
            }
            let more = self.left() > count || self.response.close;
            let went_on = match self.push(count, more) {
                Ok(_) if self.left() == 0 => Ok(()),
                Ok(Pushed::All) => {
                    tokio::task::yield_now().await;
                    Ok(())
                }
                Ok(Pushed::Full) if lane.is_some() => self.until_writable().await,
                Ok(Pushed::Full) => self.until_room().await,
                Ok(Pushed::Cold) => Box::pin(self.fetch()).await,
                Err(outcome) => Err(outcome),
            };
            if let Err(outcome) = went_on {
                return outcome;
            }
        }
        Outcome::Complete
    }

    /// Waits until the kernel has taken all that was sealed.
    pub(crate) async fn flushed(&mut self) -> Outcome {
        while self.client.socket.has_waiting() {
            match self.client.socket.flush() {
                Ok(true) => break,
                Ok(false) => {
                    if let Err(outcome) = self.until_writable().await {
                        return outcome;
                    }
                }
                Err(error) => return Outcome::of_broken(error),
            }
        }
        Outcome::Complete
    }

    /// How much to hand over at once: up to the end of a chunk of the file, since it is whole chunks that
    /// are known to be in memory.
    fn to_chunk(&self) -> u64 {
        let at = match self.place() {
            Place::Object { at, .. } => at,
            Place::Own(_) => 0,
        };
        let head_left = (self.response.head.len() as u64).saturating_sub(self.sent);
        let begins_large = self.sent == 0 && self.left() > AT_FIRST_PACED;
        let at_once = match begins_large && self.client.is_paced() {
            _ if !self.client.socket.takes_files() => AT_ONCE_SEALED,
            _ if self.fetched_to.is_some() => AT_ONCE_FETCHED,
            true => AT_FIRST_PACED,
            false => AT_ONCE,
        };
        head_left + at_once - at % CHUNK
    }

    /// Sends over the uplink: at once if the link is free, otherwise grant by grant.
    pub(crate) async fn over(&mut self, flow: &Flow) -> Outcome {
        if flow.take_if_free(self.left()) {
            loop {
                match self.push(self.left(), self.response.close) {
                    Ok(Pushed::Cold) => {
                        if let Err(outcome) = Box::pin(self.fetch()).await {
                            return outcome;
                        }
                    }
                    Ok(Pushed::All | Pushed::Full) => break,
                    Err(outcome) => return outcome,
                }
            }
            if self.left() == 0 {
                flow.sent_at_once(self.sent);
                return Outcome::Complete;
            }
        }
        let size = self.response.length().map(|length| length - self.sent);
        let mut job = flow.begin(size, self.response.answer.range_of());
        let outcome = self.as_granted(&mut job, None).await;
        job.end(outcome == Outcome::Complete);
        outcome
    }

    /// Sends grant by grant, with `lane` until no more than [`WHOLE`] is left.
    async fn as_granted(&mut self, job: &mut Job<'_>, lane: Option<&Banded>) -> Outcome {
        let mut half_closed = false;
        let until = if lane.is_some() { WHOLE } else { 0 };
        while self.left() > until {
            let wait = Wait::at(GateKind::Uplink, self.client.details());
            let grant = tokio::select! {
                biased;
                grant = job.granted() => grant,
                left = self.client.left(), if !half_closed && self.is_watched() => {
                    if left == Left::Gone || self.response.answer.abort_on == AbortOn::HalfClose {
                        return Outcome::ClientLeft;
                    }
                    half_closed = true;
                    job.probe();
                    continue;
                }
                () = self.client.reset(), if half_closed => return Outcome::ClientLeft,
            };
            drop(wait);
            let last = grant.bytes >= self.left();
            // The end of a record must not wait in the kernel: without it the client can read none of it.
            let may_wait = self.client.socket.takes_files();
            let goes_on = (grant.more || lane.is_some()) && may_wait;
            let more = if last { self.response.close } else { goes_on };
            if let Some(lane) = lane {
                lane.goes_on(self.left());
            }
            let before = self.sent;
            let pushed = self.push(grant.bytes, more);
            let sent = self.sent - before;
            let waited = match pushed {
                Ok(_) if self.left() <= until => {
                    job.used(&grant, sent, Blocked::No);
                    Ok(())
                }
                Ok(Pushed::All) => {
                    job.used(&grant, sent, Blocked::No);
                    job.measure_if_due();
                    Ok(())
                }
                Ok(Pushed::Full) => {
                    job.used(&grant, sent, Blocked::Flow);
                    let writable = self.until_writable().await;
                    job.ready();
                    writable
                }
                // A response that waits for the disk or a backend holds up nobody at the uplink.
                Ok(Pushed::Cold) => {
                    job.used(&grant, sent, Blocked::Job);
                    let fetched = Box::pin(self.fetch()).await;
                    job.ready();
                    fetched
                }
                Err(outcome) => {
                    job.used(&grant, sent, Blocked::No);
                    Err(outcome)
                }
            };
            if let Err(outcome) = waited {
                return outcome;
            }
        }
        Outcome::Complete
    }

    fn is_watched(&self) -> bool {
        self.response.answer.abort_on != AbortOn::Never
    }

    /// Waits until the client has left, as `abort_on` says.
    async fn departure(&self) {
        match self.response.answer.abort_on {
            AbortOn::HalfClose => drop(self.client.left().await),
            AbortOn::FullClose | AbortOn::Never => self.client.gone().await,
        }
    }

    fn body_sent(&self) -> u64 {
        self.sent.saturating_sub(self.response.head.len() as u64)
    }

    /// Where the next bytes of the body are.
    fn place(&self) -> Place<'_> {
        self.response.answer.place(self.body_sent())
    }
}
