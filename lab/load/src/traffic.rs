//! What the engine does about events on its connections: more of a request is sent, a response is
//! received, an idle connection ends.

use std::sync::atomic::Ordering::Relaxed;

use rustix::event::epoll::EventFlags;
use rustix::io::Errno;
use weir_stats::Outcome;

use crate::connections::{Connection, State};
use crate::engine::Engine;
use crate::http1::{Ending, Progress};
use crate::stream::Input;

/// Full buffers read from one connection before others have their turn.
const READS: usize = 4;

/// What came of reading once.
#[derive(PartialEq)]
enum ReadResult {
    /// As much as there was room for: there may be more.
    Full,
    /// All there was.
    All,
    /// There was nothing.
    Nothing,
    /// The response has ended, or the connection has.
    Ended,
}

impl Engine<'_> {
    /// Something happened on a connection, after `since`, or without that its last turn left something to
    /// read; `now` is the time. The time afterwards.
    pub(crate) fn on_event(
        &mut self,
        key: u64,
        flags: EventFlags,
        since: Option<f64>,
        now: f64,
    ) -> f64 {
        let Some(index) = self.connections.find(key) else { return now };
        let Some(connection) = self.connections.get(index) else { return now };
        if (connection.state == State::Connecting || connection.stream.is_handshaking())
            && let Some(task) = connection.task.and_then(|task| self.tasks.get_mut(task))
        {
            // The request goes out later by it.
            task.read_lag += connection.read_lag.late(since, now);
        } else {
            connection.read_lag.turn(since, now);
        }
        let broken = flags.intersects(EventFlags::ERR | EventFlags::HUP);
        let ended = broken || flags.contains(EventFlags::RDHUP);
        match connection.state {
            State::Connecting if broken => {
                let error = rustix::net::sockopt::socket_error(connection.stream.socket());
                let reset = matches!(error, Ok(Err(Errno::CONNRESET | Errno::PIPE)));
                self.connection_failed(
                    index,
                    if reset { Outcome::Reset } else { Outcome::Refused },
                );
            }
            State::Connecting => {
                if let Some(task) = connection.task {
                    self.tasks[task].connected = Some(now);
                    self.send(index, task);
                }
                // What came before the connection was first seen is not announced again.
                self.read_announced(key, flags, ended, now);
            }
            State::Busy => {
                if connection.stream.is_sent() || self.flush(index) {
                    self.read_announced(key, flags, ended, now);
                }
            }
            State::Idle if ended || flags.contains(EventFlags::IN) => self.check_idle(index),
            State::Closing if ended => {
                if connection.stream.is_tls() {
                    // With TLS's last word unread the kernel would reset the connection.
                    self.check_idle(index);
                }
                self.close(key);
            }
            State::Idle | State::Closing => {}
        }
        self.touch(key)
    }

    /// What there was to do on a connection is done; the time.
    fn touch(&mut self, key: u64) -> f64 {
        let now = self.clock.now();
        let index = self.connections.find(key);
        if let Some(connection) = index.and_then(|index| self.connections.get(index)) {
            connection.read_lag.touch(now);
        }
        now
    }

    /// Read what an event announced on a connection, if it is still there.
    fn read_announced(&mut self, key: u64, flags: EventFlags, ended: bool, now: f64) {
        let Some(index) = self.connections.find(key) else { return };
        let readable = ended || flags.contains(EventFlags::IN);
        if readable && self.connections.get(index).is_some_and(|c| !c.slow) {
            self.receive(index, ended, now);
        }
        if ended {
            self.close_if_ended(key);
        }
    }

    /// Send more of a request; false if the connection was lost by it.
    fn flush(&mut self, index: usize) -> bool {
        let Some(connection) = self.connections.get(index) else { return false };
        let sent = connection.stream.flush().is_ok();
        if !sent {
            self.connection_failed(index, Outcome::Reset);
        }
        sent
    }

    /// Close a connection that waits for no response if something has come, mostly a FIN. TLS may say
    /// something of its own (tickets).
    fn check_idle(&mut self, index: usize) {
        let Some(connection) = self.connections.get(index) else { return };
        let mut spoken = false;
        let is_idle = loop {
            match connection.stream.read(&mut self.buffer, &mut |_| spoken = true) {
                Input::Nothing => break !spoken,
                Input::Bytes(_) if !spoken => {}
                _ => break false,
            }
        };
        self.totals.socket_bytes += connection.stream.take_count();
        if !is_idle {
            self.connections.remove(index);
            self.count_open();
        }
    }

    /// Read what has come. With `to_end`, until there is nothing: edge-triggered, a FIN that was
    /// announced is not announced again.
    fn receive(&mut self, index: usize, to_end: bool, now: f64) {
        for _ in 0..READS {
            match self.read(index, self.buffer.len(), now) {
                ReadResult::Ended | ReadResult::Nothing => return,
                ReadResult::All if !to_end => return,
                ReadResult::All | ReadResult::Full => {}
            }
        }
        self.unread.push_back(self.connections.key(index));
    }

    /// Read on where one turn did not suffice. What is to be read lies there since that turn.
    pub(crate) fn read_on(&mut self) {
        for _ in 0..self.unread.len() {
            if let Some(key) = self.unread.pop_front() {
                let now = self.clock.now();
                let now = self.on_event(key, EventFlags::RDHUP, None, now);
                self.start_due(now);
            }
        }
    }

    /// Reads once, for a slow reader.
    pub(crate) fn read_slowly(&mut self, key: u64) {
        let (Some(index), Some((slow, _))) = (self.connections.find(key), &self.slow) else {
            return;
        };
        let most = slow.bytes;
        let now = self.clock.now();
        if self.read(index, most, now) == ReadResult::Ended {
            // The FIN may have come long before its reader got there.
            return self.close_if_ended(key);
        }
        if let Some((_, ticks)) = &mut self.slow {
            ticks.push(now, key);
        }
    }

    /// Close a connection whose server has closed its side while the response still came in.
    fn close_if_ended(&mut self, key: u64) {
        let Some(index) = self.connections.find(key) else { return };
        let done = |state| matches!(state, State::Idle | State::Closing);
        if self.connections.get(index).is_some_and(|connection| done(connection.state)) {
            self.check_idle(index);
        }
    }

    /// Read once, at most `most` bytes.
    fn read(&mut self, index: usize, most: usize, now: f64) -> ReadResult {
        let Some(connection) = self.connections.get(index) else { return ReadResult::Ended };
        let Some(task) = connection.task.filter(|_| connection.state == State::Busy) else {
            return ReadResult::Ended;
        };
        let Connection { stream, response, read_lag, .. } = connection;
        let (mut progress, mut plain) = (Progress::More, 0);
        let input = stream.read(&mut self.buffer[..most], &mut |bytes| {
            plain += bytes.len() as u64;
            progress = match progress {
                Progress::More => response.receive(bytes, &self.plan.body),
                // What follows a response is nobody's.
                Progress::Done(ending) => Progress::Done(Ending { reusable: false, ..ending }),
            };
        });
        let count = stream.take_count();
        self.totals.socket_bytes += count;
        read_lag.count(count);
        let resumed = stream.handshake_completed();
        if let (Some(resumed), Some(counts)) = (resumed, &mut self.handshakes) {
            let connected = self.tasks.get(task).and_then(|task| task.connected);
            counts.add(resumed, now - connected.unwrap_or(now));
        }
        if plain > 0 {
            self.totals.bytes += plain;
            self.live.bytes.store(self.totals.bytes, Relaxed);
            if let Some(task) = self.tasks.get_mut(task) {
                task.first_byte.get_or_insert(now);
            }
        }
        if let Progress::Done(ending) = progress {
            let stands = matches!(input, Input::Bytes(_));
            self.complete(index, Ending { reusable: ending.reusable && stands, ..ending });
            return ReadResult::Ended;
        }
        match input {
            Input::Bytes(count) if count == most => return ReadResult::Full,
            Input::Bytes(_) => return ReadResult::All,
            Input::Nothing => return ReadResult::Nothing,
            Input::Interrupted => return ReadResult::Full,
            Input::End { whole } => self.ended(index, whole),
            Input::Lost => self.connection_failed(index, Outcome::Reset),
            Input::Refused(error) => self.refused(index, &error),
        }
        ReadResult::Ended
    }

    /// The server sends no more. Without `whole`, what only its end could end was cut off.
    fn ended(&mut self, index: usize, whole: bool) {
        let Some(connection) = self.connections.get(index) else { return };
        match connection.response.closed() {
            outcome @ (Outcome::Ok | Outcome::Status) if whole => {
                self.complete(index, Ending { outcome, reusable: false });
            }
            Outcome::Ok | Outcome::Status => self.connection_failed(index, Outcome::Short),
            outcome => self.connection_failed(index, outcome),
        }
    }

    /// TLS has refused what came, or the server has refused us by an alert: of the handshake, whose last
    /// word the client does not see (RFC 8446, section 4.4.4), unless something else came before.
    fn refused(&mut self, index: usize, error: &rustls::Error) {
        let Some(connection) = self.connections.get(index) else { return };
        let task = connection.task.and_then(|task| self.tasks.get(task));
        let is_new = connection.carried == 1 && task.is_some_and(|task| task.first_byte.is_none());
        match is_new {
            true => self.handshake_failed(index, || error.to_string()),
            false => self.connection_failed(index, Outcome::Wrong),
        }
    }

    /// The response on a connection has ended.
    fn complete(&mut self, index: usize, ending: Ending) {
        let limit = self.plan.requests_per_connection;
        let Some(connection) = self.connections.get(index) else { return };
        let (head, body) = (connection.response.head_bytes(), connection.response.body_bytes());
        self.totals.head_bytes += head;
        self.totals.body_bytes += body;
        if ending.outcome == Outcome::Status {
            *self.totals.statuses.entry(connection.response.status()).or_default() += 1;
        }
        let task = connection.task.take();
        let lag = connection.read_lag.total();
        let whole = connection.stream.is_sent();
        if ending.reusable && whole && connection.carried < limit {
            self.connections.put_idle(index);
        } else if ending.outcome == Outcome::Wrong {
            self.connections.remove(index);
            self.count_open();
        } else {
            connection.state = State::Closing;
            let key = self.connections.key(index);
            self.closing.push(self.clock.now(), key);
        }
        if let Some(task) = task {
            if let Some(task) = self.tasks.get_mut(task) {
                task.read_lag += lag;
            }
            self.finish(task, ending.outcome, body);
        }
    }
}
