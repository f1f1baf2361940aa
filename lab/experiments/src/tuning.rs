//! Settings of the kernel that hold while the runner's cells run, and are put back afterwards. A kernel
//! that lacks one does without.

use std::fs;

/// A connection table of its own for each namespace made from now on: in the common one, counting
/// the connections of one cell walks those of all. Kernels before 6.1 lack it.
const TABLES: (&str, &str) = ("/proc/sys/net/ipv4/tcp_child_ehash_entries", "16384");

/// How many nanoseconds an idle virtual processor looks for work before it gives itself back. A
/// hypervisor that is busy takes its time to bring it back, tens of thousands of times a second:
/// 5 to 20 % of steal and links that are milliseconds late, on a machine four fifths idle.
const AWAKE: (&str, &str) = ("/sys/module/haltpoll/parameters/guest_halt_poll_ns", "2000000");

/// The settings, until it is dropped.
pub(crate) struct Tuning(Vec<(&'static str, String)>);

impl Tuning {
    /// Sets what can be set.
    pub(crate) fn set() -> Tuning {
        let changed = [TABLES, AWAKE].into_iter().filter_map(|(path, value)| {
            let before = fs::read_to_string(path).ok()?;
            fs::write(path, value).ok()?;
            Some((path, before))
        });
        Tuning(changed.collect())
    }
}

impl Drop for Tuning {
    fn drop(&mut self) {
        for (path, before) in &self.0 {
            let _ = fs::write(path, before.trim_end());
        }
    }
}
