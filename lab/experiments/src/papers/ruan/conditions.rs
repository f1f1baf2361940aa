//! The conditions of Ruan & Pai (sections 2.2 to 2.4). All experiments of this paper use them. A quick run
//! has a small set, little memory and short phases.

use crate::cell::{Disk, Files, Load, Phase, What};
use crate::choice::{Choice, Scale};
use crate::experiment::case::Case;

/// weir without an uplink to schedule; its place in the paper is New-Flash's.
pub(super) const WEIR: &str = "weir:files";
/// The same switched so that it opens and reads files in its loop, as the paper's Flash does.
pub(super) const BLOCKS: &str = "weir:files --disk-work blocks";
/// The event-driven server that people run; its place in the paper is Flash's.
pub(super) const NGINX: &str = "nginx";
/// Its remedy.
pub(super) const AIO: &str = "nginx-aio";
/// The paper's other server, today's version.
pub(super) const APACHE: &str = "apache-prefork";
/// With a process for each connection, as the paper's has.
pub(super) const APACHE_1024: &str = "apache-prefork-1024";
pub(super) const WORKER: &str = "apache-worker";
pub(super) const EVENT: &str = "apache-event";
/// The same with files opened by `weir-lab opener`, which is asked for each; its place in the paper is
/// Flashpache's.
pub(super) const FLASHPACHE: &str = "apache-prefork-opener-always";
/// The same, asked only for what is not in memory.
pub(super) const OPENER: &str = "apache-prefork-opener";
pub(super) const LIGHTTPD: &str = "lighttpd";

/// Loads of the paper's figures, as shares of a server's own capacity (section 3.4).
pub(super) const LOADS: [f64; 6] = [0.2, 0.4, 0.6, 0.8, 0.9, 0.95];
/// The load of its distributions, deciles and tables.
pub(super) const HIGH: f64 = 0.95;
/// Bytes of the set, and of memory (sections 2.2 and 2.3).
const SET: u64 = 3 << 30;
const MEMORY: u64 = 1 << 30;
/// Connections, and requests on each (section 2.3).
const CONNECTIONS: u32 = 1024;
const PER_CONNECTION: u32 = 5;
/// A disk of 2 ms and 60 MB/s, one operation at a time.
pub(super) const DISK: Disk = Disk { seek_ms: 2.0, rate: 60_000_000 };

/// What a server is asked for.
pub(super) fn files(scale: Scale, phases: Vec<Phase>) -> Files {
    let (set, memory, connections, warm, seconds) = match scale {
        // Overload of a second takes a server some tens of MB.
        Scale::Quick => (200 << 20, 128 << 20, 64, 2.0, 2.0),
        Scale::Full => (SET, MEMORY, CONNECTIONS, 40.0, 20.0),
        Scale::Paper => (SET, MEMORY, CONNECTIONS, 60.0, 120.0),
    };
    Files { set, memory, disk: DISK, connections, warm, seconds, phases }
}

/// The paper's users of these files.
pub(super) fn case(files: Files) -> Case {
    Case::files(files).requests_per_connection(PER_CONNECTION)
}

/// Saturation and then shares of the server's own capacity.
pub(super) fn own_loads(loads: &[f64]) -> Vec<Phase> {
    let open = loads.iter().map(|share| own(*share));
    std::iter::once(Phase::SATURATED).chain(open).collect()
}

/// A share of the server's own capacity.
pub(super) fn own(share: f64) -> Phase {
    Phase::of(Load::Own(share))
}

/// The systems of a run; a quick one has only the first two.
pub(super) fn systems(choice: &Choice, own: &[&str]) -> Vec<String> {
    let shown = if choice.scale == Scale::Quick { &own[..own.len().min(2)] } else { own };
    choice.systems(shown)
}

/// Phases of what is asked for in memory, at the same rate as the phase.
pub(super) fn in_memory(phase: Phase) -> Phase {
    Phase { what: What::InMemory, ..phase }
}
