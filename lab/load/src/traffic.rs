//! What the engine does on its connections: attempts are made, sent, received, given up and made
//! again.

use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering::Relaxed;

use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::SendFlags;
use weir_stats::Outcome;

use crate::connections::State;
use crate::engine::Engine;
use crate::http1::{Ending, Progress};
use crate::socket;

/// Full buffers read from one connection before others have their turn.
const READS: usize = 4;
/// Seconds within which the end of a reused connection answers its last request: a server that
/// had closed it says so a round trip after the request.
const CLOSED_WHILE_IDLE: f64 = 1.0;

/// What came of reading once.
#[derive(PartialEq)]
enum Read {
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
    /// Send a task's request, for the first time or again; `fresh` on a new connection.
    pub(crate) fn attempt(&mut self, index: usize, fresh: bool) {
        let Some(task) = self.tasks.get_mut(index) else { return };
        let now = self.clock.now();
        self.serial += 1;
        task.serial = self.serial;
        task.connected = None;
        task.first_byte = None;
        if task.started.is_nan() {
            task.started = now;
            self.lags.add(now - task.scheduled);
        }
        if let Some(aborts) = &mut self.aborts {
            aborts.push(now, (index, self.serial));
        }
        let (class, client) = (task.class, task.client);
        let slow = self.is_slow(client);
        let idle = if fresh { None } else { self.connections.take_idle(class, slow) };
        let Some(connection) = idle else { return self.connect(index) };
        if let Some(task) = self.tasks.get_mut(index) {
            task.connected = Some(now);
            task.connection = Some(connection);
            task.attempts += 1;
        }
        self.send(connection, index);
    }

    /// Make a new connection for a task.
    fn connect(&mut self, index: usize) {
        let Some(task) = self.tasks.get_mut(index) else { return };
        task.connected = None;
        let (class, client) = (task.class, task.client);
        let slow = self.is_slow(client);
        let from = self.sources.next(class);
        let socket = match socket::connect(self.plan.server, from, slow) {
            Ok(socket) => socket,
            Err(e) => {
                let outcome = socket::outcome(&e);
                if outcome != Outcome::Unsent {
                    self.tasks[index].attempts += 1;
                }
                return self.failed(index, outcome, 0);
            }
        };
        self.tasks[index].attempts += 1;
        let connection = self.connections.add(socket, index, class, slow);
        self.tasks[index].connection = Some(connection);
        self.count_open();
        if self.watch(connection).is_err() {
            // The kernel has no memory, or its limit of watches is reached.
            self.lost(connection, Outcome::Unsent);
        }
    }

    fn watch(&mut self, index: usize) -> rustix::io::Result<()> {
        let key = EventData::new_u64(self.connections.key(index));
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        match self.connections.get(index) {
            Some(connection) => epoll::add(&self.epoll, &connection.socket, key, flags),
            None => Ok(()),
        }
    }

    /// Send a task's request on a connection that stands.
    fn send(&mut self, index: usize, task: usize) {
        let Some(connection) = self.connections.get(index) else { return };
        connection.task = Some(task);
        let Some(task) = self.tasks.get(task) else { return };
        connection.state = State::Busy;
        connection.carried += 1;
        connection.response.reset(task.size);
        let last = connection.carried >= self.plan.requests_per_connection;
        self.template.write(&mut self.request, &task.path, last);
        match send(&connection.socket, &self.request) {
            Ok(count) => connection.unsent.extend_from_slice(&self.request[count..]),
            Err(_) => return self.lost(index, Outcome::Reset),
        }
        if connection.slow {
            let key = self.connections.key(index);
            let now = self.clock.now();
            if let Some((_, ticks)) = &mut self.slow {
                ticks.push(now, key);
            }
        }
    }

