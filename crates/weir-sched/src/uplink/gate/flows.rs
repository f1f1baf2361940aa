//! Connections and their responses: which are here, which are blocked, which have gone. What the
//! gate's owner reports of clients and of their responses comes in here.

use super::flow_jobs::FlowJobs;
use super::{Gate, UNKNOWN};
use crate::policy::Path;
use crate::time::Time;
use crate::uplink::ids::{ClientId, EntryId, FlowId, JobId, ObjectId};
use crate::uplink::wire::Packets;

/// A connection that arrives.
#[derive(Clone, Copy, Debug)]
pub struct FlowSpec {
    /// Whose it is.
    pub client: ClientId,
    /// How its stream is cut into packets.
    pub packets: Packets,
    /// What is known of the path to the client.
    pub path: Path,
}

/// A response that arrives.
#[derive(Clone, Copy, Debug)]
pub struct JobSpec {
    /// Its connection. Only the first of a connection's jobs is sent; the others wait behind it.
    pub flow: FlowId,
    /// The owner's own number for the job; its grants carry it.
    pub tag: u64,
    /// Bytes of its stream, head included; `None` if that is not known yet. Zero counts as one.
    pub size: Option<u64>,
    /// For a range: what it is a range of. Ranges of one object that one client asks at the same
    /// time count as one job.
    pub range_of: Option<ObjectId>,
}

#[derive(Debug)]
pub(super) struct Flow {
    pub(super) number: u64,
    pub(super) client: ClientId,
    pub(super) packets: Packets,
    pub(super) path: Path,
    /// The entry of its last response, with its number.
    pub(super) last: Option<(EntryId, u64)>,
    /// Its socket takes data.
    ready: bool,
    jobs: FlowJobs,
}

#[derive(Debug)]
pub(super) struct Job {
    pub(super) number: u64,
    pub(super) tag: u64,
    pub(super) flow: usize,
    pub(super) entry: EntryId,
    /// Bytes neither sent nor granted.
    pub(super) remaining: u64,
    pub(super) attained: u64,
    pub(super) known: bool,
    /// Grants that are out.
    pub(super) leases: u32,
    pub(super) last_grant: Time,
    /// Its content is there.
    ready: bool,
    /// It can be sent, and its entry has been told.
    pub(super) queued: bool,
    /// It could be sent but for a grant that is out.
    pub(super) pending: bool,
}

impl Gate {
    /// A connection arrives. It can take data until [`Gate::flow_blocked`] says otherwise.
    pub fn open(&mut self, spec: FlowSpec) -> FlowId {
        let number = self.issue();
        let largest = spec.packets.wire(self.whole_segments(spec.packets.mss));
        self.largest_grant = self.largest_grant.max(largest);
        let flow = Flow {
            number,
            client: spec.client,
            packets: spec.packets,
            path: spec.path,
            last: None,
            ready: true,
            jobs: FlowJobs::default(),
        };
        FlowId { place: self.flows.insert(flow), number }
    }

    /// The path to the client is as `path` says now: round-trip time, window, window credit. The policy
    /// is told of it for the responses of the connection that are here; the virtual fair server keeps
    /// for each the path that it arrived with.
    pub fn path_changed(&mut self, flow: FlowId, path: Path) {
        if self.flow(flow).is_none_or(|flow| flow.path == path) {
            return;
        }
        self.flows[flow.place].path = path;
        for place in self.flows[flow.place].jobs.iter() {
            self.policy.path_changed(self.jobs[place].entry, path);
        }
    }

    /// A response arrives. Its content is there until [`Gate::job_blocked`] says otherwise. `None` if
    /// its connection has been closed.
    pub fn arrive(&mut self, now: Time, spec: JobSpec) -> Option<JobId> {
        let client = self.flow(spec.flow)?.client;
        self.pass_time(now);
        self.idle_since = None;
        let number = self.issue();
        let size = spec.size.unwrap_or(UNKNOWN).max(1);
        let work = self.flows[spec.flow.place].packets.wire(size);
        let group = spec
            .range_of
            .filter(|_| self.config.policy.needs().joined_ranges)
            .map(|object| (client, object));
        let entry = match group.and_then(|group| self.entries.group(group)) {
            Some(entry) => {
                self.grow_entry(entry, size, work);
                self.entries.get_mut(entry).members += 1;
                entry
            }
            None => self.enter(now, number, &spec, size, group),
        };
        let job = Job {
            number,
            tag: spec.tag,
            flow: spec.flow.place,
            entry,
            remaining: size,
            attained: 0,
            known: spec.size.is_some(),
            leases: 0,
            last_grant: now,
            ready: true,
            queued: false,
            pending: false,
        };
        let last = (entry, self.entries.get_mut(entry).number);
        self.flows[spec.flow.place].last = Some(last);
        let place = self.jobs.insert(job);
        self.relief.watch(now, place, number, &self.jobs);
        self.flows[spec.flow.place].jobs.push(place);
        self.refresh(place);
        Some(JobId { place, number })
    }

    /// The connection can take data.
    pub fn flow_ready(&mut self, now: Time, flow: FlowId) {
        self.set_flow_ready(now, flow, true);
    }

    /// The connection cannot take data: its window or buffer is full.
    pub fn flow_blocked(&mut self, now: Time, flow: FlowId) {
        self.set_flow_ready(now, flow, false);
    }

