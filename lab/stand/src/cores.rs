//! Who runs on which core: servers alone on the first, clients and the slow disk on the second. Callers
//! keep themselves on the one and start servers on the other.

use std::ffi::OsString;

use rustix::thread::{CpuSet, sched_setaffinity};
use weir_peers::{Error, Result};

/// The core of servers under test.
pub const SERVER: &str = "0";
/// The core of everything else.
pub const CLIENT: &str = "1";

/// Keep this thread, and those it starts, on the clients' core.
///
/// # Errors
///
/// When there is no second core.
pub fn keep_to_clients() -> Result<()> {
    let mut cores = CpuSet::new();
    cores.set(1);
    sched_setaffinity(None, &cores)
        .map_err(|e| Error(format!("cannot run on core {CLIENT}: {e}; two cores are needed")))
}

/// The words that start a program on a core, as one that ends when this program is killed.
pub fn on(core: &str) -> Vec<OsString> {
    ["taskset", "-c", core, "setpriv", "--pdeathsig", "TERM"].map(OsString::from).into()
}