    /// Something happened on a connection; the time it then was.
    pub(crate) fn on_event(&mut self, key: u64, flags: EventFlags) -> f64 {
        let now = self.clock.now();
        let Some(index) = self.connections.find(key) else { return now };
        let Some(connection) = self.connections.get(index) else { return now };
        let broken = flags.intersects(EventFlags::ERR | EventFlags::HUP);
        let ended = broken || flags.contains(EventFlags::RDHUP);
        match connection.state {
            State::Connecting if broken => {
                let error = rustix::net::sockopt::socket_error(&connection.socket);
                let reset = matches!(error, Ok(Err(Errno::CONNRESET | Errno::PIPE)));
                self.lost(index, if reset { Outcome::Reset } else { Outcome::Refused });
            }
            State::Connecting => {
                if let Some(task) = connection.task {
                    self.tasks[task].connected = Some(now);
                    self.send(index, task);
                }
                // What came before the connection was first seen is not announced again.
                self.take_in(key, flags, ended, now);
            }
            State::Busy => {
                if connection.unsent.is_empty() || self.flush(index) {
                    self.take_in(key, flags, ended, now);
                }
            }
            State::Idle if ended || flags.contains(EventFlags::IN) => self.check_idle(index),
            State::Closing if ended => {
                self.connections.remove(index);
                self.count_open();
            }
            State::Idle | State::Closing => {}
        }
        now
    }

    /// Read what an event announced on a connection, if it is still there.
    fn take_in(&mut self, key: u64, flags: EventFlags, ended: bool, now: f64) {
        let Some(index) = self.connections.find(key) else { return };
        let readable = ended || flags.contains(EventFlags::IN);
        if readable && self.connections.get(index).is_some_and(|c| !c.slow) {
            self.receive(index, ended, now);
        }
        if ended {
            self.forget_ended(key);
        }
    }

    /// Send more of a request; false if the connection was lost by it.
    fn flush(&mut self, index: usize) -> bool {
        let Some(connection) = self.connections.get(index) else { return false };
        match send(&connection.socket, &connection.unsent) {
            Ok(count) => {
                connection.unsent.drain(..count);
                true
            }
            Err(_) => {
                self.lost(index, Outcome::Reset);
                false
            }
        }
    }

    /// Close a connection that waits for no response if something has come, mostly a FIN.
    fn check_idle(&mut self, index: usize) {
        let Some(connection) = self.connections.get(index) else { return };
        if rustix::io::read(&connection.socket, &mut self.buffer) != Err(Errno::AGAIN) {
            self.connections.remove(index);
            self.count_open();
        }
    }

    /// Read what has come. With `to_end`, until there is nothing: edge-triggered, a FIN that was
    /// announced is not announced again.
    fn receive(&mut self, index: usize, to_end: bool, now: f64) {
        for _ in 0..READS {
            match self.read(index, self.buffer.len(), now) {
                Read::Ended | Read::Nothing => return,
                Read::All if !to_end => return,
                Read::All | Read::Full => {}
            }
        }
        self.unread.push_back(self.connections.key(index));
    }

