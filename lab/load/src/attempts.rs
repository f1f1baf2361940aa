//! Attempts: a request is sent on a connection, and failed, given up or sent again. The engine makes
//! attempts; `traffic` says when a connection has failed.

use rustix::event::epoll::{self, EventData, EventFlags};
use weir_stats::Outcome;

use crate::connections::State;
use crate::engine::Engine;
use crate::socket;
use crate::stream::Stream;

/// Seconds within which the end of a reused connection answers its last request: a server that
/// had closed it says so a round trip after the request.
const CLOSED_WHILE_IDLE: f64 = 1.0;

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
                return self.attempt_failed(index, outcome, 0);
            }
        };
        self.tasks[index].attempts += 1;
        let stream = match Stream::new(socket, self.plan.tls.as_ref()) {
            Ok(stream) => stream,
            Err(error) => {
                self.count_failure(|| error.to_string());
                return self.attempt_failed(index, Outcome::Unsent, 0);
            }
        };
        // Here and not before: the other end may be as quick as the call that connects.
        let now = self.clock.now();
        let connection = self.connections.add(stream, index, class, slow, now);
        self.tasks[index].connection = Some(connection);
        self.count_open();
        if self.watch(connection).is_err() {
            // The kernel has no memory, or its limit of watches is reached.
            self.connection_failed(connection, Outcome::Unsent);
        }
    }

    fn watch(&mut self, index: usize) -> rustix::io::Result<()> {
        let key = EventData::new_u64(self.connections.key(index));
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::RDHUP | EventFlags::ET;
        match self.connections.get(index) {
            Some(connection) => epoll::add(&self.epoll, connection.stream.socket(), key, flags),
            None => Ok(()),
        }
    }

    /// Send a task's request on a connection that stands.
    pub(crate) fn send(&mut self, index: usize, task: usize) {
        let Some(connection) = self.connections.get(index) else { return };
        connection.task = Some(task);
        let Some(task) = self.tasks.get(task) else { return };
        connection.state = State::Busy;
        connection.carried += 1;
        connection.response.reset(task.size);
        connection.read_lag.reset();
        let last = connection.carried >= self.plan.requests_per_connection;
        self.template.write(&mut self.request, &task.path, last);
        if connection.stream.send(&self.request).is_err() {
            return self.connection_failed(index, Outcome::Reset);
        }
        let now = self.clock.now();
        connection.read_lag.touch(now);
        if connection.slow {
            let key = self.connections.key(index);
            if let Some((_, ticks)) = &mut self.slow {
                ticks.push(now, key);
            }
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
    pub(crate) fn connection_failed(&mut self, index: usize, outcome: Outcome) {
        let Some(connection) = self.connections.get(index) else { return };
        if connection.state == State::Busy && connection.stream.is_handshaking() {
            return self.handshake_failed(index, || "the server ended the connection".into());
        }
        self.lose(index, outcome);
    }

    /// There is no connection, since the handshake of TLS came to nothing.
    pub(crate) fn handshake_failed(&mut self, index: usize, why: impl FnOnce() -> String) {
        self.count_failure(why);
        self.lose(index, Outcome::Refused);
    }

    fn count_failure(&mut self, why: impl FnOnce() -> String) {
        if let Some(counts) = &mut self.handshakes {
            counts.failed(why);
        }
    }

    /// Give up a connection, and with it the attempt on it.
    fn lose(&mut self, index: usize, outcome: Outcome) {
        let Some(connection) = self.connections.get(index) else { return };
        let (Some(task), carried) = (connection.task, connection.carried) else { return };
        // What comes of another attempt comes later by it.
        let lag = connection.read_lag.total();
        if let Some(task) = self.tasks.get_mut(task) {
            task.read_lag += lag;
        }
        let body = self.close_connection_of(task);
        let now = self.clock.now();
        let untouched = self.tasks.get(task).is_some_and(|task| {
            let sent = task.connected.unwrap_or(task.started);
            task.first_byte.is_none() && now - sent <= CLOSED_WHILE_IDLE
        });
        if carried > 1 && untouched && matches!(outcome, Outcome::Short | Outcome::Reset) {
            // The server closed it while it was idle; browsers ask again without a word.
            self.connect(task);
        } else {
            self.attempt_failed(task, outcome, body);
        }
    }

    /// Close the connection a task is on; the body bytes it had brought.
    pub(crate) fn close_connection_of(&mut self, task: usize) -> u64 {
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
            let body = self.close_connection_of(task);
            self.attempt_failed(task, Outcome::Abandoned, body);
        }
    }

    /// An attempt has failed: the user tries again, or that was it.
    fn attempt_failed(&mut self, index: usize, outcome: Outcome, body: u64) {
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
