//! The server's own gate in front of a link in virtual time: rate, pacing, grants, packets, round
//! trips, slow clients. It does not know policies: the gate has one.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;
use std::time::Duration;

use weir_sched::{
    BitRate, ClientId, FlowId, FlowSpec, Framing, Gate, GateConfig, Grant, JobSpec, Next, Pacer,
    Packets, PolicyKind, Time,
};

use super::client::{Client, Connection};
use super::fullness::{Fullness, Meter};
use super::{Invalid, in_order};

/// A response that is asked for, on a connection of its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Request {
    /// Seconds at which the request is at the server, from 0, in order.
    pub at: f64,
    /// Bytes of the response's stream, head included; 0 counts as 1.
    pub size: u64,
    /// Who asks.
    pub client: Client,
}

/// When a response was done, in seconds on the scale of [`Request::at`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Finish {
    /// Its last byte had left the link.
    pub sent: f64,
    /// Its client had read the last byte.
    pub received: f64,
}

/// Responses to clients who leave when they have waited too long.
#[derive(Clone, Debug, PartialEq)]
pub struct Impatient {
    /// When each was done; `None` if its client left before.
    pub finish: Vec<Option<Finish>>,
    /// Bytes on the wire for responses that were done.
    pub useful: u64,
    /// Bytes on the wire for responses whose clients left before the end.
    pub wasted: u64,
}

/// A link and the gate before it.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// What the link carries.
    pub rate: BitRate,
    /// The share of the rate that the gate lets through, above 0.
    pub pace: f64,
    /// Time of the link that one grant is worth.
    pub grant: Duration,
    /// A response that has had nothing for this long gets a segment; `None`: the policy decides.
    pub relief: Option<Duration>,
    /// How streams are cut, and what a packet costs.
    pub packets: Packets,
    /// Wire bytes of each connection beside its response.
    pub connection: u64,
}

impl Link {
    /// An Ethernet link of `rate` with the server's defaults.
    pub fn new(rate: BitRate) -> Link {
        let server = GateConfig::new(PolicyKind::default());
        Link {
            rate,
            pace: 0.99,
            grant: server.grant,
            relief: server.relief,
            packets: Packets { mss: 1448, framing: Framing::ETHERNET },
            connection: 206,
        }
    }

    /// Plays the requests under a policy and says when each response was done. Each grant costs
    /// about a microsecond.
    ///
    /// # Errors
    ///
    /// A time that is no number or out of order.
    pub fn play(&self, policy: PolicyKind, requests: &[Request]) -> Result<Vec<Finish>, Invalid> {
        self.watch(policy, requests).map(|(finish, _)| finish)
    }

    /// The same, and when the gate had no more to give: what it let through took all of its share
    /// of the link. Slow clients and far ones leave it room though much is asked.
    ///
    /// # Errors
    ///
    /// As [`Link::play`].
    pub fn watch(
        &self,
        policy: PolicyKind,
        requests: &[Request],
    ) -> Result<(Vec<Finish>, Fullness), Invalid> {
        let played = self.begin(policy, requests, None)?.run();
        let never = Finish { sent: 0.0, received: 0.0 };
        let finish = played.finish.iter().map(|finish| finish.unwrap_or(never)).collect();
        Ok((finish, played.meter.found()))
    }

    /// The same with clients who leave `patience` after their request; then nothing more is sent to
    /// them.
    ///
    /// # Errors
    ///
    /// As [`Link::play`].
    pub fn play_impatient(
        &self,
        policy: PolicyKind,
        requests: &[Request],
        patience: Duration,
    ) -> Result<Impatient, Invalid> {
        let Playing { finish, useful, wasted, .. } =
            self.begin(policy, requests, Some(patience))?.run();
        Ok(Impatient { finish, useful, wasted })
    }

    /// What the gate's ledger says of responses to clients who all stay.
    #[cfg(test)]
    pub(super) fn settle(
        &self,
        policy: PolicyKind,
        requests: &[Request],
    ) -> Result<Vec<weir_sched::Settled>, Invalid> {
        let mut played = self.begin(policy, requests, None)?.run();
        // Fair sharing would still be at some of them.
        played.gate.tick(played.free_at + Duration::from_secs(10_000));
        played.settled.extend(played.gate.settled());
        Ok(played.settled)
    }

    fn begin<'a>(
        &'a self,
        policy: PolicyKind,
        requests: &'a [Request],
        patience: Option<Duration>,
    ) -> Result<Playing<'a>, Invalid> {
        in_order(requests.iter().map(|request| request.at))?;
        let config = GateConfig { policy, grant: self.grant, relief: self.relief };
        let gate = Gate::new(config, Arc::new(Pacer::new(self.rate.scaled(self.pace))));
        Ok(Playing {
            link: self,
            requests,
            patience,
            leaving: 0,
            gate,
            open: (0..requests.len()).map(|_| None).collect(),
            finish: vec![None; requests.len()],
            heard: BinaryHeap::new(),
            free_at: Time::ZERO,
            meter: Meter::new(self.rate.scaled(self.pace.min(1.0))),
            useful: 0,
            wasted: 0,
            #[cfg(test)]
            settled: Vec::new(),
        })
    }
}

