//! The reference of the promise: exact processor sharing over the same paths, in which each client
//! takes at most what its window and its own line carry. `weir-lab sim promise` compares finish
//! times with it.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::client::Connection;
use super::line::{seconds, time};
use super::link::{Finish, Link, Request};
use super::{Invalid, in_order};

impl Link {
    /// When processor sharing would be done with each response.
    ///
    /// All who can take data share equally what the gate lets through, to the byte and without
    /// grants; who has a full window or reads slowly takes no part meanwhile and is owed nothing
    /// for it. What a connection costs beside its response goes first, as at the gate.
    ///
    /// # Errors
    ///
    /// As [`Link::play`].
    pub fn share(&self, requests: &[Request]) -> Result<Vec<Finish>, Invalid> {
        in_order(requests.iter().map(|request| request.at))?;
        let sharing = Sharing {
            link: self,
            requests,
            speed: self.rate.scaled(self.pace).bits() as f64 / 8.0,
            now: 0.0,
            level: 0.0,
            first: 0.0,
            open: vec![None; requests.len()],
            sharing: BinaryHeap::new(),
            heard: BinaryHeap::new(),
            finish: vec![Finish { sent: 0.0, received: 0.0 }; requests.len()],
        };
        Ok(sharing.run())
    }
}

/// Where the shared level will have sent a piece of a response.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Piece {
    done: f64,
    index: usize,
    /// Bytes of stream.
    bytes: u64,
}

impl Eq for Piece {}

impl Ord for Piece {
    fn cmp(&self, other: &Self) -> Ordering {
        self.done.total_cmp(&other.done).then(self.index.cmp(&other.index))
    }
}

impl PartialOrd for Piece {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[derive(Debug)]
struct Sharing<'a> {
    link: &'a Link,
    requests: &'a [Request],
    /// Bytes a second.
    speed: f64,
    now: f64,
    /// Wire bytes that each of those who share has had since the beginning.
    level: f64,
    /// Wire bytes that go before all responses.
    first: f64,
    /// Bytes left of the responses that are here, and their connections.
    open: Vec<Option<(u64, Connection)>>,
    /// One piece for each who shares.
    sharing: BinaryHeap<Reverse<Piece>>,
    /// When senders hear what was read: time, request, bytes.
    heard: BinaryHeap<Reverse<(u64, usize, u64)>>,
    finish: Vec<Finish>,
}

impl Sharing<'_> {
    fn run(mut self) -> Vec<Finish> {
        let mut next = 0;
        loop {
            let arrival = self.requests.get(next).map(|request| request.at);
            let heard = self.heard.peek().map(|Reverse((at, ..))| *at as f64 / 1e9);
            let (sent, first) = (self.next_sent(), self.first > 0.0);
            let times = [arrival, heard, sent].map(|at| at.unwrap_or(f64::INFINITY));
            let at = times.into_iter().fold(f64::INFINITY, f64::min);
            if at.is_infinite() {
                return self.finish;
            }
            self.pass(at);
            if times[1] <= at {
                self.acknowledged();
            } else if times[0] <= at {
                self.arrive(next);
                next += 1;
            } else {
                self.sent(first);
            }
        }
    }

    /// When the next piece is sent, or all that goes first.
    fn next_sent(&self) -> Option<f64> {
        if self.first > 0.0 {
            return Some(self.now + self.first / self.speed);
        }
        let Reverse(piece) = self.sharing.peek()?;
        let each = (piece.done - self.level).max(0.0);
        Some(self.now + each * self.sharing.len() as f64 / self.speed)
    }

    fn pass(&mut self, at: f64) {
        let bytes = (at - self.now).max(0.0) * self.speed;
        self.now = self.now.max(at);
        if self.first > 0.0 {
            self.first = (self.first - bytes).max(0.0);
        } else if !self.sharing.is_empty() {
            self.level += bytes / self.sharing.len() as f64;
        }
    }

    fn arrive(&mut self, index: usize) {
        let request = &self.requests[index];
        self.first += self.link.connection as f64;
        let connection = Connection::new(request.client, self.link.packets.mss);
        self.open[index] = Some((request.size.max(1), connection));
        self.join(index);
    }

    /// The next piece of a response shares: all of it if nothing limits its client.
    fn join(&mut self, index: usize) {
        let Some((left, connection)) = &mut self.open[index] else { return };
        let piece = match connection.is_limited() {
            true => u64::from(self.link.packets.mss.max(1)).min(connection.room()),
            false => u64::MAX,
        };
        let bytes = piece.min(*left);
        connection.blocked = bytes == 0;
        if bytes > 0 {
            let done = self.level + self.link.packets.wire(bytes) as f64;
            self.sharing.push(Reverse(Piece { done, index, bytes }));
        }
    }

    /// All that goes first has been sent, or else the piece that is done next.
    fn sent(&mut self, first: bool) {
        if first {
            self.first = 0.0;
            return;
        }
        let Some(Reverse(piece)) = self.sharing.pop() else { return };
        self.level = self.level.max(piece.done);
        let Some((left, connection)) = &mut self.open[piece.index] else { return };
        if let Some(at) = connection.send(time(self.now), piece.bytes) {
            self.heard.push(Reverse((at.as_nanos(), piece.index, piece.bytes)));
        }
        *left -= piece.bytes;
        if *left == 0 {
            let received = seconds(connection.read_at());
            self.finish[piece.index] = Finish { sent: self.now, received };
            self.open[piece.index] = None;
        } else {
            self.join(piece.index);
        }
    }

    fn acknowledged(&mut self) {
        let Some(Reverse((_, index, bytes))) = self.heard.pop() else { return };
        let Some((_, connection)) = &mut self.open[index] else { return };
        connection.acknowledge(bytes);
        if connection.blocked {
            self.join(index);
        }
    }
}
