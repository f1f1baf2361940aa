//! The client: one thread that makes the requests of a plan over a pool of
//! connections and checks every response. Knows no server; loopback only.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rand::SeedableRng;
use rand::rngs::SmallRng;
use rustix::event::epoll::{self, EventData, EventFlags};
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use slab::Slab;

use crate::arrivals::{self, Load, Plan, Reuse};
use crate::connection::{Connection, Progress};
use crate::outcome::{Outcome, UNANSWERED};
use crate::set::Target;
use crate::{Result, interrupt};
/// Connections from one source address, below the number of ephemeral ports.
const PER_SOURCE: usize = 20_000;
const TIMER: u64 = u64::MAX;

pub(crate) struct Client<'a> {
    server: SocketAddrV4,
    targets: &'a [Target],
    epoll: OwnedFd,
    /// epoll's own timeout is in whole milliseconds; arrivals are finer.
    timer: OwnedFd,
    pool: Slab<Member>,
    idle: VecDeque<usize>,
    scratch: Vec<u8>,
    random: SmallRng,
}

struct Member {
    connection: Connection,
    work: Option<Work>,
}

#[derive(Clone, Copy)]
struct Work {
    target: usize,
    intended: Instant,
}

/// The run under way.
struct Run<'p> {
    plan: Plan,
    next: &'p mut dyn FnMut(&mut SmallRng) -> usize,
    outcome: Outcome,
    end: Instant,
    started: u64,
    in_flight: usize,
    /// Requests that wait for a connection.
    waiting: VecDeque<Work>,
}

impl Run<'_> {
    fn begin(&mut self, work: Work) {
        self.started += 1;
        self.waiting.push_back(work);
    }
}

