//! What connections and responses tell the gate's owner. Posted by flows and jobs, read by the owner;
//! both are known by numbers that the uplink gives them.

use weir_sched::{BitRate, FlowSpec, Grant, ObjectId, Path, PolicyKind};

/// What has happened to a connection, a response, a grant or the link.
#[derive(Debug)]
pub(super) enum Event {
    /// The link has another rate from now on, or another policy.
    Change {
        policy: PolicyKind,
        rate: BitRate,
    },
    Open {
        flow: u64,
        worker: usize,
        spec: FlowSpec,
    },
    /// The kernel was asked of the path for another reason, and the policy wants to know.
    PathChanged {
        flow: u64,
        path: Path,
    },
    /// Its socket takes data again.
    FlowReady {
        flow: u64,
    },
    /// All its jobs have ended.
    Close {
        flow: u64,
    },
    Arrive {
        job: u64,
        flow: u64,
        size: Option<u64>,
        range_of: Option<ObjectId>,
        /// As it is now, if the kernel says.
        path: Option<Path>,
    },
    /// Its content is there again.
    JobReady {
        job: u64,
    },
    Probe {
        job: u64,
    },
    /// It was sent whole, or its client has gone.
    Ended {
        job: u64,
        complete: bool,
    },
    /// `bytes` of the grant were sent; the rest goes back.
    Used {
        grant: Grant,
        bytes: u64,
        blocked: Blocked,
    },
}

/// Why no more of a grant was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blocked {
    /// The job can go on.
    No,
    /// Its content is not there: it waits for a disk or a backend.
    Job,
    /// The socket of its connection is full.
    Flow,
}
