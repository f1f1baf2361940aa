//! The task that owns the gate: it handles the events that connections have posted, asks the gate what
//! goes next, and hands out grants. It runs on the first worker.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::time::sleep;
use weir_sched::{FlowId, Gate, Grant, JobId, JobSpec, Next, Time};

use super::{Event, Uplink};
use crate::sys::clock::{self, Alarm};

/// While nothing is sent, how often the virtual fair server is told that time passes.
const IDLE_TICK: Duration = Duration::from_millis(250);

/// A connection as the owner knows it.
#[derive(Debug)]
struct Held {
    flow: FlowId,
    worker: usize,
    job: Option<JobId>,
}

/// Runs the gate until the worker's runtime ends.
pub(crate) async fn own(uplink: Arc<Uplink>, gate: Gate) -> std::io::Result<()> {
    let alarm = Alarm::new()?;
    let mut owner = Owner { held: HashMap::new(), events: Vec::new(), granted: 0, gate, uplink };
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

#[derive(Debug)]
struct Owner {
    uplink: Arc<Uplink>,
    gate: Gate,
    held: HashMap<u64, Held>,
    events: Vec<Event>,
    /// Bytes of grants that were not reported as used yet.
    granted: u64,
}

impl Owner {
    fn handle_events(&mut self) {
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
            Event::Open { worker, spec } => {
                let flow = self.gate.open(spec);
                self.held.insert(spec.tag, Held { flow, worker, job: None });
            }
            Event::Arrive { flow, size, range_of, path } => {
                if let Some(held) = self.held.get_mut(&flow) {
                    if let Some(path) = path {
                        self.gate.path_changed(held.flow, path);
                    }
                    let spec = JobSpec { flow: held.flow, size, range_of };
                    held.job = self.gate.arrive(now, spec);
                }
            }
            Event::PathChanged { flow, path } => {
                if let Some(held) = self.held.get(&flow) {
                    self.gate.path_changed(held.flow, path);
                }
            }
            Event::Ready { flow } => {
                if let Some(held) = self.held.get(&flow) {
                    self.gate.ready(now, held.flow);
                }
            }
            Event::Used { grant, bytes, blocked } => {
                if blocked {
                    self.gate.blocked(now, grant.flow);
                }
                self.gate.used(now, &grant, bytes);
                self.granted = self.granted.saturating_sub(grant.bytes);
                if let Some(in_kernel) = &self.uplink.in_kernel
                    && let Some(held) = self.held.get(&grant.tag)
                {
                    in_kernel.written(held.worker, bytes);
                }
            }
            Event::Ended { flow, complete } => {
                match self.held.get_mut(&flow).and_then(|held| held.job.take()) {
                    Some(job) if complete => self.gate.finished(now, job),
                    Some(job) => self.gate.abandoned(now, job),
                    None => {}
                }
            }
            Event::Probe { flow } => {
                if let Some(job) = self.held.get(&flow).and_then(|held| held.job) {
                    self.gate.probe(job);
                }
            }
            Event::Close { flow } => {
                if let Some(held) = self.held.remove(&flow) {
                    self.gate.close(now, held.flow);
                }
            }
        }
    }

    /// Hands out grants while the link is free; returns what to wait for then.
    fn grant(&mut self) -> Next {
        let now = clock::now();
        self.gate.tick(now);
        loop {
            // The owner is woken by the next count of what is in the kernel.
            if self.uplink.in_kernel.as_ref().is_some_and(|kernel| kernel.is_full(self.granted)) {
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
        tracing::trace!(flow = grant.tag, bytes = grant.bytes, "grant");
        match self.held.get(&grant.tag).and_then(|held| self.uplink.outboxes.get(held.worker)) {
            Some(outbox) => {
                self.granted += grant.bytes;
                outbox.post(grant);
            }
            None => self.gate.used(clock::now(), &grant, 0),
        }
    }

    fn report(&mut self) {
        for settled in self.gate.fairness_records() {
            self.uplink.metrics.fairness.settled(&settled);
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
