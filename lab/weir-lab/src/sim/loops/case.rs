//! The clients in closed loops beside a download, case by case, as scenes for the simulated link.
//! Used by [`row`](super::row).

use std::time::Duration;

use weir_sched::{ClientId, ObjectId};
use weir_sim::uplink::{Again, Client, Leaver, Looping, Scene, Single, Sizes};

use crate::sim::offered::HEAD;

/// The download's address; the others have those behind it.
const VICTIM: ClientId = ClientId(0);

/// Seconds after which the download is asked; the loops begin at 0.
const ASKED_AT: f64 = 1.0;

/// Seconds at which those who leave have asked.
const LEFT_AT: f64 = 0.5;

/// Others beside a download.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    /// What they do.
    pub(super) name: &'static str,
    /// Bytes of the download's body.
    pub(super) download: u64,
    /// How many times longer than beside so many others who share fairly the download may take.
    pub(super) tolerated: f64,
    again: Again,
    /// Connections, each with a response all the time.
    pub(super) connections: usize,
    /// Whether each has an address of its own.
    apart: bool,
    /// Bytes of the loops' bodies, all ranges of one file or files of their own.
    body: u64,
    ranges: bool,
    left: Option<Left>,
}

/// A hundred requests for 1 GB were made before, by somebody who has left since.
#[derive(Clone, Copy, Debug)]
struct Left {
    /// By who asks on and on as well.
    same: bool,
    stays: Duration,
}

const RANGES: Case = Case {
    name: "16 KB ranges, connection kept",
    download: 1_000_000,
    tolerated: 1.1,
    again: Again::Kept,
    connections: 1,
    apart: false,
    body: 16_384,
    ranges: true,
    left: None,
};

const HEADS: Case = Case {
    name: "heads asked ahead, 5 connections",
    download: 100_000,
    tolerated: 1.3,
    again: Again::Pipelined,
    connections: 5,
    body: 0,
    ranges: false,
    ..RANGES
};

const FILES: Case = Case {
    name: "300 KB files, 10 connections",
    connections: 10,
    body: 300_000,
    ranges: false,
    ..RANGES
};

const LEFT: Left = Left { same: false, stays: Duration::ZERO };

/// In the order in which they are shown.
pub(super) const CASES: &[Case] = &[
    RANGES,
    Case { name: "16 KB ranges, new connections", again: Again::New, ..RANGES },
    HEADS,
    Case { name: "heads asked ahead, 5 addresses", apart: true, ..HEADS },
    FILES,
    Case { name: "300 KB files, 10 addresses", apart: true, ..FILES },
    Case { name: "300 KB files, 10 new connections", again: Again::New, ..FILES },
    Case { name: "300 KB files, 10 new, 10 addresses", again: Again::New, apart: true, ..FILES },
    Case { name: "16 KB ranges, others left at once", left: Some(LEFT), ..RANGES },
    Case {
        name: "16 KB ranges, itself left at once",
        left: Some(Left { same: true, ..LEFT }),
        ..RANGES
    },
    Case {
        name: "16 KB ranges, others left after 0.1 s",
        left: Some(Left { stays: Duration::from_millis(100), ..LEFT }),
        ..RANGES
    },
];

impl Case {
    /// The download alone, until `until` seconds.
    pub(super) fn alone(&self, client: Client, until: f64) -> Scene {
        let victim = Single { at: ASKED_AT, size: HEAD + self.download, address: VICTIM, client };
        Scene { singles: vec![victim], loops: Vec::new(), leavers: Vec::new(), until }
    }

    /// The download beside the others.
    pub(super) fn beside(&self, client: Client, until: f64) -> Scene {
        let addresses = if self.apart { self.connections } else { 1 };
        let looping = |index| Looping {
            address: ClientId(1 + index as u128),
            connections: self.connections / addresses,
            sizes: Sizes::Always(HEAD + self.body),
            again: self.again,
            range_of: self.ranges.then_some(ObjectId(1)),
            client,
        };
        let leaver = |left: Left| Leaver {
            at: LEFT_AT,
            stays: left.stays,
            requests: 100,
            size: 1_000_000_000,
            address: ClientId(if left.same { 1 } else { 1 + addresses as u128 }),
            client,
        };
        Scene {
            loops: (0..addresses).map(looping).collect(),
            leavers: self.left.map(leaver).into_iter().collect(),
            ..self.alone(client, until)
        }
    }

    /// How many times longer than alone the download may take.
    pub(super) fn most(&self) -> f64 {
        self.tolerated * (self.connections + 1) as f64
    }
}
