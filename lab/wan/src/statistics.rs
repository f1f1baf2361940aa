//! Counts of what happened to the packets, and how they are printed.

use std::fmt;
use std::time::Duration;

/// What the link did since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Towards the clients (right).
    pub down: Counts,
    /// Towards the server (left).
    pub up: Counts,
}

/// One direction. Of the packets that came in, each is counted once more: `packets_in` =
/// `packets_out` + `lost` + `dropped` + `refused` + `underway`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets taken from the sending device.
    pub packets_in: u64,
    /// Their bytes, IP headers counted.
    pub bytes_in: u64,
    /// Packets given to the receiving device.
    pub packets_out: u64,
    /// Their bytes, IP headers counted.
    pub bytes_out: u64,
    /// Packets lost by chance, as asked for.
    pub lost: u64,
    /// Packets dropped because the queue before the rate was full.
    pub dropped: u64,
    /// Packets that the kernel would not take (a device that is down).
    pub refused: u64,
    /// Packets in the queue or on their way.
    pub underway: u64,
    /// Most packets that ever waited for the rate.
    pub most_queued: usize,
    /// Packets that the kernel dropped before the link could read them: they are none of
    /// `packets_in`. More than zero means that the link was too slow or the machine too busy.
    pub overrun: u64,
    /// Packets sent on more than 0.2 ms after they were due.
    pub late: u64,
    /// Of these, more than 1 ms.
    pub very_late: u64,
    /// The longest time a packet was sent on after it was due.
    pub most_late: Duration,
}

impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "down: {}", self.down)?;
        write!(f, "up:   {}", self.up)
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} packets ({} bytes) in, {} ({} bytes) out, {} lost, {} dropped at the queue \
             (at most {} waited), {} underway, {} late, {} of them by more than 1 ms (at most {:.3} ms)",
            self.packets_in,
            self.bytes_in,
            self.packets_out,
            self.bytes_out,
            self.lost,
            self.dropped,
            self.most_queued,
            self.underway,
            self.late,
            self.very_late,
            self.most_late.as_secs_f64() * 1e3,
        )?;
        if self.refused > 0 {
            write!(f, ", {} refused by the receiving device", self.refused)?;
        }
        if self.overrun > 0 {
            write!(f, ", {} dropped by the kernel before the link read them", self.overrun)?;
        }
        Ok(())
    }
}