/// A connection with a response that is not sent whole.
#[derive(Debug)]
struct Open {
    flow: FlowId,
    left: u64,
    /// Bytes on the wire so far.
    wire: u64,
    connection: Connection,
}

#[derive(Debug)]
struct Playing<'a> {
    link: &'a Link,
    requests: &'a [Request],
    /// How long clients wait.
    patience: Option<Duration>,
    /// The first request whose client may still leave: they leave in the order in which they came.
    leaving: usize,
    gate: Gate,
    open: Vec<Option<Open>>,
    finish: Vec<Option<Finish>>,
    /// When senders hear what was read: time, request, bytes.
    heard: BinaryHeap<Reverse<(Time, usize, u64)>>,
    /// When the link will have sent all that it was given.
    free_at: Time,
    meter: Meter,
    useful: u64,
    wasted: u64,
    #[cfg(test)]
    settled: Vec<weir_sched::Settled>,
}

impl Playing<'_> {
    fn run(mut self) -> Self {
        let (mut now, mut next) = (Time::ZERO, 0);
        loop {
            while let Some(request) = self.requests.get(next).filter(|r| time(r.at) <= now) {
                self.arrive(now, next, request);
                next += 1;
            }
            while let Some(&Reverse((at, index, bytes))) = self.heard.peek()
                && at <= now
            {
                self.heard.pop();
                self.acknowledged(now, index, bytes);
            }
            let leaves = self.leave(now);
            self.gate.tick(now);
            let wake = match self.gate.next(now) {
                Next::Grant(grant) => {
                    self.send(now, &grant);
                    continue;
                }
                Next::Wait(at) | Next::Receipt(at) => Some(at),
                Next::Idle => None,
            };
            let settled = self.gate.settled();
            #[cfg(test)]
            self.settled.extend(settled);
            // Nobody else reads the ledger.
            #[cfg(not(test))]
            settled.for_each(drop);
            let arrival = self.requests.get(next).map(|request| time(request.at));
            let heard = self.heard.peek().map(|Reverse((at, ..))| *at);
            let events = wake.into_iter().chain(arrival).chain(heard).chain(leaves);
            let Some(at) = events.min() else { return self };
            now = now.max(at);
        }
    }

    fn arrive(&mut self, now: Time, index: usize, request: &Request) {
        let packets = self.link.packets;
        let client = ClientId(index as u128);
        let path = request.client.path(packets.mss);
        let flow = self.gate.open(FlowSpec { client, packets, tag: index as u64, path });
        self.gate.charge(now, self.link.connection);
        self.meter.send(seconds(now), self.link.connection);
        let left = request.size.max(1);
        if self.gate.arrive(now, JobSpec { flow, size: Some(left), range_of: None }).is_some() {
            let connection = Connection::new(request.client, packets.mss);
            let wire = self.link.connection;
            self.open[index] = Some(Open { flow, left, wire, connection });
        }
    }

    /// Those whose time has come leave. Returns when the next one may.
    fn leave(&mut self, now: Time) -> Option<Time> {
        let patience = self.patience?;
        while let Some(request) = self.requests.get(self.leaving) {
            let at = time(request.at) + patience;
            if at > now {
                return Some(at);
            }
            if let Some(open) = self.open[self.leaving].take() {
                self.gate.close(now, open.flow);
                self.wasted += open.wire;
            }
            self.leaving += 1;
        }
        None
    }

    /// The socket takes what its window has room for; what is left of the grant goes back.
    fn send(&mut self, now: Time, grant: &Grant) {
        let index = grant.tag as usize;
        let Some(open) = &mut self.open[index] else {
            return self.gate.used(now, grant, 0);
        };
        let taken = grant.bytes.min(open.connection.room());
        self.gate.used(now, grant, taken);
        let wire = self.link.packets.wire(taken);
        self.meter.send(seconds(now), wire);
        let span = self.link.rate.time_for(wire);
        self.free_at = self.free_at.max(now) + span;
        if let Some(at) = open.connection.send(self.free_at, taken) {
            self.heard.push(Reverse((at, index, taken)));
        }
        open.left -= taken.min(open.left);
        open.wire += wire;
        if open.left == 0 {
            let received = seconds(open.connection.read_at());
            self.finish[index] = Some(Finish { sent: seconds(self.free_at), received });
            self.useful += open.wire;
            self.gate.close(now, open.flow);
            self.open[index] = None;
        } else if open.connection.room() == 0 {
            open.connection.blocked = true;
            self.gate.blocked(now, open.flow);
        }
    }

    fn acknowledged(&mut self, now: Time, index: usize, bytes: u64) {
        let Some(open) = &mut self.open[index] else { return };
        open.connection.acknowledge(bytes);
        if open.connection.blocked && open.connection.room() > 0 {
            open.connection.blocked = false;
            self.gate.ready(now, open.flow);
        }
    }
}

/// `in_order` has seen to it that this fits.
pub(super) fn time(seconds: f64) -> Time {
    Time::from_nanos((seconds * 1e9).round() as u64)
}

pub(super) fn seconds(time: Time) -> f64 {
    time.as_nanos() as f64 / 1e9
}
