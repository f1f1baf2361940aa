//! The connections and the waiting responses of one worker, by number: where the uplink finds the
//! socket of a connection, and where a grant finds the response that it names. Flows and jobs enter
//! themselves; `local` hands over grants.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use tokio::sync::Notify;
use weir_sched::Grant;

use crate::transport::Transport;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Registry {
    flows: RefCell<HashMap<u64, Rc<Transport>>>,
    /// In kernel mode all connections: those that have a response at the gate are among `flows`, too.
    banded: RefCell<HashMap<u64, Rc<Transport>>>,
    /// Told of each connection that comes.
    pub(super) opened: Notify,
    jobs: RefCell<HashMap<u64, WaitingJob>>,
}

/// The grants that wait for a response's task, and how that is woken.
#[derive(Debug, Default)]
struct WaitingJob {
    grants: VecDeque<Grant>,
    waker: Option<Waker>,
}

impl Registry {
    pub(super) fn add_flow(&self, flow: u64, socket: Rc<Transport>) {
        self.flows.borrow_mut().insert(flow, socket);
        self.opened.notify_one();
    }

    /// The connection is closed.
    pub(super) fn remove_flow(&self, flow: u64) {
        self.flows.borrow_mut().remove(&flow);
    }

    /// A connection goes through the kernel's bands.
    pub(super) fn add_banded(&self, connection: u64, socket: Rc<Transport>) {
        self.banded.borrow_mut().insert(connection, socket);
    }

    /// It is closed.
    pub(super) fn remove_banded(&self, connection: u64) {
        self.banded.borrow_mut().remove(&connection);
    }

    /// Bytes of all connections that their clients have not acknowledged.
    pub(super) fn bytes_in_flight(&self) -> u64 {
        let (flows, banded) = (self.flows.borrow(), self.banded.borrow());
        let connections = if banded.is_empty() { flows } else { banded };
        connections.values().filter_map(|socket| socket.unacknowledged().ok()).sum()
    }

    /// Bytes of the connections at the gate that wait for a device of this host: their packets in its queue,
    /// and what TCP does not send though the window would take it, because those are enough
    /// (net.ipv4.tcp_limit_output_bytes). What the window holds back does not wait for a device.
    pub(super) fn bytes_queued_here(&self) -> u64 {
        let queued = |socket: &Rc<Transport>| match socket.queued_here() {
            Ok(bytes) if bytes > 0 => {
                bytes + socket.tcp_info().map_or(0, |info| info.unsent_in_window())
            }
            _ => 0,
        };
        self.flows.borrow().values().map(queued).sum()
    }

    /// How many connections there are at the gate.
    pub(super) fn flows(&self) -> usize {
        self.flows.borrow().len()
    }

    pub(super) fn add_job(&self, job: u64) {
        self.jobs.borrow_mut().insert(job, WaitingJob::default());
    }

    /// The job has ended. Returns the grants that it did not use.
    pub(super) fn remove_job(&self, job: u64) -> VecDeque<Grant> {
        self.jobs.borrow_mut().remove(&job).unwrap_or_default().grants
    }

    /// Hands a grant to the job that it names; false if that has ended.
    pub(super) fn hand_over(&self, grant: &Grant) -> bool {
        let mut jobs = self.jobs.borrow_mut();
        let Some(job) = jobs.get_mut(&grant.tag) else { return false };
        job.grants.push_back(*grant);
        if let Some(waker) = job.waker.take() {
            waker.wake();
        }
        true
    }

    /// The next grant of the job; if there is none, its task is woken when there is one.
    pub(super) fn poll_grant(&self, job: u64, context: &Context<'_>) -> Poll<Grant> {
        let mut jobs = self.jobs.borrow_mut();
        let Some(job) = jobs.get_mut(&job) else { return Poll::Pending };
        if let Some(grant) = job.grants.pop_front() {
            return Poll::Ready(grant);
        }
        job.waker = Some(context.waker().clone());
        Poll::Pending
    }
}
