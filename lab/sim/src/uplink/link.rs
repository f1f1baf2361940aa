//! The server's own gate in front of a link in virtual time: rate, pacing, grants, packets, round
//! trips, slow clients. It plays requests whose times are known, for `weir-lab sim replay` and
//! `promise` and the experiments.

use std::time::Duration;

use weir_sched::{BitRate, ClientId, GateConfig, Packets, PolicyKind, Time, WireOverhead};

use super::client::Client;
use super::fullness::{Fullness, Meter};
use super::line::{Line, Sent, Step, seconds, time};
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
            relief: server.starvation_interval,
            packets: Packets { mss: 1448, overhead: WireOverhead::ETHERNET },
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
    ) -> Result<Vec<weir_sched::FairnessRecord>, Invalid> {
        let played = self.begin(policy, requests, None)?.run();
        Ok(played.line.settle_all())
    }

    fn begin<'a>(
        &'a self,
        policy: PolicyKind,
        requests: &'a [Request],
        patience: Option<Duration>,
    ) -> Result<Playing<'a>, Invalid> {
        in_order(requests.iter().map(|request| request.at))?;
        Ok(Playing {
            line: Line::new(self, policy),
            requests,
            patience,
            leaving: 0,
            finish: vec![None; requests.len()],
            meter: Meter::new(self.rate.scaled(self.pace.min(1.0))),
            useful: 0,
            wasted: 0,
        })
    }
}

/// Each request has a connection of its own, with its number.
#[derive(Debug)]
struct Playing<'a> {
    line: Line<'a>,
    requests: &'a [Request],
    /// How long clients wait.
    patience: Option<Duration>,
    /// The first request whose client may still leave: they leave in the order in which they came.
    leaving: usize,
    finish: Vec<Option<Finish>>,
    meter: Meter,
    useful: u64,
    wasted: u64,
}

impl Playing<'_> {
    fn run(mut self) -> Self {
        let (mut now, mut next) = (Time::ZERO, 0);
        loop {
            while let Some(request) = self.requests.get(next).filter(|r| time(r.at) <= now) {
                self.arrive(now, next, request);
                next += 1;
            }
            self.line.hear(now);
            let leaves = self.leave(now);
            let wake = match self.line.step(now) {
                Step::Sent(sent) => {
                    self.sent(now, sent);
                    continue;
                }
                Step::Wait(wake) => wake,
            };
            let arrival = self.requests.get(next).map(|request| time(request.at));
            let Some(at) = wake.into_iter().chain(arrival).chain(leaves).min() else { return self };
            now = now.max(at);
        }
    }

    fn arrive(&mut self, now: Time, index: usize, request: &Request) {
        let socket = self.line.open(now, ClientId(index as u128), request.client);
        self.meter.send(seconds(now), self.line.link.connection);
        self.line.ask(now, socket, request.size, None);
    }

    /// Those whose time has come leave. Returns when the next one may.
    fn leave(&mut self, now: Time) -> Option<Time> {
        let patience = self.patience?;
        while let Some(request) = self.requests.get(self.leaving) {
            let at = time(request.at) + patience;
            if at > now {
                return Some(at);
            }
            self.wasted += self.line.close(now, self.leaving);
            self.leaving += 1;
        }
        None
    }

    fn sent(&mut self, now: Time, sent: Sent) {
        self.meter.send(seconds(now), sent.wire);
        if let Some(finish) = sent.done {
            self.finish[sent.socket] = Some(finish);
            self.useful += self.line.close(now, sent.socket);
        }
    }
}
