//! What the link does to packets: the options of [`crate::Wan`].

use std::net::IpAddr;
use std::time::Duration;

/// A link between two namespaces, one TUN device in each.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Towards the clients (right).
    pub down: Direction,
    /// Towards the server (left).
    pub up: Direction,
    /// One-way delays of clients by their address; the first that matches counts. Addresses of no
    /// class have no delay.
    pub classes: Vec<Class>,
    /// Everything random follows from it.
    pub seed: u64,
}

/// One direction.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Direction {
    /// Packets lost.
    pub loss: Loss,
    /// Bits per second, frames of Ethernet counted; `None` is as fast as it comes.
    pub rate: Option<u64>,
    /// Packets that may wait for the rate; more are dropped. Ignored without a rate.
    pub queue: usize,
}

/// Which packets are lost.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum Loss {
    /// None.
    #[default]
    None,
    /// Each independently with this probability (Schroeder 2003, section 3.4).
    Random(f64),
    /// Gilbert's two states: mean loss probability, and mean length of a burst in packets.
    Bursts {
        /// Share of the packets that are lost.
        probability: f64,
        /// Mean packets in a row, at least 1.
        length: f64,
    },
}

/// A class of clients.
#[derive(Clone, Debug, PartialEq)]
pub struct Class {
    /// First address of the class.
    pub network: IpAddr,
    /// Leading bits that must match.
    pub prefix: u8,
    /// Delay each way; half of the round-trip time.
    pub delay: Duration,
}
