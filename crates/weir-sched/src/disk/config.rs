//! How the gate of a disk is configured, and the time that a job is expected to take there. Read by
//! the gate and by the server, which sets it up.

use std::time::Duration;

/// What a disk can do, and when a piece of its work counts as stuck.
#[derive(Clone, Copy, Debug)]
pub struct DiskConfig {
    /// Most jobs that run at once, stuck ones not counted; zero is taken as one. Default 32: enough
    /// to keep a disk busy, and well below its queue of 128. When that is full even reads with
    /// `RWF_NOWAIT` block, up to 0.6 s as measured on Linux 6.18.
    pub under_way: usize,
    /// Least jobs that run at once. Between these two the gate learns how many the disk takes; with
    /// `under_way` or more there is nothing to learn, and that many run. Zero is taken as one.
    /// Default 2: one that the disk works on, and one that it finds when it is done.
    pub least_under_way: usize,
    /// A job that has run for so long and was passed by as many later ones as run at once, or beside
    /// which nothing has ended for so long (for a slow disk: much longer than between two ends), no
    /// longer counts among those that the disk takes at once, only among the most that run: whatever it
    /// waits for, it may be something else than this disk. Default 250 ms.
    pub late_after: Duration,
    /// Disk time of a job without its transfer: seek and half a turn. Default 2 ms.
    pub positioning: Duration,
    /// Rate of transfer; zero is taken as one. Default 60 MB/s. With `positioning` it only compares
    /// jobs with each other, so the ratio matters and a rough one will do.
    pub bytes_per_second: u64,
    /// A job that has run for so long is stuck: its helper thread is lost for the time being, as
    /// with a file server that does not answer. Default 10 s.
    pub stuck_after: Duration,
    /// Most jobs that are stuck at once; more that hang count among those that run. With
    /// `under_way` this bounds the helper threads. Default 96.
    pub most_stuck: usize,
    /// A place with so many stuck jobs gets no new ones until one of them ends; zero is taken as
    /// one. Default 4.
    pub stuck_per_place: usize,
}

impl Default for DiskConfig {
    fn default() -> DiskConfig {
        DiskConfig {
            under_way: 32,
            least_under_way: 2,
            late_after: Duration::from_millis(250),
            positioning: Duration::from_millis(2),
            bytes_per_second: 60_000_000,
            stuck_after: Duration::from_secs(10),
            most_stuck: 96,
            stuck_per_place: 4,
        }
    }
}

impl DiskConfig {
    /// Nanoseconds the disk needs for a job, at least one.
    pub(super) fn expected(&self, bytes: u64) -> u64 {
        let transfer = u128::from(bytes) * 1_000_000_000 / u128::from(self.bytes_per_second.max(1));
        u64::try_from(self.positioning.as_nanos() + transfer).unwrap_or(u64::MAX).max(1)
    }
}
