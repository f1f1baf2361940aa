//! The open-loop client: every request starts at its own time on its own
//! connection, whatever became of the others. One epoll loop in
//! one thread starts what is due and reads what has come.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddrV4, TcpStream};
use std::os::fd::OwnedFd;
use std::time::Instant;

use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::time::Timespec;

use crate::connection::{self, Outcome, Record, Response, request};
use crate::timer::Timer;
use crate::trace::Request;
use crate::{Result, interrupt};

const TIMER: u64 = u64::MAX;
/// A slow reader takes 250 bytes every 100 ms: 20 kbit/s.
const SLOW_TICK: f64 = 0.1;
const SLOW_BYTES: usize = 250;

/// What all requests of a run share.
pub(crate) struct Plan<'a> {
    pub(crate) address: SocketAddrV4,
    pub(crate) requests: &'a [Request],
    /// Whether requests marked slow read slowly.
    pub(crate) slow_readers: bool,
    /// When the clients give up, in seconds from the start.
    pub(crate) deadline: f64,
    pub(crate) pool: &'a [u8],
}

/// Send the whole plan; time zero is `origin`. Call it in the client's namespace.
pub(crate) fn run(plan: &Plan<'_>, origin: Instant) -> Result<Vec<Record>> {
    let failed = |e| format!("the client's event loop: {e}");
    let mut client = Client::new(plan, origin).map_err(failed)?;
    let mut events: Vec<Event> = Vec::with_capacity(64);
    let at_most = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };
    loop {
        interrupt::check()?;
        client.start_due();
        client.read_slow();
        if client.open == 0 && client.next == plan.requests.len() || client.now() > plan.deadline {
            return Ok(client.records);
        }
        client.arm().map_err(failed)?;
        events.clear();
        match epoll::wait(
            &client.epoll,
            rustix::buffer::spare_capacity(&mut events),
            Some(&at_most),
        ) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(failed(e)),
        }
        for event in &events {
            match event.data.u64() {
                TIMER => client.timer.quiet(),
                index => client.on_event(index as usize),
            }
        }
    }
}

struct Connection {
    stream: TcpStream,
    connected: bool,
    response: Response,
}

struct Client<'a> {
    plan: &'a Plan<'a>,
    origin: Instant,
    epoll: OwnedFd,
    timer: Timer,
    /// The request that starts next.
    next: usize,
    connections: Vec<Option<Connection>>,
    records: Vec<Record>,
    /// Requests under way.
    open: usize,
    /// When each slow reader reads again, in nanoseconds.
    slow: BinaryHeap<Reverse<(u64, usize)>>,
    buffer: Vec<u8>,
    host: String,
}

