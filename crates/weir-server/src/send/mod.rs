//! Sends a response: as fast as the kernel takes it, or grant by grant over the uplink. It does not
//! know which response goes next.

mod push;

use tokio::task::JoinSet;

use self::push::Pushed;
pub(crate) use self::push::SCRATCH;
use crate::body::Truncated;
use crate::client::rate::Pace;
use crate::client::{Client, Left};
use crate::connection::context::Context;
use crate::content::{Body, CHUNK, Site};
use crate::response::{Departure, Part, Response};
use crate::runtime::turn;
use crate::sys;
use crate::uplink::Flow;

/// Bytes handed to the kernel when nothing is paced, before others have the worker.
const AT_ONCE: u64 = 512 * 1024;

/// How a response ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Complete,
    /// The client left, or took nothing for the time-out.
    ClientLeft,
    /// The content could not be read to its end; the connection must be closed.
    ContentFailed,
}

/// A response on its way.
#[derive(Debug)]
pub(crate) struct Sending<'a> {
    client: &'a Client,
    response: &'a Response,
    context: &'a Context,
    /// What was asked for, for messages.
    name: &'a str,
    sent: u64,
    /// A part of the body that a helper brought.
    part: Option<Part>,
    /// To where helpers were asked to bring the file, if some of it was missing.
    asked: Option<u64>,
    /// Helpers that bring more of the file; most responses need none, and no set of them.
    ahead: Option<JoinSet<()>>,
    /// Known once the client was waited for. Boxed: that is rare.
    pace: Option<Box<Pace>>,
}

impl<'a> Sending<'a> {
    /// `name`: what was asked for, for messages.
    pub(crate) fn new(
        context: &'a Context,
        client: &'a Client,
        response: &'a Response,
        name: &'a str,
    ) -> Self {
        let part = response.first.clone();
        let window = context.service.site().map_or(0, Site::window);
        let asked = part.as_ref().map(|part| part.at + window);
        let (ahead, pace) = (None, None);
        Sending { client, response, context, name, sent: 0, part, asked, ahead, pace }
    }

    /// Bytes the kernel has taken.
    pub(crate) fn sent(&self) -> u64 {
        self.sent
    }

    /// Bytes to be sent yet; more than any grant while nobody knows how many.
    fn left(&self) -> u64 {
        self.response.length().map_or(u64::MAX, |length| length - self.sent)
    }

    /// Sends without a gate.
    pub(crate) async fn directly(&mut self) -> Outcome {
        while self.left() > 0 {
            let count = self.to_chunk();
            let more = self.left() > count || self.response.close;
            let went_on = match self.push(count, more) {
                Ok(_) if self.left() == 0 => Ok(()),
                Ok(Pushed::All) => {
                    tokio::task::yield_now().await;
                    Ok(())
                }
                Ok(Pushed::Full) => self.until_writable().await,
                Ok(Pushed::Cold) => Box::pin(self.bring()).await,
                Err(outcome) => Err(outcome),
            };
            if let Err(outcome) = went_on {
                return outcome;
            }
        }
        Outcome::Complete
    }

    /// How much to hand over at once: it ends where a chunk of the file does, since of whole chunks it
    /// is known whether they are in memory.
    fn to_chunk(&self) -> u64 {
        let at = self.response.body_at + self.body_sent();
        let head_left = (self.response.head.len() as u64).saturating_sub(self.sent);
        head_left + AT_ONCE - at % CHUNK
    }

