//! The generator's loop: one epoll loop in one thread starts what is due, reads what has come and
//! gives up what has lasted too long. [`crate::run()`] starts it; `attempts` and `traffic` are what it
//! does with single connections.

use std::collections::{BTreeMap, VecDeque};
use std::os::fd::OwnedFd;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::net::sockopt::set_socket_linger;
use rustix::time::Timespec;
use slab::Slab;
use weir_stats::{Outcome, Record};

use crate::connections::Connections;
use crate::delay_queue::DelayQueue;
use crate::demand::Demand;
use crate::error::Error;
use crate::http1::Template;
use crate::machine::ProcessorWatch;
use crate::plan::Plan;
use crate::ready::Ready;
use crate::report::{Live, Report};
use crate::schedule::{Due, Schedule};
use crate::socket::Sources;
use crate::task::Task;
use crate::timer::Timer;
use crate::times::Times;
use crate::tls::HandshakeCounts;

/// The event that stands for the timer; no connection has this key.
const TIMER: u64 = u64::MAX;
/// Time between the call and time zero, so that the first request is not late.
const LEAD: Duration = Duration::from_millis(5);
/// A start that is nearer than this, in seconds, is waited for without sleeping.
const SPIN: f64 = 200e-6;
/// Looks at [`Live::stop`] at least so often.
const NAP: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
const AT_ONCE: Timespec = Timespec { tv_sec: 0, tv_nsec: 0 };
/// Seconds for which the server may let us wait for its FIN.
const LINGER: f64 = 1.0;
const BUFFER: usize = 65_536;
const EVENTS: usize = 256;
/// Requests started before a connection has its turn: many that are due at once must not make the
/// others' last bytes look late.
const STARTS: usize = 32;

/// Seconds since the start of the run; negative before.
#[derive(Clone, Copy)]
pub(crate) struct Clock {
    origin: Instant,
}

impl Clock {
    pub(crate) fn now(self) -> f64 {
        let now = Instant::now();
        match now.checked_duration_since(self.origin) {
            Some(since) => since.as_secs_f64(),
            None => -(self.origin - now).as_secs_f64(),
        }
    }
}

/// Counts of what there is no record of.
#[derive(Default)]
pub(crate) struct Totals {
    started: u64,
    complete: u64,
    failed: u64,
    pub(crate) bytes: u64,
    pub(crate) socket_bytes: u64,
    pub(crate) head_bytes: u64,
    pub(crate) body_bytes: u64,
    pub(crate) statuses: BTreeMap<u16, u64>,
}

/// Slow readers: which clients they are and what they read.
#[derive(Clone, Copy)]
pub(crate) struct SlowReaders {
    share: f64,
    /// Bytes read at once.
    pub(crate) bytes: usize,
}

/// A run.
pub(crate) struct Engine<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) live: &'a Live,
    record: &'a mut dyn FnMut(Record),
    pub(crate) clock: Clock,
    pub(crate) epoll: OwnedFd,
    timer: Timer,
    pub(crate) schedule: Schedule,
    pub(crate) sources: Sources,
    pub(crate) template: Template,
    pub(crate) tasks: Slab<Task>,
    pub(crate) connections: Connections,
    /// When users give up: the task and the serial of its attempt.
    pub(crate) aborts: Option<DelayQueue<(usize, u64)>>,
    /// When connections that the server should close are closed by us.
    pub(crate) closing: DelayQueue<u64>,
    /// When slow readers read, by connection.
    pub(crate) slow: Option<(SlowReaders, DelayQueue<u64>)>,
    /// Tasks whose users try again.
    pub(crate) again: VecDeque<usize>,
    /// Connections that have more to read than one turn allows.
    pub(crate) unread: VecDeque<u64>,
    /// For what is received, and for the request that is sent.
    pub(crate) buffer: Vec<u8>,
    pub(crate) request: Vec<u8>,
    pub(crate) lags: Times,
    read_lags: Times,
    ready: Ready,
    /// Of a run over TLS.
    pub(crate) handshakes: Option<HandshakeCounts>,
    pub(crate) totals: Totals,
    pub(crate) serial: u64,
    last_end: f64,
    watch: ProcessorWatch,
}

