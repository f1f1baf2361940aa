//! What is played: responses that are asked once, closed loops beside them and clients who leave; and
//! what became of them. Callers make scenes; [`super::playing`] plays them.

use std::time::Duration;

use weir_sched::{ClientId, ObjectId};

use super::super::client::Client;
use super::super::link::Finish;

/// A response that is asked once, whatever else is sent.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Single {
    /// Seconds at which the request is at the server, from 0, in order.
    pub at: f64,
    /// Bytes of the response's stream, head included; 0 counts as 1.
    pub size: u64,
    /// Owner it is.
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
pub struct LoopResults {
    /// When each of [`Scene::singles`] was done; `None`: not in time.
    pub finish: Vec<Option<Finish>>,
    /// Responses that the loops have had.
    pub responses: u64,
    /// Wire bytes of singles and their connections, ...
    pub single_bytes: u64,
    /// ... and of all since the first single was asked.
    pub bytes: u64,
}
