//! The task that owns the gate: it handles the events that connections have posted, asks the gate what
//! goes next, and hands out grants. It runs on the first worker.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::sleep;
use weir_sched::{FlowId, Gate, Grant, JobId, JobSpec, Next, Time};

use super::Uplink;
use super::events::{Blocked, Event};
use super::kernel::COUNT_EVERY;
use crate::sys::clock::{self, Alarm};

/// While nothing is sent, how often the virtual fair server is told that time passes.
const IDLE_TICK: Duration = Duration::from_millis(250);

/// A connection as the owner knows it.
#[derive(Debug)]
pub(super) struct OpenFlow {
    flow: FlowId,
    worker: usize,
}

/// A response that has not ended, and who gets its grants.
#[derive(Debug)]
pub(super) struct WaitingJob {
    job: JobId,
    worker: usize,
}

/// Runs the gate until the worker's runtime ends.
pub(crate) async fn run_gate(uplink: Arc<Uplink>, gate: Gate) -> std::io::Result<()> {
    let alarm = Alarm::new()?;
    let mut owner = Owner::new(uplink, gate);
    loop {
        // What has arrived is read before anything is sent: a request of unknown size must not
        // wait behind it (Crovella 1999, section 3.1).
        tokio::task::yield_now().await;
        owner.handle_events();
        let next = owner.grant();
        owner.report();
        owner.wait(next, &alarm).await?;
    }
}

/// The gate, and who is behind the numbers of its events.
#[derive(Debug)]
pub(super) struct Owner {
    uplink: Arc<Uplink>,
    pub(super) gate: Gate,
    /// By number.
    pub(super) flows: HashMap<u64, OpenFlow>,
    pub(super) jobs: HashMap<u64, WaitingJob>,
    events: Vec<Event>,
    /// Bytes of grants that were not reported as used yet.
    granted: u64,
    /// When the cap of kernel mode was adapted last.
    adapted: Time,
}

impl Owner {
    pub(super) fn new(uplink: Arc<Uplink>, gate: Gate) -> Owner {
        let (flows, jobs) = (HashMap::new(), HashMap::new());
        Owner { uplink, gate, flows, jobs, events: Vec::new(), granted: 0, adapted: Time::ZERO }
    }

    pub(super) fn handle_events(&mut self) {
        let mut events = std::mem::take(&mut self.events);
        self.uplink.inbox.take(&mut events);
        let now = clock::now();
        for event in events.drain(..) {
            self.handle(now, event);
        }
        self.events = events;
    }

    fn handle(&mut self, now: Time, event: Event) {
        match event {
            Event::Change { policy, rate } => {
                self.gate.replace(now, policy, rate);
                self.uplink.changed(self.gate.grant_size(), policy);
            }
            Event::Open { flow, worker, spec } => {
                self.flows.insert(flow, OpenFlow { flow: self.gate.open(spec), worker });
            }
            Event::PathChanged { flow, path } => {
                if let Some(open) = self.flows.get(&flow) {
                    self.gate.path_changed(open.flow, path);
                }
            }
            Event::FlowReady { flow } => {
                if let Some(open) = self.flows.get(&flow) {
                    self.gate.flow_ready(now, open.flow);
                }
            }
            Event::Close { flow } => {
                if let Some(open) = self.flows.remove(&flow) {
                    self.gate.close(now, open.flow);
                }
            }
            Event::Arrive { job: tag, flow, size, range_of, path } => {
                let Some(open) = self.flows.get(&flow) else { return };
                if let Some(path) = path {
                    self.gate.path_changed(open.flow, path);
                }
                let spec = JobSpec { flow: open.flow, tag, size, range_of };
                if let Some(job) = self.gate.arrive(now, spec) {
                    self.jobs.insert(tag, WaitingJob { job, worker: open.worker });
                }
            }
            Event::JobReady { job } => {
                if let Some(waiting) = self.jobs.get(&job) {
                    self.gate.job_ready(now, waiting.job);
                }
            }
            Event::Probe { job } => {
                if let Some(waiting) = self.jobs.get(&job) {
                    self.gate.probe(waiting.job);
                }
            }
            Event::Ended { job, complete } => match self.jobs.remove(&job) {
                Some(ended) if complete => self.gate.finished(now, ended.job),
                Some(ended) => self.gate.abandoned(now, ended.job),
                None => {}
            },
            Event::Used { grant, bytes, blocked } => self.receive(now, &grant, bytes, blocked),
        }
    }

    fn receive(&mut self, now: Time, grant: &Grant, bytes: u64, blocked: Blocked) {
        match blocked {
            Blocked::No => {}
            Blocked::Job => self.gate.job_blocked(now, grant.job),
            Blocked::Flow => self.gate.flow_blocked(now, grant.flow),
        }
        self.gate.used(now, grant, bytes);
        self.granted = self.granted.saturating_sub(grant.bytes);
        if let Some(in_kernel) = &self.uplink.in_kernel
            && let Some(waiting) = self.jobs.get(&grant.tag)
        {
            in_kernel.written(waiting.worker, bytes);
        }
    }

    /// Hands out grants while the link is free; returns what to wait for then.
    pub(super) fn grant(&mut self) -> Next {
        let now = clock::now();
        self.gate.tick(now);
        if self.uplink.bands.is_some()
            && let Some(in_kernel) = &self.uplink.in_kernel
        {
            if now.since(self.adapted) >= COUNT_EVERY {
                self.adapted = now;
                in_kernel.adapt();
            }
            self.gate.set_grant(in_kernel.grant());
        }
        loop {
            // The owner is woken by the next count of what is in the kernel.
            if self.uplink.is_full(self.granted) {
                return Next::Idle;
            }
            match self.gate.next(now) {
                Next::Grant(grant) => self.deliver(grant),
                other => return other,
            }
        }
    }

    fn deliver(&mut self, grant: Grant) {
        self.uplink.metrics.grants.inc();
        tracing::trace!(job = grant.tag, bytes = grant.bytes, "grant");
        let worker = self.jobs.get(&grant.tag).map(|waiting| waiting.worker);
        match worker.and_then(|worker| self.uplink.outboxes.get(worker)) {
            Some(outbox) => {
                self.granted += grant.bytes;
                outbox.post(grant);
            }
            None => self.gate.used(clock::now(), &grant, 0),
        }
    }

    /// Notes what responses won and lost, if the link's rate is known: in kernel mode it is not.
    fn report(&mut self) {
        for settled in self.gate.fairness_records() {
            if self.uplink.bands.is_none() {
                self.uplink.metrics.fairness.settled(&settled);
            }
        }
    }

    async fn wait(&self, next: Next, alarm: &Alarm) -> std::io::Result<()> {
        let filled = self.uplink.inbox.filled.notified();
        match next {
            Next::Wait(at) => tokio::select! {
                biased;
                () = filled => {}
                woken = alarm.sleep_until(at) => {
                    woken?;
                    let late = clock::now().since(at);
                    self.uplink.pacer.woken_late_by(late);
                    self.uplink.metrics.pacer_lateness.observe(late.as_secs_f64());
                }
            },
            Next::Receipt(at) => tokio::select! {
                biased;
                () = filled => {}
                woken = alarm.sleep_until(at) => woken?,
            },
            Next::Idle | Next::Grant(_) => {
                let settling = self.gate.virtual_jobs() > 0
                    && self.uplink.waiting.load(Ordering::Relaxed) == 0;
                tokio::select! {
                    biased;
                    () = filled => {}
                    () = sleep(IDLE_TICK), if settling => {}
                }
            }
        }
        Ok(())
    }
}
