//! The server's gate, the link behind it and the connections over it, step by step in virtual time:
//! what `link` and `loops` have in common.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use weir_sched::{
    ClientId, FlowId, FlowSpec, Gate, GateConfig, Grant, JobSpec, Next, ObjectId, Pacer,
    PolicyKind, Time,
};

use super::client::{Client, Connection};
use super::link::{Finish, Link};

/// As often as the server, in grants of a connection, the gate is told of a path that is in use.
const LOOK_EVERY: u32 = 16;

/// A connection as the server keeps it; it has one response at a time.
#[derive(Debug)]
struct Socket {
    flow: FlowId,
    connection: Connection,
    /// Bytes of its response's stream that are neither sent nor given back.
    left: u64,
    /// Bytes on the wire so far.
    wire: u64,
    /// Grants since the gate was last told of the path.
    grants_since_look: u32,
}

/// What a step of the line has come to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step {
    /// A connection was sent something.
    Sent(Sent),
    /// Nothing happens before then unless somebody asks; `None`: nothing at all.
    Wait(Option<Time>),
}

/// What a connection was sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sent {
    /// The connection.
    pub(super) socket: usize,
    /// Bytes on the wire.
    pub(super) wire: u64,
    /// Its response is done with that.
    pub(super) done: Option<Finish>,
}

#[derive(Debug)]
pub(super) struct Line<'a> {
    pub(super) link: &'a Link,
    gate: Gate,
    /// The policy is told of paths while responses are sent.
    path_updates: bool,
    /// By number, in the order in which they were opened; `None`: closed.
    sockets: Vec<Option<Socket>>,
    /// When senders hear what was read: time, connection, bytes.
    heard: BinaryHeap<Reverse<(Time, usize, u64)>>,
    /// When the link will have sent all that it was given.
    free_at: Time,
    /// The gate's ledger, which only tests read.
    #[cfg(test)]
    settled: Vec<weir_sched::FairnessRecord>,
}

impl Line<'_> {
    pub(super) fn new(link: &Link, policy: PolicyKind) -> Line<'_> {
        let config = GateConfig { policy, grant: link.grant, starvation_interval: link.relief };
        Line {
            link,
            gate: Gate::new(config, Arc::new(Pacer::new(link.rate.scaled(link.pace)))),
            path_updates: policy.needs().path_updates,
            sockets: Vec::new(),
            heard: BinaryHeap::new(),
            free_at: Time::ZERO,
            #[cfg(test)]
            settled: Vec::new(),
        }
    }

    /// Opens a connection and charges what it costs beside its responses. Returns its number: the
    /// first has 0, the next 1.
    pub(super) fn open(&mut self, now: Time, address: ClientId, client: Client) -> usize {
        let packets = self.link.packets;
        let socket = self.sockets.len();
        let path = client.path(packets.mss);
        let flow = self.gate.open(FlowSpec { client: address, packets, path });
        self.gate.charge(now, self.link.connection);
        let connection = Connection::new(client, packets.mss);
        let wire = self.link.connection;
        let (left, grants_since_look) = (0, 0);
        self.sockets.push(Some(Socket { flow, connection, left, wire, grants_since_look }));
        socket
    }

    /// Asks a response of `size` bytes on a connection that has none.
    pub(super) fn ask(&mut self, now: Time, socket: usize, size: u64, range_of: Option<ObjectId>) {
        let Some(open) = &mut self.sockets[socket] else { return };
        open.left = size.max(1);
        // The server looks at its connection when a request comes.
        if let Some(path) = open.connection.path() {
            self.gate.path_changed(open.flow, path);
        }
        let (flow, tag, size) = (open.flow, socket as u64, Some(open.left));
        self.gate.arrive(now, JobSpec { flow, tag, size, range_of });
    }

    /// Closes a connection, with its response if that is not sent. Returns the bytes that it had on
    /// the wire, or 0 if it was closed before.
    pub(super) fn close(&mut self, now: Time, socket: usize) -> u64 {
        let Some(open) = self.sockets[socket].take() else { return 0 };
        self.gate.close(now, open.flow);
        open.wire
    }

    /// Senders hear what was read up to now.
    pub(super) fn acknowledge(&mut self, now: Time) {
        while let Some(&Reverse((at, socket, bytes))) = self.heard.peek()
            && at <= now
        {
            self.heard.pop();
            let Some(open) = &mut self.sockets[socket] else { continue };
            open.connection.acknowledge(bytes);
            if open.connection.blocked && open.connection.room() > 0 {
                open.connection.blocked = false;
                self.gate.flow_ready(now, open.flow);
            }
        }
    }

    /// The gate's next grant, if there is one now.
    pub(super) fn step(&mut self, now: Time) -> Step {
        self.gate.tick(now);
        let wake = match self.gate.next(now) {
            Next::Grant(grant) => return Step::Sent(self.send(now, &grant)),
            Next::Wait(at) | Next::Receipt(at) => Some(at),
            Next::Idle => None,
        };
        self.read_ledger();
        let heard = self.heard.peek().map(|Reverse((at, ..))| *at);
        Step::Wait(wake.into_iter().chain(heard).min())
    }

    /// All that the ledger says once fair sharing is done with everything too.
    #[cfg(test)]
    pub(super) fn settle_all(mut self) -> Vec<weir_sched::FairnessRecord> {
        // Fair sharing would still be at some of them.
        self.gate.tick(self.free_at + std::time::Duration::from_secs(10_000));
        self.read_ledger();
        self.settled
    }

    fn read_ledger(&mut self) {
        let settled = self.gate.fairness_records();
        #[cfg(test)]
        self.settled.extend(settled);
        #[cfg(not(test))]
        settled.for_each(drop);
    }

    /// The socket takes what its window has room for; what is left of the grant goes back.
    fn send(&mut self, now: Time, grant: &Grant) -> Sent {
        let socket = grant.tag as usize;
        let Some(open) = &mut self.sockets[socket] else {
            self.gate.used(now, grant, 0);
            return Sent { socket, wire: 0, done: None };
        };
        let taken = grant.bytes.min(open.connection.room());
        self.gate.used(now, grant, taken);
        let wire = self.link.packets.wire(taken);
        self.free_at = self.free_at.max(now) + self.link.rate.time_for(wire);
        if let Some(at) = open.connection.send(self.free_at, taken) {
            self.heard.push(Reverse((at, socket, taken)));
        }
        open.left -= taken.min(open.left);
        open.wire += wire;
        open.grants_since_look += 1;
        let done = (open.left == 0).then(|| Finish {
            sent: seconds(self.free_at),
            received: seconds(open.connection.read_at()),
        });
        if done.is_none() && open.connection.room() == 0 {
            open.connection.blocked = true;
            self.gate.flow_blocked(now, open.flow);
        }
        let looks = open.connection.blocked || open.grants_since_look >= LOOK_EVERY;
        if self.path_updates && looks {
            open.grants_since_look = 0;
            if let Some(path) = open.connection.path() {
                self.gate.path_changed(open.flow, path);
            }
        }
        Sent { socket, wire, done }
    }
}

/// `in_order` has seen to it that this fits.
pub(super) fn time(seconds: f64) -> Time {
    Time::from_nanos((seconds * 1e9).round() as u64)
}

pub(super) fn seconds(time: Time) -> f64 {
    time.as_nanos() as f64 / 1e9
}
