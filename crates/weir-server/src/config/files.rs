//! Values of the keys about files that are there for experiments: ways of working that weir does not
//! need, to compare its own with. Read by the table of the server's keys; `content` goes by them.

use weir_units::choice;

use super::value::choice_value;

choice! {
    /// Who opens and reads what is not in memory.
    pub enum DiskWork, "who does the work of the disk", default Helpers {
        /// Helper threads, so that no worker waits for a disk.
        Helpers = "helpers",
        /// The worker opens, and waits for the disk; helpers read.
        OpenBlocks = "open-blocks",
        /// Helpers open; the worker reads and sends, and waits for the disk.
        ReadBlocks = "read-blocks",
        /// The worker opens, reads and sends, and waits for the disk, as servers with one loop do.
        Blocks = "blocks",
    }
}

impl DiskWork {
    /// Whether a worker opens what is not in memory.
    pub(crate) fn opens_in_worker(self) -> bool {
        matches!(self, DiskWork::OpenBlocks | DiskWork::Blocks)
    }

    /// Whether a worker reads what is not in memory.
    pub(crate) fn reads_in_worker(self) -> bool {
        matches!(self, DiskWork::ReadBlocks | DiskWork::Blocks)
    }
}

choice_value!(DiskWork);

choice! {
    /// What happens to a request for a file when its client leaves.
    pub enum FileDepartures, "whether departures are noticed", default Noticed {
        /// It is given up: it does not wait for the disk or the uplink any more.
        Noticed = "noticed",
        /// It goes on until sending fails.
        Unnoticed = "unnoticed",
    }
}

choice_value!(FileDepartures);