    /// Sends what the gate grants, when it grants it.
    pub(crate) async fn over(&mut self, flow: &mut Flow) -> Outcome {
        if flow.take_if_free(self.left()) {
            loop {
                match self.push(self.left(), self.response.close) {
                    Ok(Pushed::Cold) => {
                        if let Err(outcome) = Box::pin(self.bring()).await {
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
        flow.arrive(size, self.response.range_of);
        let outcome = self.as_granted(flow).await;
        flow.leave(&self.client.socket, outcome == Outcome::Complete);
        outcome
    }

    async fn as_granted(&mut self, flow: &mut Flow) -> Outcome {
        let mut half_closed = false;
        while self.left() > 0 {
            let grant = tokio::select! {
                biased;
                grant = flow.granted() => grant,
                left = self.client.left(), if !half_closed && self.is_watched() => {
                    if left == Left::Gone || self.response.departure == Departure::Closed {
                        return Outcome::ClientLeft;
                    }
                    half_closed = true;
                    flow.probe();
                    continue;
                }
                () = self.client.reset(), if half_closed => return Outcome::ClientLeft,
            };
            let last = grant.bytes >= self.left();
            let more = if last { self.response.close } else { grant.more };
            let before = self.sent;
            let pushed = self.push(grant.bytes, more);
            let sent = self.sent - before;
            let waited = match pushed {
                Ok(_) if self.left() == 0 => {
                    flow.used(&grant, sent, false);
                    Ok(())
                }
                Ok(Pushed::All) => {
                    flow.used(&grant, sent, false);
                    flow.look(&self.client.socket);
                    Ok(())
                }
                Ok(Pushed::Full) => {
                    flow.used(&grant, sent, true);
                    flow.charge_extra(&self.client.socket);
                    let writable = self.until_writable().await;
                    flow.ready();
                    writable
                }
                // What waits for the disk or a backend holds up nobody at the uplink.
                Ok(Pushed::Cold) => {
                    flow.used(&grant, sent, true);
                    flow.idle();
                    let brought = Box::pin(self.bring()).await;
                    flow.ready();
                    brought
                }
                Err(outcome) => {
                    flow.used(&grant, sent, false);
                    Err(outcome)
                }
            };
            if let Err(outcome) = waited {
                return outcome;
            }
        }
        Outcome::Complete
    }

    /// Waits until the socket takes more; not for a client that takes nothing for too long, or less
    /// than the least rate.
    async fn until_writable(&mut self) -> Result<(), Outcome> {
        let times = &self.context.times;
        // What the kernel keeps for it, it has not taken.
        let taken = || {
            let kept = sys::unacknowledged(&*self.client.socket).unwrap_or(0);
            self.sent as i64 - kept as i64
        };
        let (mut seen, mut since) = (taken(), turn::began());
        let new = || Box::new(Pace::new(times.rate, seen));
        let mut pace = self.pace.take().unwrap_or_else(new);
        loop {
            let asked = turn::began();
            let wait = times.send.saturating_sub(asked.since(since)).min(pace.left());
            let writable = self.client.writable(wait).await.map_err(|_| Outcome::ClientLeft)?;
            let now = turn::began();
            pace.waited(now.since(asked));
            if pace.is_too_slow(taken) {
                let peer = self.client.peer.ip();
                tracing::info!("{peer} took a response more slowly than min_rate: it was cut");
                // What is in the kernel must not stay there.
                self.client.reset_when_closed();
                return Err(Outcome::ClientLeft);
            }
            if writable {
                break;
            }
            if now.since(since) >= times.send {
                // It is writable again only when the client has taken a good part.
                let before = std::mem::replace(&mut seen, taken());
                if before == seen {
                    return Err(Outcome::ClientLeft);
                }
                since = now;
            }
        }
        self.pace = Some(pace);
        Ok(())
    }

    fn is_watched(&self) -> bool {
        self.response.departure != Departure::Unwatched
    }

    /// Waits until the client counts as gone.
    async fn departure(&self) {
        match self.response.departure {
            Departure::Closed => drop(self.client.left().await),
            Departure::Gone | Departure::Unwatched => self.client.gone(b"").await,
        }
    }

    /// Has a helper bring what comes next, or waits for the backend, unless the client leaves first.
    async fn bring(&mut self) -> Result<(), Outcome> {
        if let Body::Relayed(relayed) = &self.response.body {
            let more = relayed.more(self.body_sent());
            return tokio::select! {
                biased;
                more = more => more.map_err(|Truncated(why)| self.content_failed(why)),
                () = self.departure(), if self.is_watched() => Err(Outcome::ClientLeft),
            };
        }
        let (Body::File(file), Some(site)) = (&self.response.body, self.context.service.site())
        else {
            return Err(self.content_failed("it is not a file, and not in memory"));
        };
        let at = self.response.body_at + self.body_sent();
        let (disk, window) = (site.disk(), site.window());
        let brought = tokio::select! {
            biased;
            brought = file.bring(disk, at, window) => brought,
            () = self.client.gone(b"") => return Err(Outcome::ClientLeft),
        };
        let (start, bytes) = brought.map_err(|error| self.unreadable(error))?;
        if start + bytes.len() as u64 <= at {
            return Err(self.truncated());
        }
        self.part = Some(Part { at: start, bytes });
        self.asked = Some(start + window);
        Ok(())
    }

    /// Once something was missing, asks for what follows before it is needed.
    fn read_ahead(&mut self) {
        let (Some(asked), Body::File(file), Some(site)) =
            (self.asked, &self.response.body, self.context.service.site())
        else {
            return;
        };
        let window = site.window();
        let at = self.response.body_at + self.body_sent();
        let end = self.response.body_at + self.response.body_length.unwrap_or(0);
        // What was sent meanwhile is not asked for any more.
        let asked = asked.max(at - at % CHUNK);
        if asked >= end || at + window / 2 < asked {
            return;
        }
        self.asked = Some(asked + window);
        if !file.tells() {
            return;
        }
        let (file, disk) = (file.clone(), site.disk().clone());
        let ahead = self.ahead.get_or_insert_default();
        while ahead.try_join_next().is_some() {}
        ahead.spawn_local(async move {
            // If it fails, it will fail again when it is needed.
            let _ = file.bring(&disk, asked, window).await;
        });
    }

    fn body_sent(&self) -> u64 {
        self.sent.saturating_sub(self.response.head.len() as u64)
    }
}

/// How much of a file a helper brings at once: what an uplink of `bytes_per_second` sends in a tenth
/// of a second, within limits that suit disks and memory.
pub(crate) fn window(bytes_per_second: Option<u64>) -> u64 {
    let wanted = bytes_per_second.map_or(u64::MAX, |rate| rate / 10);
    wanted.clamp(CHUNK, 8 * CHUNK).next_multiple_of(CHUNK)
}