    /// The content of the response is there.
    pub fn job_ready(&mut self, now: Time, job: JobId) {
        self.set_job_ready(now, job, true);
    }

    /// The content of the response is not there: it waits for a disk or a backend.
    pub fn job_blocked(&mut self, now: Time, job: JobId) {
        self.set_job_ready(now, job, false);
    }

    /// The client half closed: it may have gone. It gets a few bytes ahead of its turn, which one
    /// that has gone answers with a reset.
    pub fn probe(&mut self, job: JobId) {
        if self.job_place(job).is_some() {
            self.probes.push_back(job);
        }
    }

    /// The response has been sent whole. The gate knows it from the receipts, unless its length was
    /// unknown or one of them came after the end of its lease.
    pub fn finished(&mut self, now: Time, id: JobId) {
        if let Some(place) = self.job_place(id) {
            self.leave(now, place, true);
        }
    }

    /// The job's client has gone: nothing more is sent for it, and its place is free.
    pub fn abandoned(&mut self, now: Time, id: JobId) {
        if let Some(place) = self.job_place(id) {
            self.leave(now, place, false);
        }
    }

    /// The connection is closed; its jobs go with it. Returns how many there were.
    pub fn close(&mut self, now: Time, id: FlowId) -> usize {
        if self.flow(id).is_none() {
            return 0;
        }
        let mut jobs = 0;
        while let Some(head) = self.flows[id.place].jobs.head() {
            self.leave(now, head, false);
            jobs += 1;
        }
        self.flows.remove(id.place);
        jobs
    }

    pub(super) fn flow(&self, id: FlowId) -> Option<&Flow> {
        self.flows.get(id.place).filter(|flow| flow.number == id.number)
    }

    pub(super) fn job_place(&self, id: JobId) -> Option<usize> {
        let job = self.jobs.get(id.place)?;
        (job.number == id.number).then_some(id.place)
    }

    fn set_flow_ready(&mut self, now: Time, id: FlowId, ready: bool) {
        if self.flow(id).is_none_or(|flow| flow.ready == ready) {
            return;
        }
        // What the link did until now it did with the client as it was.
        self.pass_time(now);
        let flow = &mut self.flows[id.place];
        flow.ready = ready;
        if let Some(head) = flow.jobs.head()
            && self.jobs[head].ready
        {
            self.readiness_changed(now, head, ready);
        }
    }

    fn set_job_ready(&mut self, now: Time, id: JobId, ready: bool) {
        let Some(place) = self.job_place(id).filter(|&place| self.jobs[place].ready != ready)
        else {
            return;
        };
        self.pass_time(now);
        let job = &mut self.jobs[place];
        job.ready = ready;
        let flow = &self.flows[job.flow];
        if flow.ready && flow.jobs.head() == Some(place) {
            self.readiness_changed(now, place, ready);
        }
    }

    /// The job whose turn it is on its connection can be sent again, or not any more: virtual fair
    /// sharing treats one whose content is not there like one whose client takes no data.
    fn readiness_changed(&mut self, now: Time, place: usize, ready: bool) {
        self.refresh(place);
        let id = self.jobs[place].entry;
        if ready {
            self.client_reads(id);
        } else if !self.entries.get_mut(id).ready() && self.jobs[place].remaining > 0 {
            self.client_blocks(now, id);
        }
    }

    /// Tells the job's entry whether the job can be sent, and the policy whether the entry can.
    pub(super) fn refresh(&mut self, place: usize) {
        let job = &mut self.jobs[place];
        let flow = &self.flows[job.flow];
        let has_turn = flow.jobs.head() == Some(place);
        let sendable = flow.ready && job.ready && has_turn && job.remaining > 0;
        let (queued, pending) = (sendable && job.leases == 0, sendable && job.leases > 0);
        let (was_queued, was_pending) = (job.queued, job.pending);
        (job.queued, job.pending) = (queued, pending);
        let id = job.entry;
        let entry = self.entries.get_mut(id);
        let was_ready = entry.ready();
        if queued && !was_queued {
            entry.waiting.push(place);
        } else if was_queued && !queued {
            entry.waiting.remove(place);
        }
        entry.pending = entry.pending + u32::from(pending) - u32::from(was_pending);
        match (was_ready, entry.ready()) {
            (false, true) => self.policy.ready(id),
            (true, false) => self.policy.blocked(id),
            _ => {}
        }
    }

    /// Removes a job: it was sent whole, or its client has gone.
    pub(super) fn leave(&mut self, now: Time, place: usize, complete: bool) {
        let left = std::mem::take(&mut self.jobs[place].remaining);
        self.refresh(place);
        let job = self.jobs.remove(place);
        for (_, lease) in self.leases.iter_mut().filter(|_| job.leases > 0) {
            if lease.job == Some(place) {
                lease.job = None;
            }
        }
        let flow = &mut self.flows[job.flow];
        let next = flow.jobs.remove(place);
        let work = flow.packets.wire(left);
        if work > 0 {
            self.shorten_entry(job.entry, work);
        }
        let entry = self.entries.get_mut(job.entry);
        entry.members -= 1;
        entry.complete &= complete;
        if entry.members == 0 {
            self.depart(now, job.entry);
        }
        if let Some(next) = next {
            self.refresh(next);
        }
        if self.jobs.is_empty() {
            self.idle_since = Some(now.max(self.link_queue.free_at()));
        }
        self.bound_the_departed();
    }
}