impl<'a> Client<'a> {
    pub(crate) fn new(server: SocketAddrV4, targets: &'a [Target], seed: u64) -> Result<Self> {
        let failed = |e: Errno| format!("cannot make the client's timer and epoll: {e}");
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC).map_err(failed)?;
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags).map_err(failed)?;
        let edges = EventFlags::IN | EventFlags::ET;
        epoll::add(&epoll, &timer, EventData::new_u64(TIMER), edges).map_err(failed)?;
        Ok(Client {
            server,
            targets,
            epoll,
            timer,
            pool: Slab::new(),
            idle: VecDeque::new(),
            scratch: vec![0; 1 << 20],
            random: SmallRng::seed_from_u64(seed),
        })
    }

    /// Connections open now.
    pub(crate) fn connections(&self) -> usize {
        self.pool.len()
    }

    /// Carry out a plan; `next` chooses the target of each request.
    pub(crate) fn run(
        &mut self,
        plan: Plan,
        next: &mut dyn FnMut(&mut SmallRng) -> usize,
    ) -> Result<Outcome> {
        let start = Instant::now();
        let (end, outcome) = (start + plan.time, Outcome::new()?);
        let waiting = VecDeque::new();
        let mut run = Run { plan, next, outcome, end, started: 0, in_flight: 0, waiting };
        let mut arrival = start;
        if let Load::Closed { in_flight } = plan.load {
            (0..in_flight).for_each(|_| self.another(&mut run));
            self.assign(&mut run);
        }
        let mut events = Vec::new();
        let mut stopped = None;
        loop {
            interrupt::check()?;
            let now = Instant::now();
            let mut wake = end.max(now + Duration::from_millis(10));
            if let Load::Open(rate) = plan.load {
                while arrival <= now && arrival < end {
                    run.outcome.lag.add(now - arrival);
                    let target = (run.next)(&mut self.random);
                    run.begin(Work { target, intended: arrival });
                    arrival = arrivals::after(arrival, rate, &mut self.random);
                }
                self.assign(&mut run);
                wake = wake.min(arrival.max(now + Duration::from_micros(1)));
            }
            let over = now >= end || run.started >= plan.requests;
            if over {
                let stop = *stopped.get_or_insert(now);
                if run.in_flight + run.waiting.len() == 0 || now >= stop + plan.drain {
                    break;
                }
            }
            self.wait(wake.saturating_duration_since(now), &mut events)?;
            for event in events.drain(..) {
                self.event(&mut run, event);
            }
        }
        let stop = stopped.map_or(end, |stop| stop.min(end));
        run.outcome.seconds = (stop - start).as_secs_f64();
        self.abandon(&mut run);
        Ok(run.outcome)
    }

    fn wait(&mut self, time: Duration, keys: &mut Vec<u64>) -> Result<()> {
        let failed = |e: Errno| format!("the client cannot wait for its connections: {e}");
        let spec = |time: Duration| Timespec {
            tv_sec: time.as_secs() as i64,
            tv_nsec: i64::from(time.subsec_nanos()),
        };
        // So that a signal is noticed.
        let most = Duration::from_millis(100);
        if time < most {
            let timer = Itimerspec { it_interval: spec(Duration::ZERO), it_value: spec(time) };
            timerfd_settime(&self.timer, TimerfdTimerFlags::empty(), &timer).map_err(failed)?;
        }
        let mut events = Vec::with_capacity(256);
        let most = spec(most);
        let spare = rustix::buffer::spare_capacity(&mut events);
        match epoll::wait(&self.epoll, spare, Some(&most)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(failed(error)),
        }
        keys.extend(events.iter().map(|event| event.data.u64()).filter(|&key| key != TIMER));
        Ok(())
    }

    /// Closed loop: the next request, if there is to be one. It only queues: a
    /// server that refuses at once would otherwise make this recurse.
    fn another(&mut self, run: &mut Run<'_>) {
        let now = Instant::now();
        if now < run.end && run.started < run.plan.requests {
            let target = (run.next)(&mut self.random);
            run.begin(Work { target, intended: now });
        }
    }

    /// Give waiting requests connections while there are some.
    fn assign(&mut self, run: &mut Run<'_>) {
        while let Some(&work) = run.waiting.front() {
            let idle = match run.plan.reuse {
                Reuse::Newest => self.idle.pop_back(),
                Reuse::Oldest => self.idle.pop_front(),
                Reuse::Never | Reuse::Close => None,
            };
            let key = match idle {
                Some(key) => key,
                None if self.pool.len() < run.plan.connections => match self.open() {
                    Ok(key) => key,
                    Err(why) => {
                        run.waiting.pop_front();
                        run.outcome.fail(why);
                        continue;
                    }
                },
                None => return,
            };
            run.waiting.pop_front();
            run.in_flight += 1;
            self.pool[key].work = Some(work);
            self.advance(run, key);
        }
    }

    fn open(&mut self) -> std::result::Result<usize, &'static str> {
        let source = match self.pool.len() / PER_SOURCE {
            0 => None,
            nth => Some(Ipv4Addr::new(127, 0, 0, 1 + nth as u8)),
        };
        let connection = Connection::open(self.server, source).map_err(|_| "cannot connect")?;
        let key = self.pool.insert(Member { connection, work: None });
        let flags = EventFlags::IN | EventFlags::OUT | EventFlags::ET;
        let data = EventData::new_u64(key as u64);
        epoll::add(&self.epoll, &self.pool[key].connection, data, flags).map_err(|_| {
            self.pool.remove(key);
            "cannot watch the connection"
        })?;
        Ok(key)
    }

    fn event(&mut self, run: &mut Run<'_>, key: u64) {
        let key = key as usize;
        let Some(member) = self.pool.get(key) else {
            return; // Closed while an event of its own was still in the list.
        };
        if member.work.is_some() {
            self.advance(run, key);
            self.assign(run);
        } else if !member.connection.quiet() {
            // The server closed it, as it may.
            self.pool.remove(key);
            self.idle.retain(|&other| other != key);
        }
    }

    /// Send or receive what can be, and finish the request if that ends it.
    fn advance(&mut self, run: &mut Run<'_>, key: usize) {
        let member = &mut self.pool[key];
        let Some(work) = member.work else {
            return;
        };
        let target = &self.targets[work.target];
        let close = run.plan.reuse == Reuse::Close;
        let progress = if !member.connection.sent() {
            let head = request(target, self.server, close);
            member.connection.send(head.as_bytes())
        } else {
            match member.connection.receive(target, &mut self.scratch) {
                Progress::Done { keeps } => Progress::Done { keeps: keeps && !close },
                other => other,
            }
        };
        let stays = match progress {
            Progress::Waiting => return,
            Progress::Done { keeps } => {
                let now = Instant::now();
                let time = now - work.intended;
                run.outcome.requests += 1;
                if now <= run.end {
                    run.outcome.in_time += 1;
                    run.outcome.bytes_in_time += target.length;
                }
                run.outcome.all.add(time);
                if target.hot {
                    run.outcome.hot.add(time);
                }
                keeps
            }
            Progress::Failed(why) => {
                run.outcome.fail(why);
                false
            }
        };
        run.in_flight -= 1;
        if stays {
            member.work = None;
            self.idle.push_back(key);
        } else {
            self.pool.remove(key);
        }
        if let Load::Closed { .. } = run.plan.load {
            self.another(run);
        }
    }

    /// Count what never came, with the time it has taken so far.
    fn abandon(&mut self, run: &mut Run<'_>) {
        let now = Instant::now();
        let lost: Vec<usize> =
            self.pool.iter().filter(|(_, m)| m.work.is_some()).map(|(key, _)| key).collect();
        let held = lost.into_iter().filter_map(|key| self.pool.remove(key).work);
        for work in held.chain(run.waiting.drain(..)) {
            run.outcome.fail(UNANSWERED);
            run.outcome.all.add(now - work.intended);
            if self.targets[work.target].hot {
                run.outcome.hot.add(now - work.intended);
            }
        }
    }
}

fn request(target: &Target, server: SocketAddrV4, close: bool) -> String {
    let end = if close { "Connection: close\r\n\r\n" } else { "\r\n" };
    format!("GET {} HTTP/1.1\r\nHost: {server}\r\n{end}", target.path)
}

#[cfg(test)]
mod tests;
