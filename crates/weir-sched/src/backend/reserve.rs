//! How many calls have to wait inside a backend so that it is never without work between an answer
//! and the call that comes next. The limit adds them to the calls that are served.
//!
//! When a backend that serves c calls at once has answered one, and j more than it serves are always
//! under way, the call that a worker takes next is the one that was started j starts ago. If that was
//! less than the gap ago, the time that a call takes from weir to the backend and an answer back, it
//! is not there yet, and the worker waits for what is missing. How long that is on average for each j
//! is seen in the times of the starts: no service time and no law has to be known. The gap is not
//! known, and taken to be [`GAP`]; so more may wait inside than had to, about as many as take that long.

use std::collections::VecDeque;
use std::time::Duration;

use crate::time::Time;

/// From an answer to the next call's arrival, at most, and that a worker does not wait for longer.
const GAP: Duration = Duration::from_millis(1);
/// The share of its time that a worker may wait: so much is reason for more calls, ...
const TOO_MUCH: f64 = 1.0 / 128.0;
/// ... and less than this for fewer.
const LITTLE: f64 = 1.0 / 256.0;
/// Answers between two looks.
const LOOK: u32 = 64;
/// Answers after which half of what was seen is forgotten.
const MEMORY: f64 = 1024.0;
/// Most starts within the gap that are told apart.
const MOST: usize = 1024;

/// The starts within the last gap, and what was seen of those before.
#[derive(Debug)]
pub(super) struct Reserve {
    /// Calls that have to wait inside.
    waiting: u32,
    starts: VecDeque<Time>,
    /// Answers by the number of starts within the gap before; they fade.
    answers: Vec<f64>,
    all: f64,
    /// The time in which they came, in gaps.
    time: f64,
    since: Time,
    /// Answers since the last look.
    window: u32,
}

impl Reserve {
    pub(super) fn new() -> Reserve {
        Reserve {
            waiting: 1,
            starts: VecDeque::new(),
            answers: Vec::new(),
            all: 0.0,
            time: 0.0,
            since: Time::ZERO,
            window: 0,
        }
    }

    /// Calls that have to wait inside, at least one.
    pub(super) fn waiting(&self) -> u32 {
        self.waiting
    }

    /// Calls of these that are there because starts and answers come in bunches: what is beyond the
    /// starts within the gap on average.
    pub(super) fn for_bunches(&self) -> u32 {
        let starts: f64 =
            self.answers.iter().enumerate().map(|(starts, answers)| starts as f64 * answers).sum();
        let average = starts / self.answers.iter().sum::<f64>().max(1.0);
        self.waiting.saturating_sub(average.round() as u32)
    }

    /// A call is started.
    pub(super) fn start(&mut self, now: Time) {
        if self.starts.len() == MOST {
            self.starts.pop_front();
        }
        self.starts.push_back(now);
    }

    /// A call is answered that was not alone. Returns whether another number has to wait inside now.
    /// `served`: calls that are served at once, at least.
    pub(super) fn answer(&mut self, now: Time, served: u32) -> bool {
        while self.starts.front().is_some_and(|start| *start + GAP <= now) {
            self.starts.pop_front();
        }
        let starts = self.starts.len();
        if self.answers.len() <= starts {
            self.answers.resize(starts + 1, 0.0);
        }
        self.answers[starts] += 1.0;
        self.window += 1;
        self.window >= LOOK && self.look(now, served)
    }

    fn look(&mut self, now: Time, served: u32) -> bool {
        self.time += now.since(self.since).as_secs_f64() / GAP.as_secs_f64();
        self.since = now;
        self.all += f64::from(self.window);
        self.window = 0;
        let served = f64::from(served) * self.time;
        let (least, most) = (self.needed(TOO_MUCH * served), self.needed(LITTLE * served));
        let before = self.waiting;
        self.waiting = before.clamp(least, most);
        if self.waiting as usize >= self.answers.len() && self.waiting > before {
            // So many were never seen to be enough: it may be many more.
            self.waiting += before / 4;
        }
        if self.all >= MEMORY {
            self.answers.iter_mut().for_each(|count| *count /= 2.0);
            self.all /= 2.0;
            self.time /= 2.0;
        }
        self.waiting != before
    }

    /// The least number with which workers would have waited at most so long, in gaps. The starts
    /// within a gap are taken to be spread evenly over it.
    fn needed(&self, longest: f64) -> u32 {
        let waits = |waiting: usize| {
            let later = self.answers.iter().enumerate().skip(waiting);
            let waited = later
                .map(|(starts, answers)| answers * (1.0 - waiting as f64 / (starts + 1) as f64));
            waited.sum::<f64>() <= longest
        };
        let most = self.answers.len().max(1);
        (1..most).find(|waiting| waits(*waiting)).unwrap_or(most) as u32
    }
}
