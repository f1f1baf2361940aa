//! A link and the gate in front of it, as parameters, and what is played over them: requests and when
//! each was done. `play`, `loops` and the reference `sharing` play on it.

use std::time::Duration;

use weir_sched::{BitRate, GateConfig, Packets, PolicyKind, WireOverhead};

use super::client::Client;

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
}
