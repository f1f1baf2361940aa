//! The open descriptors of a process of Apache, and its limit of them. Used by the tests of that limit.

use std::collections::BTreeSet;
use std::fs;

use weir_peers::tool;

use crate::kept::Kept;
use crate::server::Apache;
use crate::support::eventually;

/// The only process of an Apache that serves.
pub(crate) struct Process {
    id: u32,
    /// The numbers of the descriptors that it had before anybody asked it for a file.
    first: BTreeSet<u64>,
}

/// A connection that Apache has accepted, over which nobody has asked for a file.
pub(crate) fn accepted(apache: &Apache) -> Kept {
    let mut kept = Kept::connect(apache);
    // It opens no file for that, and the opener is only asked for what is to be got.
    let answer = kept.request("POST", "/missing");
    assert!(answer.has_status(404), "{}", answer.head);
    kept
}

impl Process {
    /// That of an Apache which has accepted a connection.
    pub(crate) fn of(apache: &Apache) -> Process {
        let processes = apache.processes();
        assert_eq!(processes.len(), 2, "a parent and the one that serves");
        let id = processes[1];
        Process { id, first: open(id) }
    }

    /// From here on it may have so many descriptors beside the first ones. What is open stays open.
    pub(crate) fn allow(&self, more: usize) {
        let most = (0_u64..).filter(|number| !self.first.contains(number)).nth(more);
        let most = most.expect("there are numbers enough");
        // By Apache's own user: root needs a capability (CAP_SYS_RESOURCE) that containers often lack.
        let line = format!(
            "setpriv --reuid www-data --regid www-data --clear-groups \
             prlimit --pid {} --nofile={most}:",
            self.id
        );
        tool::run(&line).expect("its user may limit it");
    }

    /// How many descriptors it had at first.
    pub(crate) fn first(&self) -> usize {
        self.first.len()
    }

    /// Waits until none of the first descriptors is missing, and there are at most so many others.
    pub(crate) fn must_have_the_first_and(&self, more: usize) {
        eventually("no descriptor is lost or left over", || {
            let open = open(self.id);
            open.is_superset(&self.first) && open.len() <= self.first() + more
        });
    }

    /// Waits until it has so many descriptors at most.
    pub(crate) fn must_have_at_most(&self, most: usize) {
        eventually("no descriptor is left over", || open(self.id).len() <= most);
    }
}

/// The numbers of a process's open descriptors.
fn open(process: u32) -> BTreeSet<u64> {
    let entries = fs::read_dir(format!("/proc/{process}/fd")).expect("root may look at them");
    entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}
