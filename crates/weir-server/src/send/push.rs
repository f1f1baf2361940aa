//! Hands bytes to the transport without waiting: copied together with the head, or by sendfile(2) from a
//! file that is in memory, unless they are to be sealed. Used by [`super::Sending`], which says how much may go and waits.

use std::fmt;

use rustix::io::Errno;

use super::{Outcome, Sending};
use crate::answer::Place;
use crate::content::{Body, CHUNK, DIRECT_FROM, ReadError, copy};
use crate::logs::printable::printable;
use crate::metrics::Cause;
use crate::response::Response;
use crate::runtime::turn;

/// Bytes of the buffer in which head and body are put together; a head and a chunk fit.
pub(super) const SCRATCH: usize = CHUNK as usize + 32 * 1024;

/// Bytes at the end of a connection that are copied, so that the FIN goes with them in one packet.
const LAST: u64 = 1024;

/// How far a push came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pushed {
    /// The kernel took all.
    All,
    /// It takes no more now.
    Full,
    /// The next bytes are not in memory.
    Cold,
}

impl Sending<'_> {
    /// Hands up to `count` bytes to the kernel. `more`: something follows, so the kernel keeps what does
    /// not fill a segment (MSG_MORE); the end of the connection counts, since a FIN of its own would cost
    /// the uplink a packet.
    pub(super) fn push(&mut self, count: u64, more: bool) -> Result<Pushed, Outcome> {
        let end = self.sent + count.min(self.left());
        while self.sent < end {
            let pushed = match self.resident(end - self.sent) {
                0 => self.push_copy(end - self.sent, more)?,
                count => self.push_file(count)?,
            };
            if pushed != Pushed::All {
                return Ok(pushed);
            }
            self.read_ahead();
        }
        Ok(Pushed::All)
    }

    /// How many bytes of the body can be sent by sendfile(2) once the head is.
    fn resident(&self, count: u64) -> u64 {
        let Body::File(file) = &self.response.answer.body else { return 0 };
        let Place::Object { at, left } = self.place() else { return 0 };
        if !self.client.socket.takes_files() {
            return 0;
        }
        let kept_back = if self.response.close { LAST } else { 0 };
        let head_left = rest_of_head(self.response, self.sent).len() as u64;
        let count = count.saturating_sub(head_left).min(left.saturating_sub(kept_back));
        if count < DIRECT_FROM {
            return 0;
        }
        // What was fetched for this response is copied, which waits for nothing even if the disk serves
        // out of order: the helper has not looked at every page.
        if self.fetched_to.is_some_and(|fetched_to| at < fetched_to) {
            return 0;
        }
        match file.resident(at, count) {
            known if known < DIRECT_FROM => 0,
            known => known,
        }
    }

    /// Sends the rest of the head and `count` bytes of the file.
    fn push_file(&mut self, count: u64) -> Result<Pushed, Outcome> {
        let response = self.response;
        let Body::File(file) = &response.answer.body else { return Ok(Pushed::Cold) };
        let head = rest_of_head(response, self.sent);
        if !head.is_empty() {
            let pushed = self.write(head, true)?;
            if pushed != Pushed::All {
                return Ok(pushed);
            }
        }
        let Place::Object { at, .. } = self.place() else { return Ok(Pushed::Cold) };
        let wanted = usize::try_from(count).unwrap_or(usize::MAX);
        let send = || self.client.socket.write_file(file.fd(), at, wanted);
        match turn::spent_on(Cause::SendFile, &self.sender.metrics, send) {
            Ok(Some(0)) => Err(self.truncated()),
            Ok(Some(count)) => {
                self.took(count);
                Ok(Pushed::All)
            }
            Ok(None) => Ok(Pushed::Full),
            Err(Errno::IO) => Err(self.unreadable(Errno::IO)),
            Err(error) => Err(Outcome::of_broken(error)),
        }
    }

    /// Copies what comes next, up to the size of the buffer, and sends it.
    fn push_copy(&mut self, count: u64, more: bool) -> Result<Pushed, Outcome> {
        let mut scratch = self.sender.scratch.borrow_mut();
        let room = scratch.len().min(usize::try_from(count).unwrap_or(usize::MAX));
        let out = &mut scratch[..room];
        let head = rest_of_head(self.response, self.sent);
        let head_count = head.len().min(room);
        out[..head_count].copy_from_slice(&head[..head_count]);
        let mut filled = head_count;
        // What is here must not wait in the kernel for what a backend has not sent yet.
        let mut more = more || (room as u64) < count;
        while filled < room {
            let body = (filled - head_count) as u64;
            match self.read(self.body_sent() + body, &mut out[filled..]) {
                Ok(0) => return Err(self.truncated()),
                Ok(count) => filled += count,
                // Pieces before one that is on the disk go ahead of it: only it can be fetched.
                Err(ReadError::Cold) if body > 0 || filled > 0 && self.is_relayed() => break,
                Err(ReadError::Cold) => return Ok(Pushed::Cold),
                Err(ReadError::Failed(error)) => return Err(self.unreadable(error)),
            }
            let body = (filled - head_count) as u64;
            if !self.is_short_piece(self.body_sent() + body) {
                break;
            }
        }
        if let Body::Relayed(relayed) = &self.response.answer.body {
            let body = (filled - head_count) as u64;
            more &= relayed.extent().0 > self.body_sent() + body;
        } else if filled < room {
            more = true;
        }
        self.write(&out[..filled], more)
    }

    /// Whether what is at `offset` of the body belongs to one in several pieces, and is too short to be
    /// sent by itself.
    fn is_short_piece(&self, offset: u64) -> bool {
        let answer = self.response.answer;
        answer.pieces.is_some()
            && match answer.place(offset) {
                Place::Own(_) => true,
                Place::Object { left, .. } => left < DIRECT_FROM,
            }
    }

    /// Fills `out` with the body from `offset` on, as far as it is in memory; returns 0 only at its end.
    fn read(&mut self, offset: u64, out: &mut [u8]) -> Result<usize, ReadError> {
        let (at, left) = match self.response.answer.place(offset) {
            Place::Own(bytes) => return Ok(copy(bytes, 0, out)),
            Place::Object { at, left } => (at, left),
        };
        let count = out.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let out = &mut out[..count];
        if let Some(part) = &self.part {
            let count = at.checked_sub(part.at).map_or(0, |from| copy(&part.bytes, from, out));
            if count > 0 {
                return Ok(count);
            }
            self.part = None;
        }
        match &self.response.answer.body {
            Body::File(file) => {
                // Not beyond a chunk: a helper reads whole chunks.
                let to_chunk = CHUNK - at % CHUNK;
                let count = out.len().min(usize::try_from(to_chunk).unwrap_or(usize::MAX));
                let out = &mut out[..count];
                turn::spent_on(Cause::Read, &self.sender.metrics, || file.read(at, out))
            }
            body => body.read(at, out),
        }
    }

    /// The body is shorter than was announced.
    pub(super) fn truncated(&self) -> Outcome {
        self.content_failed(format_args!("{} was truncated while it was sent", self.what()))
    }

    /// The body cannot be read to its end.
    pub(super) fn unreadable(&self, error: impl fmt::Display) -> Outcome {
        self.content_failed(format_args!("{} cannot be read: {error}", self.what()))
    }

    /// Logs that the rest of the body is missing.
    pub(super) fn content_failed(&self, why: impl fmt::Display) -> Outcome {
        let name = printable(self.name.as_bytes());
        tracing::warn!("the response for {name} was cut short: {why}");
        Outcome::ContentFailed
    }

    /// What is sent, for the log.
    fn what(&self) -> String {
        match &self.response.answer.body {
            Body::File(file) => format!("file {}", file.printable()),
            _ => "the content".to_owned(),
        }
    }

    fn is_relayed(&self) -> bool {
        matches!(self.response.answer.body, Body::Relayed(_))
    }

    /// The kernel took so many bytes.
    fn took(&mut self, count: usize) {
        let count = count as u64;
        self.sent += count;
        if let Some(lane) = self.banded {
            lane.sent(count);
        }
        self.let_go_of_part();
    }

    /// Lets go of what was fetched once all of it was sent. The next read may be far away, and none comes
    /// if the rest goes by sendfile(2).
    fn let_go_of_part(&mut self) {
        let Some(part) = &self.part else { return };
        let Place::Object { at, left } = self.place() else { return };
        let end = part.at + part.bytes.len() as u64;
        if left == 0 || !(part.at..end).contains(&at) {
            self.part = None;
        }
    }

    fn write(&mut self, bytes: &[u8], more: bool) -> Result<Pushed, Outcome> {
        match self.client.socket.write(bytes, more) {
            Ok(Some(count)) => {
                if self.sent == 0
                    && let Some(details) = self.client.details()
                {
                    details.has_begun_to_send(turn::began());
                }
                self.took(count);
                Ok(if count == bytes.len() { Pushed::All } else { Pushed::Full })
            }
            Ok(None) => Ok(Pushed::Full),
            Err(error) => Err(Outcome::of_broken(error)),
        }
    }
}