impl<'a> Engine<'a> {
    /// Get ready on the thread that will run it.
    pub(crate) fn new(
        plan: &'a Plan,
        demand: Demand,
        live: &'a Live,
        record: &'a mut dyn FnMut(Record),
    ) -> Result<Engine<'a>, Error> {
        let sources = Sources::new(plan)?;
        let watch = ProcessorWatch::start()?;
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(loop_failed)?;
        let timer = Timer::new().map_err(loop_failed)?;
        let flags = EventFlags::IN | EventFlags::ET;
        epoll::add(&epoll, &timer, EventData::new_u64(TIMER), flags).map_err(loop_failed)?;
        let clock = Clock { origin: Instant::now() + LEAD };
        Ok(Engine {
            plan,
            live,
            record,
            clock,
            epoll,
            timer,
            schedule: Schedule::new(demand, plan.duration),
            sources,
            template: Template::new(&plan.host, &plan.headers),
            tasks: Slab::new(),
            connections: Connections::default(),
            aborts: plan.abort_after.map(|after| DelayQueue::new(after.max(0.0))),
            closing: DelayQueue::new(LINGER),
            slow: plan.slow_readers.map(|(share, rate)| slow(share, rate)),
            again: VecDeque::new(),
            unread: VecDeque::new(),
            buffer: vec![0; BUFFER],
            request: Vec::with_capacity(1024),
            lags: Times::new()?,
            read_lags: Times::new()?,
            ready: Ready::new(clock.now()),
            handshakes: plan.tls.as_ref().map(|_| HandshakeCounts::new()).transpose()?,
            totals: Totals::default(),
            serial: 0,
            last_end: 0.0,
            watch,
        })
    }

    /// Send everything.
    pub(crate) fn run(mut self) -> Result<Report, Error> {
        let mut events: Vec<Event> = Vec::with_capacity(EVENTS);
        loop {
            let now = self.clock.now();
            self.start_due(now);
            self.start_again();
            self.read_on();
            if self.is_over(now) {
                return self.report();
            }
            let mut now = self.wait(&mut events).map_err(loop_failed)?;
            for event in &events {
                match event.data.u64() {
                    TIMER => self.timer.fired(),
                    key => {
                        now = self.on_event(key, event.flags, Some(self.ready.since()), now);
                        now = self.start_due(now);
                    }
                }
            }
            // After the events, and only until all of them were in hand: nobody gives up whose response may
            // be there.
            self.expire(self.ready.none_left());
        }
    }

    /// Start the requests that are due, `now` being the time; the time afterwards.
    pub(crate) fn start_due(&mut self, now: f64) -> f64 {
        let mut now = now;
        for _ in 0..STARTS {
            let Some(due) = self.schedule.take(now) else { break };
            self.start(due);
            now = self.clock.now();
        }
        now
    }

    fn start(&mut self, due: Due) {
        self.totals.started += 1;
        self.live.started.store(self.totals.started, Relaxed);
        let task = self.tasks.insert(Task::new(due, self.plan.retries));
        self.attempt(task, false);
    }

    fn start_again(&mut self) {
        // Those who fail at once are due in the next turn.
        for _ in 0..self.again.len() {
            if let Some(task) = self.again.pop_front() {
                self.attempt(task, true);
            }
        }
    }

    /// Do what a time was set for.
    fn expire(&mut self, now: f64) {
        while let Some((task, serial)) = self.aborts.as_mut().and_then(|aborts| aborts.take(now)) {
            self.abort(task, serial);
        }
        if let Some(aborts) = &mut self.aborts {
            let tasks = &self.tasks;
            let counts = |&(task, serial): &(usize, u64)| {
                tasks.get(task).is_some_and(|task| task.serial == serial)
            };
            aborts.tidy(tasks.len(), counts);
        }
        while let Some(key) = self.closing.take(now) {
            self.close(key);
        }
        let connections = &self.connections;
        self.closing.tidy(connections.open(), |key| connections.find(*key).is_some());
        while let Some(key) = self.slow.as_mut().and_then(|(_, ticks)| ticks.take(now)) {
            self.read_slowly(key);
        }
    }

    /// Whether the run has come to its end; what is under way then is unfinished.
    fn is_over(&mut self, now: f64) -> bool {
        self.schedule.cut(now);
        if self.live.stop.load(Relaxed) {
            self.schedule.stop();
        } else if !self.schedule.is_exhausted() {
            return false;
        } else if now < self.schedule.last() + self.plan.drain {
            return self.tasks.is_empty();
        }
        self.again.clear();
        if !self.tasks.is_empty() {
            // Waiting in vain is no part of the duration, sending is.
            let stopped = self.live.stop.load(Relaxed);
            let end = if stopped { now } else { self.schedule.last() };
            self.last_end = self.last_end.max(end);
        }
        let open: Vec<usize> = self.tasks.iter().map(|(index, _)| index).collect();
        for task in open {
            self.reset_on_close(task);
            let body = self.close_connection_of(task);
            self.finish(task, Outcome::Unfinished, body);
        }
        true
    }

    /// Have the connection of a task end at once when it is closed: otherwise the kernel goes on sending
    /// its request for a minute and more, to a server that has no room for it, and that server works for
    /// the run that is over.
    fn reset_on_close(&mut self, task: usize) {
        let connection = self.tasks.get(task).and_then(|task| task.connection);
        let Some(connection) = connection.and_then(|index| self.connections.get(index)) else {
            return;
        };
        // A socket that has failed is closed at once anyway.
        let _ = set_socket_linger(connection.stream.socket(), Some(Duration::ZERO));
    }

    /// Wait until there is something to do; the time then.
    fn wait(&mut self, events: &mut Vec<Event>) -> rustix::io::Result<f64> {
        let now = self.clock.now();
        let spin = if self.plan.spin { SPIN } else { 0.0 };
        let end = match self.schedule.is_exhausted() {
            true => self.schedule.last() + self.plan.drain,
            false => self.schedule.until(),
        };
        let next = [
            self.schedule.next_at().map(|at| at - spin),
            self.aborts.as_ref().and_then(DelayQueue::next_at),
            self.slow.as_ref().and_then(|(_, ticks)| ticks.next_at()),
            self.closing.next_at(),
        ];
        let next = next.into_iter().flatten().fold(end, f64::min);
        let goes_on = next <= now || !self.again.is_empty() || !self.unread.is_empty();
        // What is there at once may have been there for long; what ends a sleep was not.
        self.poll(events, &AT_ONCE)?;
        let sleeps = events.is_empty() && !goes_on;
        if sleeps {
            self.timer.set(next, self.clock.now())?;
            self.poll(events, &NAP)?;
        }
        let woken = self.clock.now();
        self.ready.waited(now, woken, sleeps, events.len() < EVENTS);
        Ok(woken)
    }

    fn poll(&self, events: &mut Vec<Event>, timeout: &Timespec) -> rustix::io::Result<()> {
        events.clear();
        let room = rustix::buffer::spare_capacity(events);
        match epoll::wait(&self.epoll, room, Some(timeout)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(e) => Err(e),
        }
    }

    /// A request has ended, after `body` bytes.
    pub(crate) fn finish(&mut self, task: usize, outcome: Outcome, body: u64) {
        let Some(task) = self.tasks.try_remove(task) else { return };
        let now = self.clock.now();
        if outcome != Outcome::Unfinished {
            self.last_end = now;
        }
        if outcome == Outcome::Ok {
            self.totals.complete += 1;
            self.read_lags.add(task.read_lag);
            self.live.complete.store(self.totals.complete, Relaxed);
        } else {
            self.totals.failed += 1;
            self.live.failed.store(self.totals.failed, Relaxed);
        }
        (self.record)(task.record(outcome, body, now));
        self.schedule.ended(task.user, now);
    }

    /// Tell how many connections there are.
    pub(crate) fn count_open(&self) {
        self.live.open.store(self.connections.open() as u64, Relaxed);
    }

    /// Whether a client reads slowly: a fixed share of the clients, the same in every run.
    pub(crate) fn is_slow(&self, client: u32) -> bool {
        let Some((slow, _)) = &self.slow else { return false };
        // Fibonacci hashing (Knuth, The Art of Computer Programming 3, section 6.4).
        let hash = u64::from(client).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        ((hash >> 11) as f64 / (1_u64 << 53) as f64) < slow.share
    }

    fn report(mut self) -> Result<Report, Error> {
        let (most_open, connections) = (self.connections.most(), self.connections.made());
        // They may have all the descriptors, and reading the machine's counters takes one.
        self.connections = Connections::default();
        let shares = self.watch.shares()?;
        self.live.open.store(0, Relaxed);
        Ok(Report {
            duration: self.last_end,
            lag: self.lags.percentiles(),
            read_lag: self.read_lags.percentiles(),
            most_open,
            connections,
            statuses: self.totals.statuses,
            head_bytes: self.totals.head_bytes,
            body_bytes: self.totals.body_bytes,
            socket_bytes: self.totals.socket_bytes,
            handshakes: self.handshakes.as_ref().map(HandshakeCounts::report),
            steal: shares.steal,
            idle: shares.idle,
            processor_seconds: shares.processor,
        })
    }
}

/// How slow readers read `rate` bytes per second: ten times a second, or more often where the
/// small buffer would fill in between.
fn slow(share: f64, rate: u64) -> (SlowReaders, DelayQueue<u64>) {
    let rate = rate.max(1);
    let bytes = (rate / 10).clamp(1, 1024);
    (SlowReaders { share, bytes: bytes as usize }, DelayQueue::new(bytes as f64 / rate as f64))
}

fn loop_failed(error: Errno) -> Error {
    Error(format!("the load generator's event loop failed: {error}"))
}