    /// Read on where one turn did not suffice.
    pub(crate) fn read_on(&mut self) {
        for _ in 0..self.unread.len() {
            if let Some(key) = self.unread.pop_front() {
                let now = self.on_event(key, EventFlags::RDHUP);
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
        if self.read(index, most, now) == Read::Ended {
            // The FIN may have come long before its reader got there.
            return self.forget_ended(key);
        }
        if let Some((_, ticks)) = &mut self.slow {
            ticks.push(now, key);
        }
    }

    /// Close a connection whose server has closed its side while the response still came in.
    fn forget_ended(&mut self, key: u64) {
        let Some(index) = self.connections.find(key) else { return };
        let done = |state| matches!(state, State::Idle | State::Closing);
        if self.connections.get(index).is_some_and(|connection| done(connection.state)) {
            self.check_idle(index);
        }
    }

    /// Read once, at most `most` bytes.
    fn read(&mut self, index: usize, most: usize, now: f64) -> Read {
        let Some(connection) = self.connections.get(index) else { return Read::Ended };
        let Some(task) = connection.task.filter(|_| connection.state == State::Busy) else {
            return Read::Ended;
        };
        let count = match rustix::io::read(&connection.socket, &mut self.buffer[..most]) {
            Ok(0) => {
                let outcome = connection.response.closed();
                if matches!(outcome, Outcome::Ok | Outcome::Status) {
                    self.complete(index, Ending { outcome, reusable: false });
                } else {
                    self.lost(index, outcome);
                }
                return Read::Ended;
            }
            Ok(count) => count,
            Err(Errno::AGAIN) => return Read::Nothing,
            Err(Errno::INTR) => return Read::Full,
            Err(_) => {
                self.lost(index, Outcome::Reset);
                return Read::Ended;
            }
        };
        self.totals.bytes += count as u64;
        self.live.bytes.store(self.totals.bytes, Relaxed);
        if let Some(task) = self.tasks.get_mut(task) {
            task.first_byte.get_or_insert(now);
        }
        match connection.response.take(&self.buffer[..count], &self.plan.body) {
            Progress::Done(ending) => {
                self.complete(index, ending);
                Read::Ended
            }
            Progress::More if count == most => Read::Full,
            Progress::More => Read::All,
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
        let whole = connection.unsent.is_empty();
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
            self.finish(task, ending.outcome, body);
        }
    }

    /// Close a connection that the server should have closed.
    pub(crate) fn close(&mut self, key: u64) {
        if let Some(index) = self.connections.find(key) {
            self.connections.remove(index);
            self.count_open();
        }
    }

    /// A connection has failed, and with it the attempt on it.
    fn lost(&mut self, index: usize, outcome: Outcome) {
        let Some(connection) = self.connections.get(index) else { return };
        let (Some(task), carried) = (connection.task, connection.carried) else { return };
        let body = self.drop_connection_of(task);
        let now = self.clock.now();
        let untouched = self.tasks.get(task).is_some_and(|task| {
            let sent = task.connected.unwrap_or(task.started);
            task.first_byte.is_none() && now - sent <= CLOSED_WHILE_IDLE
        });
        if carried > 1 && untouched && matches!(outcome, Outcome::Short | Outcome::Reset) {
            // The server closed it while it was idle; browsers ask again without a word.
            self.connect(task);
        } else {
            self.failed(task, outcome, body);
        }
    }

    /// Close the connection a task is on; the body bytes it had brought.
    pub(crate) fn drop_connection_of(&mut self, task: usize) -> u64 {
        let connection = self.tasks.get_mut(task).and_then(|task| task.connection.take());
        let Some(connection) = connection.and_then(|index| self.connections.remove(index)) else {
            return 0;
        };
        self.count_open();
        self.totals.head_bytes += connection.response.head_bytes();
        self.totals.body_bytes += connection.response.body_bytes();
        connection.response.body_bytes()
    }

    /// The user gives up an attempt, if it is still that one.
    pub(crate) fn abort(&mut self, task: usize, serial: u64) {
        if self.tasks.get(task).is_some_and(|task| task.serial == serial) {
            let body = self.drop_connection_of(task);
            self.failed(task, Outcome::Abandoned, body);
        }
    }

    /// An attempt has failed: the user tries again, or that was it.
    fn failed(&mut self, index: usize, outcome: Outcome, body: u64) {
        let Some(task) = self.tasks.get_mut(index) else { return };
        let passing = matches!(outcome, Outcome::Abandoned | Outcome::Refused | Outcome::Reset);
        if passing && task.retries > 0 {
            task.retries -= 1;
            task.serial = 0;
            self.again.push_back(index);
        } else {
            self.finish(index, outcome, body);
        }
    }
}

/// Send what fits; how much that was.
fn send(socket: &OwnedFd, bytes: &[u8]) -> rustix::io::Result<usize> {
    match rustix::net::send(socket, bytes, SendFlags::NOSIGNAL) {
        Err(Errno::AGAIN | Errno::INTR) => Ok(0),
        other => other,
    }
}
