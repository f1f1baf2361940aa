//! A cell's files on a slow disk: how many bytes of them, how little memory, how slow the disk, and the
//! phases in which one server is asked for them. Experiments choose them; the run of the cell follows.

use serde::{Deserialize, Serialize};

/// Rates that the search for a server's capacity tries.
pub(crate) const TRIALS: u32 = 7;
/// A trial takes this share of a phase.
pub(crate) const TRIAL: f64 = 0.5;
/// A disk that is busy for more of a trial than this does not keep up, whatever is answered: a server that does not
/// block answers what is in memory, and what waits for the disk may grow without end.
pub(crate) const DISK_KEEPS_UP: f64 = 0.95;
/// A disk that is busy for more of a phase than this has fallen behind.
pub(crate) const DISK_FULL: f64 = 0.99;
/// Phases of less than so many seconds show that everything works, and measure nothing.
const QUICK: f64 = 10.0;
/// A phase beside a scan lasts until the whole tree has been read, but at most so many times as long as
/// others.
const SCAN_MOST: f64 = 12.0;

/// Files on a slow disk that fit a server's memory only in part, asked for by clients beside it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Files {
    /// Bytes of all files, shaped like SPECweb99's set.
    pub set: u64,
    /// Bytes of memory that the server gets, its page cache included.
    pub memory: u64,
    /// The disk.
    pub disk: Disk,
    /// Requests under way in saturation.
    pub connections: u32,
    /// Seconds that filling the server's cache takes at most.
    pub warm: f64,
    /// Seconds of each phase; one beside a scan may take longer.
    pub seconds: f64,
    /// The phases, in order, of one server that runs on.
    pub phases: Vec<Phase>,
}

/// How slow a disk is that does one operation at a time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Disk {
    /// Milliseconds of each operation that does not go on where the last one ended.
    pub seek_ms: f64,
    /// Bytes per second.
    pub rate: u64,
}

impl Disk {
    /// The same disk, so many times as fast.
    pub fn times(self, factor: f64) -> Disk {
        Disk { seek_ms: self.seek_ms / factor, rate: (self.rate as f64 * factor) as u64 }
    }
}

/// A phase.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Phase {
    /// How much is asked for.
    pub load: Load,
    /// Of what, and what goes on meanwhile.
    pub what: What,
}

/// How much is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum Load {
    /// As much as the server manages: the next request follows a response (infinite demand).
    Saturated,
    /// Open loop, a share of the highest rate at which this server keeps up. Needs a phase of
    /// saturation before it.
    Own(f64),
    /// Open loop, a share of the highest rate at which nginx keeps up.
    Nginx(f64),
    /// Open loop, requests per second.
    Rate(f64),
}

/// What is asked for, and what goes on meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum What {
    /// The whole set.
    Set,
    /// Only as many of its directories as fit into half of the memory, and have been read before.
    InMemory,
    /// The whole set, while another client reads every file, at least once if that takes no more than
    /// twelve times as long as other phases.
    Scanned,
    /// The whole set, while the server's wakes and processes are watched, which takes processor time.
    Watched,
}

impl Phase {
    /// As much as the server manages.
    pub const SATURATED: Phase = Phase { load: Load::Saturated, what: What::Set };

    /// The whole set at a load.
    pub fn of(load: Load) -> Phase {
        Phase { load, what: What::Set }
    }
}

impl Files {
    /// Whether the highest rate at which the server keeps up is searched for.
    fn searches(&self) -> bool {
        self.phases.iter().any(|phase| matches!(phase.load, Load::Own(_)))
    }

    /// Whether nginx's is needed.
    pub(crate) fn needs_nginx(&self) -> bool {
        self.phases.iter().any(|phase| matches!(phase.load, Load::Nginx(_)))
    }

    /// Whether the phases are too short to measure anything.
    pub(crate) fn is_quick(&self) -> bool {
        self.seconds < QUICK
    }

    /// Seconds that a search takes in which no rate is tried again.
    fn search(&self) -> f64 {
        f64::from(TRIALS) * TRIAL * self.seconds
    }

    /// Seconds of a phase at most.
    pub(crate) fn longest(&self, what: What) -> f64 {
        match what {
            What::Scanned => SCAN_MOST * self.seconds,
            What::Set | What::InMemory | What::Watched => self.seconds,
        }
    }

    /// Seconds for which requests come at most, to the server itself.
    pub fn duration(&self) -> f64 {
        let phases: f64 = self.phases.iter().map(|phase| self.longest(phase.what)).sum();
        self.warm + phases + if self.searches() { self.search() } else { 0.0 }
    }

    /// The files of a measurement of nginx's capacity in the same conditions.
    pub(crate) fn of_nginx(&self) -> Files {
        Files { phases: vec![Phase::SATURATED, Phase::of(Load::Own(1.0))], ..self.clone() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_has_all_phases_and_the_search() {
        let mut files = Files {
            set: 1 << 30,
            memory: 1 << 29,
            disk: Disk { seek_ms: 2.0, rate: 60_000_000 },
            connections: 10,
            warm: 5.0,
            seconds: 10.0,
            phases: vec![Phase::SATURATED, Phase { load: Load::Rate(9.0), what: What::Scanned }],
        };
        assert_eq!((files.duration(), files.needs_nginx()), (5.0 + 10.0 + 120.0, false));
        files.phases.push(Phase::of(Load::Own(0.5)));
        assert_eq!(files.duration(), 5.0 + 10.0 + 120.0 + 7.0 * 5.0 + 10.0);
        files.phases.push(Phase::of(Load::Nginx(0.8)));
        assert!(files.needs_nginx());
        assert_eq!(files.disk.times(4.0), Disk { seek_ms: 0.5, rate: 240_000_000 });
    }
}
