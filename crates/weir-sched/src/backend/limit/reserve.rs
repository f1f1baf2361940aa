//! How many calls have to wait inside a backend so that it is never without work between an answer
//! and the call that comes next. The limit is not lowered below the calls that are served and these.
//!
//! When a backend has answered one call, and k more than it serves are always under way, the call
//! that its worker takes next is the one that was started k starts ago. If that was less than the gap
//! ago, the time from weir to the backend and back, it is not there yet, and the worker waits for what
//! is missing. How long that is for each k is seen in the times of the starts: no law of service times
//! has to be known. The gap is not seen, but no call takes less, so it is at most the shortest latency;
//! and as much as may always wait inside, [`LONGEST`], is enough.

use std::collections::VecDeque;
use std::time::Duration;

use crate::time::Time;

/// The gap is taken to be at most so long.
const LONGEST: Duration = Duration::from_millis(2);
/// The share of its time that a worker may wait: so much is reason for more calls, ...
const TOO_MUCH: f64 = 1.0 / 128.0;
/// ... and less than this for fewer.
const LITTLE: f64 = 1.0 / 256.0;
/// Answers after which half of what was seen is forgotten.
const MEMORY: f64 = 1024.0;
/// Fewer answers than this say nothing.
const TOO_FEW: f64 = 64.0;
/// Most starts within the gap that are told apart.
const MOST: usize = 1024;

/// The starts within the last gap, and what was seen of those before.
#[derive(Debug)]
pub(super) struct Reserve {
    starts: VecDeque<Time>,
    /// The shortest latency since the last probe, and before it since the one before.
    shortest: [Duration; 2],
    /// The gap when counting began.
    counted: Duration,
    /// Answers by the number of starts within the gap before, and the seconds from these answers to
    /// the next; they fade.
    answers: Vec<(f64, f64)>,
    /// Starts within the gap before the last answer, if it counts.
    starts_before: Option<usize>,
    /// How many these are.
    all: f64,
    /// The time in which they came, in seconds.
    seconds: f64,
    last: Option<Time>,
    waiting: u32,
}

impl Reserve {
    pub(super) fn new() -> Reserve {
        Reserve {
            starts: VecDeque::new(),
            shortest: [Duration::MAX; 2],
            counted: Duration::ZERO,
            answers: Vec::new(),
            starts_before: None,
            all: 0.0,
            seconds: 0.0,
            last: None,
            waiting: 1,
        }
    }

    /// A call is started.
    pub(super) fn start(&mut self, now: Time) {
        if self.starts.len() == MOST {
            self.starts.pop_front();
        }
        self.starts.push_back(now);
    }

    /// A call was answered so long after its start. `full`: it was started when as many were under
    /// way as may be.
    pub(super) fn answer(&mut self, now: Time, latency: Duration, full: bool) {
        self.shortest[0] = self.shortest[0].min(latency);
        let gap = self.gap();
        if gap < self.counted.mul_f64(0.8) {
            // What was counted were the starts within another time.
            self.answers.clear();
            self.starts_before = None;
            (self.all, self.seconds) = (0.0, 0.0);
        }
        if self.all == 0.0 {
            self.counted = gap;
        }
        while self.starts.front().is_some_and(|start| *start + gap <= now) {
            self.starts.pop_front();
        }
        let seconds = self.last.replace(now).map_or(0.0, |last| now.since(last).as_secs_f64());
        if let Some(starts) = self.starts_before.take() {
            self.answers[starts].1 += seconds;
        }
        if !full {
            return;
        }
        let starts = self.starts.len();
        if self.answers.len() <= starts {
            self.answers.resize(starts + 1, (0.0, 0.0));
        }
        self.answers[starts].0 += 1.0;
        self.starts_before = Some(starts);
        self.all += 1.0;
        self.seconds += seconds;
        if self.all >= MEMORY {
            for (answers, seconds) in &mut self.answers {
                *answers /= 2.0;
                *seconds /= 2.0;
            }
            self.all /= 2.0;
            self.seconds /= 2.0;
        }
    }

    /// Calls that have to wait inside, at least one, as last learned.
    pub(super) fn waiting(&self) -> u32 {
        self.waiting
    }

    /// Learns and returns how many have to wait inside of a backend that serves so many at once.
    pub(super) fn learn(&mut self, served: u32) -> u32 {
        if self.all < TOO_FEW {
            return self.waiting;
        }
        let served = f64::from(served);
        let time = served * self.seconds;
        let least = self.needed(served, TOO_MUCH * time);
        let most = self.needed(served, LITTLE * time);
        self.waiting = self.waiting.clamp(least, most);
        self.waiting
    }

    /// One that waits is enough.
    pub(super) fn spare(&mut self) {
        self.waiting = 1;
    }

    /// For a while few calls were under way: what the shortest took is remembered until the next time.
    pub(super) fn probed(&mut self) {
        self.shortest = [Duration::MAX, self.shortest[0]];
    }

    /// All that was seen was of another backend.
    pub(super) fn forget(&mut self) {
        *self = Reserve::new();
    }

    fn gap(&self) -> Duration {
        let [new, old] = self.shortest;
        new.min(old).min(LONGEST).max(Duration::from_nanos(1))
    }

    /// The least number with which workers would have waited at most so many seconds. The starts
    /// within a gap are taken to be spread evenly over it; and nobody waits longer than until the
    /// next answer.
    fn needed(&self, served: f64, longest: f64) -> u32 {
        let gap = self.gap().as_secs_f64();
        let waits = |waiting: usize| {
            let later = self.answers.iter().enumerate().skip(waiting);
            let waited = later.map(|(starts, (answers, seconds))| {
                let missing = gap * (1.0 - waiting as f64 / (starts + 1) as f64);
                (answers * missing).min(served * seconds)
            });
            waited.sum::<f64>() <= longest
        };
        let most = self.answers.len().max(1);
        (1..most).find(|waiting| waits(*waiting)).unwrap_or(most) as u32
    }
}
