//! Closed loops on the uplink: clients who ask the next response as soon as they have the last, on
//! as many connections as they like, beside responses that are asked once. It tells how far the
//! former push the latter back; `weir-lab sim loops` shows it.

mod playing;
#[cfg(test)]
mod tests;

use std::time::Duration;

use weir_sched::{ClientId, ObjectId, PolicyKind};

use super::client::Client;
use super::link::{Finish, Link};
use super::{Invalid, LATEST, in_order};
use playing::Playing;

/// A response that is asked once, whatever else is sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Single {
    /// Seconds at which the request is at the server, from 0, in order.
    pub at: f64,
    /// Bytes of the response's stream, head included; 0 counts as 1.
    pub size: u64,
    /// Whose it is.
    pub address: ClientId,
    /// The way to the client.
    pub client: Client,
}

/// A client who asks on and on.
#[derive(Clone, Debug, PartialEq)]
pub struct Looping {
    /// Who it is.
    pub address: ClientId,
    /// Connections, each with a response all the time.
    pub connections: usize,
    /// What it asks.
    pub sizes: Sizes,
    /// When the next is asked, and on what.
    pub again: Again,
    /// All its responses are ranges of this.
    pub range_of: Option<ObjectId>,
    /// The way to the client.
    pub client: Client,
}

/// Bytes of the streams of the responses of a loop, heads included.
#[derive(Clone, Debug, PartialEq)]
pub enum Sizes {
    /// The same for ever.
    Always(u64),
    /// One after the other; then the loop ends.
    Once(Vec<u64>),
}

/// How the next response of a loop is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Again {
    /// On the same connection, a round trip after the last byte was sent.
    Kept,
    /// The same on a new connection for each, which was opened ahead.
    New,
    /// On the same connection, and the request is there before the response in front is sent.
    Pipelined,
    /// As `New`, but the gate takes each for somebody it has never seen: what would be if it
    /// followed nobody.
    Stranger,
}

/// A client who asks much and leaves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Leaver {
    /// Seconds at which the requests are at the server, from 0.
    pub at: f64,
    /// How long it stays.
    pub stays: Duration,
    /// Requests, each on a connection of its own.
    pub requests: usize,
    /// Bytes of each response's stream.
    pub size: u64,
    /// Who it is.
    pub address: ClientId,
    /// The way to the client.
    pub client: Client,
}

/// All that is asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// Responses that are waited for.
    pub singles: Vec<Single>,
    /// Loops, from 0 s on.
    pub loops: Vec<Looping>,
    /// Those who leave.
    pub leavers: Vec<Leaver>,
    /// Seconds after which nobody waits any more.
    pub until: f64,
}

/// What became of a scene.
#[derive(Clone, Debug, PartialEq)]
pub struct Looped {
    /// When each of [`Scene::singles`] was done; `None`: not in time.
    pub finish: Vec<Option<Finish>>,
    /// Responses that the loops have had.
    pub responses: u64,
    /// Wire bytes of singles and their connections, ...
    pub single_bytes: u64,
    /// ... and of all since the first single was asked.
    pub bytes: u64,
}

impl Link {
    /// Plays a scene under a policy until all its singles are done. Each grant costs about a
    /// microsecond.
    ///
    /// # Errors
    ///
    /// A time that is no number or out of order.
    pub fn loops(&self, policy: PolicyKind, scene: &Scene) -> Result<Looped, Invalid> {
        in_order(scene.singles.iter().map(|single| single.at))?;
        let last = scene.singles.last().map_or(0.0, |single| single.at);
        within("the end", scene.until, last)?;
        for leaver in &scene.leavers {
            within("a leaver's time", leaver.at, 0.0)?;
            within("a leaver's end", leaver.at + leaver.stays.as_secs_f64(), 0.0)?;
        }
        Ok(Playing::new(self, policy, scene).run())
    }
}

fn within(what: &str, at: f64, least: f64) -> Result<(), Invalid> {
    match at >= least && at < LATEST {
        true => Ok(()),
        false => {
            Err(Invalid(format!("{what} is {at} s; expected seconds from {least} to {LATEST}")))
        }
    }
}