fn rest_of_head<'a>(response: &'a Response<'_>, sent: u64) -> &'a [u8] {
    let sent = usize::try_from(sent).unwrap_or(usize::MAX).min(response.head.len());
    &response.head[sent..]
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    use std::rc::Rc;
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::answer::{Answer, Part};
    use crate::client::deadlines::Deadlines;
    use crate::client::rate::MinRate;
    use crate::client::{Client, Times};
    use crate::content::Object;
    use crate::identity::PeerAddress;
    use crate::metrics::Metrics;
    use crate::send::Sender;
    use crate::transport::Socket;

    const LONG: Duration = Duration::from_secs(600);

    #[test]
    fn what_was_fetched_is_let_go_once_it_was_sent() {
        let (here, _there) = UnixStream::pair().unwrap();
        let socket = Socket::new(OwnedFd::from(here));
        let deadlines = Rc::new(Deadlines::default());
        let client = Client::new(socket.into(), PeerAddress::Unix, &deadlines);
        let rate = MinRate { bytes_per_second: 0, period: LONG };
        let times = Times { head: LONG, idle: LONG, handshake: LONG, send: LONG, stop: LONG, rate };
        let sender = Sender::new(Arc::new(Metrics::new()), times, None);
        let fetched: Arc<[u8]> = vec![b'x'; 1000].into();
        let mut answer = Answer::whole(Object::text(vec![b'x'; 3000], "text/plain"));
        answer.first = Some(Part { at: 0, bytes: fetched.clone() }).into();
        let response = Response { head: Vec::new(), answer: &answer, close: false };
        let mut sending = sender.sending(&client, &response, "/", turn::began());
        assert_eq!(sending.to_chunk(), CHUNK, "others have their turn after a chunk");
        assert_eq!(sending.push(999, true), Ok(Pushed::All));
        assert_eq!(Arc::strong_count(&fetched), 2, "it is sent from there, and kept nowhere else");
        assert_eq!(sending.push(1, true), Ok(Pushed::All));
        assert_eq!((sending.sent(), Arc::strong_count(&fetched)), (1000, 1));
    }
}
