//! How many calls a backend serves at once, from the order of its answers. The limit uses it where
//! service times differ so much that means say little.
//!
//! A backend that takes calls in the order of their starts and serves c at a time answers one of the c
//! oldest, never a younger one. So no answer has more than c - 1 older calls beside it, and where
//! service times differ some have as many. Where all take equally long they come in the order of the
//! starts however many are served; and a backend that shares its time among all its calls answers
//! any of them. There the means decide.

use super::inside::Overtaken;

/// Answers that are enough to say anything.
const ENOUGH: u32 = 32;
/// Answers for each call that is served at once before it is said that no more are, where many more
/// could be: each of them would be seen once in some answers ...
const EACH: u32 = 8;
/// ... and where one or two could be, which is seen rarely where some service times are equal.
const EACH_IF_CLOSE: u32 = 32;
/// One answer in so many times the limit is read before another that came earlier, at most.
const MISREAD: u32 = 16;
/// Answers after which half of what was seen is forgotten; also as many times the limit.
const MEMORY: u32 = 32;
/// Square of the coefficient of variation of service times from which on the order tells how many
/// are served.
const DIFFERENT: f64 = 0.5;

/// How many of the calls under way the backend serves at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Served {
    /// As many as the limit lets in.
    All,
    /// So many, fewer than the limit lets in.
    Some(u32),
    Unknown,
}

/// What was seen while as many calls as the limit allows were under way.
#[derive(Clone, Debug, Default)]
pub(super) struct Order {
    /// Answers by the number of older calls that were not answered.
    older: Vec<u32>,
    all: u32,
    /// Answers at this limit, those of them to the newest of all, and those where it was counted how
    /// many are older.
    answers: u32,
    newest: u32,
    looked: u32,
}

impl Order {
    /// An answer while `limit` calls were under way.
    pub(super) fn add(&mut self, overtaken: Overtaken, limit: u32) {
        self.answers += 1;
        self.newest += u32::from(overtaken.by_newest + 1 >= limit as usize);
        let memory = MEMORY * limit.max(MEMORY);
        if self.answers >= memory {
            self.answers /= 2;
            self.newest /= 2;
        }
        let Some(older) = overtaken.older else { return };
        if self.older.len() <= older {
            self.older.resize(older + 1, 0);
        }
        self.older[older] += 1;
        self.all += 1;
        self.looked = self.looked.saturating_add(1);
        if self.all >= memory {
            self.older.iter_mut().for_each(|count| *count /= 2);
            self.all = self.older.iter().sum();
        }
    }

    /// The limit is another now. What was seen of older calls holds for any.
    pub(super) fn restart(&mut self) {
        (self.answers, self.newest, self.looked) = (0, 0, 0);
    }

    /// Whether it is seen at this limit that all that it lets in are served at once.
    pub(super) fn is_all(&self, limit: u32) -> bool {
        self.newest >= 2.max(self.answers / limit / 4)
    }

    /// `variation`: square of the coefficient of variation of latencies at this limit.
    pub(super) fn served(&self, limit: u32, variation: f64) -> Served {
        if self.is_all(limit) {
            return Served::All;
        }
        let some = self.at_least(limit);
        let each = if limit >= 2 * (some + 1) { EACH } else { EACH_IF_CLOSE };
        let known = some < limit
            && self.all >= ENOUGH
            && self.looked >= each * (some + 1)
            && service_variation(variation, limit, some) > DIFFERENT;
        if known { Served::Some(some) } else { Served::Unknown }
    }

    /// At least so many are served at once, unless the backend shares its time among all calls.
    pub(super) fn at_least(&self, limit: u32) -> u32 {
        let enough = 2.max(self.all / limit / MISREAD);
        let mut seen = 0;
        let most = self.older.iter().rposition(|count| {
            seen += count;
            seen >= enough
        });
        most.map_or(1, |most| most as u32 + 1)
    }
}

/// Square of the coefficient of variation of service times, if that of latencies is `variation` and
/// `served` of `limit` calls are served at once: what a call waits is then (limit - served) / served
/// service times, each the time until one of `served` ends.
fn service_variation(variation: f64, limit: u32, served: u32) -> f64 {
    let (limit, served) = (f64::from(limit), f64::from(served));
    let length = limit / served;
    variation * length * length / (1.0 + (limit - served) / (served * served))
}