impl<'a> Client<'a> {
    fn new(plan: &'a Plan<'a>, origin: Instant) -> rustix::io::Result<Client<'a>> {
        let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let timer = Timer::new()?;
        epoll::add(&epoll, &timer, EventData::new_u64(TIMER), EventFlags::IN)?;
        let unfinished =
            Record { started: f64::NAN, finish: f64::NAN, outcome: Outcome::Timeout, head: 0 };
        Ok(Client {
            plan,
            origin,
            epoll,
            timer,
            next: 0,
            connections: plan.requests.iter().map(|_| None).collect(),
            records: vec![unfinished; plan.requests.len()],
            open: 0,
            slow: BinaryHeap::new(),
            buffer: vec![0; 65_536],
            host: plan.address.to_string(),
        })
    }

    fn now(&self) -> f64 {
        // Before the start (origin lies ahead) this is negative.
        match Instant::now().checked_duration_since(self.origin) {
            Some(since) => since.as_secs_f64(),
            None => -(self.origin - Instant::now()).as_secs_f64(),
        }
    }

    /// Have the timer fire at the next start or slow read.
    fn arm(&self) -> rustix::io::Result<()> {
        let start = self.plan.requests.get(self.next).map(|request| request.at);
        let slow = self.slow.peek().map(|Reverse((at, _))| *at as f64 / 1e9);
        let due = start.into_iter().chain(slow).fold(f64::INFINITY, f64::min);
        self.timer.set(due - self.now())
    }

    fn start_due(&mut self) {
        while let Some(request) = self.plan.requests.get(self.next) {
            let now = self.now();
            if request.at > now {
                return;
            }
            let index = self.next;
            self.next += 1;
            self.open += 1;
            self.records[index].started = now;
            match self.connect(index) {
                Ok(connection) => self.connections[index] = Some(connection),
                Err(_) => self.end(index, Outcome::Refused),
            }
        }
    }

    fn is_slow(&self, index: usize) -> bool {
        self.plan.slow_readers && self.plan.requests[index].slow
    }

    fn connect(&self, index: usize) -> std::io::Result<Connection> {
        let stream = connection::open(self.plan.address, self.is_slow(index))?;
        let data = EventData::new_u64(index as u64);
        epoll::add(&self.epoll, &stream, data, EventFlags::OUT)?;
        Ok(Connection {
            stream,
            connected: false,
            response: Response::expected(self.plan.requests[index].size),
        })
    }

    fn on_event(&mut self, index: usize) {
        let Some(connection) = &self.connections[index] else {
            return;
        };
        if connection.connected {
            self.read_all(index);
        } else if self.send(index).is_err() {
            self.end(index, Outcome::Refused);
        }
    }

    /// The connection stands (or has failed): send the request.
    fn send(&mut self, index: usize) -> std::io::Result<()> {
        let slow = self.is_slow(index);
        let Some(connection) = &mut self.connections[index] else {
            return Ok(());
        };
        if let Some(error) = connection.stream.take_error()? {
            return Err(error);
        }
        let text = request(self.plan.requests[index].size, &self.host);
        connection.stream.write_all(text.as_bytes())?;
        connection.connected = true;
        if slow {
            epoll::delete(&self.epoll, &connection.stream)?;
            self.next_slow_read(index);
        } else {
            let data = EventData::new_u64(index as u64);
            epoll::modify(&self.epoll, &connection.stream, data, EventFlags::IN)?;
        }
        Ok(())
    }

    fn next_slow_read(&mut self, index: usize) {
        let at = ((self.now() + SLOW_TICK) * 1e9) as u64;
        self.slow.push(Reverse((at, index)));
    }

    fn read_slow(&mut self) {
        while let Some(&Reverse((at, index))) = self.slow.peek() {
            if at as f64 / 1e9 > self.now() {
                return;
            }
            self.slow.pop();
            self.read(index, SLOW_BYTES);
            if self.connections[index].is_some() {
                self.next_slow_read(index);
            }
        }
    }

    fn read_all(&mut self, index: usize) {
        let most = self.buffer.len();
        while self.read(index, most) {}
    }

    /// Read once; false when there is nothing more to read for now.
    fn read(&mut self, index: usize, most: usize) -> bool {
        let Some(connection) = &mut self.connections[index] else {
            return false;
        };
        match connection.stream.read(&mut self.buffer[..most]) {
            // The last byte ends the response, the server's FIN the connection.
            Ok(0) => self.end(index, Outcome::Short),
            Ok(count) => {
                let bytes = &self.buffer[..count];
                let ended = connection.response.take(bytes, self.plan.pool);
                self.records[index].head = connection.response.head_len();
                match ended {
                    Some(Outcome::Ok) => self.note(index, Outcome::Ok),
                    Some(outcome) => self.end(index, outcome),
                    None => {}
                }
                return true;
            }
            Err(e) if e.kind() == ErrorKind::WouldBlock => {}
            Err(_) => self.end(index, Outcome::Reset),
        }
        false
    }

    /// How and when the response ended. The first word counts, except that bytes
    /// after the last make a complete response wrong.
    fn note(&mut self, index: usize, outcome: Outcome) {
        let now = self.now();
        let record = &mut self.records[index];
        if record.finish.is_nan() {
            record.finish = now;
            record.outcome = outcome;
            self.open -= 1;
        } else if outcome == Outcome::Wrong {
            record.outcome = outcome;
        }
    }

    fn end(&mut self, index: usize, outcome: Outcome) {
        self.note(index, outcome);
        self.connections[index] = None;
    }
}
