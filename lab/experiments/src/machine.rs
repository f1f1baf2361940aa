//! What a run needs of the machine before it starts: root, open files, and servers' place before ordinary
//! work. Stolen and idle processor time are in the load generator's report.

use rustix::process::{Resource, getrlimit};
use weir_peers::{Error, Result};

/// Connections of the busiest cell: an overloaded fair server has thousands.
const CONNECTIONS: u64 = 10_000;

/// What starts a server before all ordinary work on the machine, and after load generators
/// ([`weir_stand::BeforeOrdinary`]): one that starts hundreds of processes would else keep the generators
/// of other cells waiting for its slice of 100 ms to end.
pub(crate) const SERVER_PRIORITY: [&str; 3] = ["chrt", "--rr", "1"];
/// What starts an application before the servers in front of it: it needs little time, but at once.
pub(crate) const APPLICATION_PRIORITY: [&str; 3] = ["chrt", "--rr", "2"];

/// Namespaces and traffic control need root.
pub(crate) fn need_root() -> Result<()> {
    if rustix::process::geteuid().is_root() {
        return Ok(());
    }
    Err("an experiment makes network namespaces and a link of a certain rate, and needs root for \
         it: run it with sudo. Without root `weir-lab load` puts load on a server that you started \
         yourself, over loopback; only the slow link is missing then"
        .into())
}

/// Let this process, and the servers it starts, have as many connections open as the hard limit
/// allows; refuse to run with too few.
pub(crate) fn raise_open_files() -> Result<()> {
    weir_load::check_limits(CONNECTIONS, 1).map_err(|e| Error(e.to_string()))
}

/// Descriptors that this process may have; no limit is as many as there can be.
pub(crate) fn open_files() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}
