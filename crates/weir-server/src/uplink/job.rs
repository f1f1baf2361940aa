//! A response at the uplink's gate: it waits for grants and reports what was sent of them. Begun on
//! its connection's [`Flow`] and used by `send`, for each response that cannot be sent at once.

use std::future::poll_fn;
use std::sync::atomic::Ordering;

use weir_sched::{Grant, ObjectId};

use super::events::{Blocked, Event};
use super::flow::Flow;
use crate::metrics::Waiting;

/// After how many grants it is measured what was retransmitted.
const MEASURE_EVERY: u32 = 16;

/// A response that waits for the link. Dropped before its end, it is abandoned at the gate.
#[derive(Debug)]
pub(crate) struct Job<'a> {
    flow: &'a Flow,
    number: u64,
    /// By size.
    class: usize,
    /// It counts among those that wait for the link.
    counted: bool,
    /// What was reported last and has not ended.
    blocked: Blocked,
    complete: bool,
    grants_since_measure: u32,
}

impl Flow {
    /// A response of `size` bytes, head included (`None`: of unknown length), comes to the gate.
    /// `range_of`: for a range, what it is a range of.
    pub(crate) fn begin(&self, size: Option<u64>, range_of: Option<ObjectId>) -> Job<'_> {
        let number = self.uplink.next_number();
        self.registry.add_job(number);
        let mut job = Job {
            flow: self,
            number,
            class: Waiting::class(size),
            counted: false,
            blocked: Blocked::No,
            complete: false,
            grants_since_measure: 0,
        };
        job.count(true);
        // The window has opened, or closed, since the last response.
        let path = self.path();
        let flow = self.number.get();
        self.post(Event::Arrive { job: number, flow, size, range_of, path });
        job
    }
}

impl Job<'_> {
    /// Waits for the next grant.
    pub(crate) async fn granted(&mut self) -> Grant {
        let registry = &self.flow.registry;
        let grant = poll_fn(|context| registry.poll_grant(self.number, context)).await;
        self.grants_since_measure += 1;
        grant
    }

    /// Reports that `bytes` of a grant were sent, and why no more. One that is blocked gets no grants
    /// until [`Job::ready`].
    pub(crate) fn used(&mut self, grant: &Grant, bytes: u64, blocked: Blocked) {
        self.blocked = blocked;
        self.flow.settle_records(bytes);
        self.flow.post(Event::Used { grant: *grant, bytes, blocked });
        match blocked {
            Blocked::No => {}
            Blocked::Flow => self.measure(),
            // It does not wait for the link meanwhile.
            Blocked::Job => self.count(false),
        }
    }

    /// Measures what the connection sent beside its responses, every 16 grants: for a response that is
    /// never blocked.
    pub(crate) fn measure_if_due(&mut self) {
        if self.grants_since_measure >= MEASURE_EVERY {
            self.measure();
        }
    }

    /// What it was blocked by has ended: the socket takes data again, or there is something to send.
    pub(crate) fn ready(&mut self) {
        match std::mem::replace(&mut self.blocked, Blocked::No) {
            Blocked::No => {}
            Blocked::Flow => self.flow.post(Event::FlowReady { flow: self.flow.number.get() }),
            Blocked::Job => {
                self.count(true);
                self.flow.post(Event::JobReady { job: self.number });
            }
        }
    }

    /// The client has closed its side: a few bytes, sent ahead of its turn, will tell whether it has gone.
    pub(crate) fn probe(&self) {
        self.flow.post(Event::Probe { job: self.number });
    }

    /// The response has been sent (`complete`), or its client has gone.
    pub(crate) fn end(mut self, complete: bool) {
        self.measure();
        if !complete {
            self.flow.uplink.metrics.dead_jobs.inc();
        }
        self.complete = complete;
    }

    /// Charges what the connection sent beside its responses, and tells the gate of its path.
    fn measure(&mut self) {
        self.grants_since_measure = 0;
        let path = self.flow.charge_extra();
        let updates = &self.flow.uplink.path_updates;
        if let Some(path) = path.filter(|_| updates.load(Ordering::Relaxed)) {
            self.flow.post(Event::PathChanged { flow: self.flow.number.get(), path });
        }
    }

    fn count(&mut self, counts: bool) {
        match (std::mem::replace(&mut self.counted, counts), counts) {
            (false, true) => self.flow.uplink.begins_to_wait(self.class),
            (true, false) => self.flow.uplink.ends_waiting(self.class),
            _ => {}
        }
    }
}

impl Drop for Job<'_> {
    fn drop(&mut self) {
        self.count(false);
        // The connection's next response finds out for itself whether the socket is full.
        if self.blocked == Blocked::Flow {
            self.ready();
        }
        self.flow.post(Event::Ended { job: self.number, complete: self.complete });
        // Those that come later find no job of this number and go back, too.
        for grant in self.flow.registry.remove_job(self.number) {
            self.flow.post(Event::Used { grant, bytes: 0, blocked: Blocked::No });
        }
    }
}
