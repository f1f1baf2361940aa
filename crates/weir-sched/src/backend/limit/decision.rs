//! When the learned limit is raised, lowered or probed. Used by the limit after each window of answers;
//! what the answers show is weighed in `evidence`.

use super::evidence::{ALIKE, EXACT, Served, Stretch};
use super::moments::Latencies;
use super::{FEW_ALIKE, Limit, MOST, MOST_BETWEEN_PROBES, SLOW, TOO_FEW, WINDOW};

impl Limit {
    /// The backend breaks, or has become much slower.
    pub(super) fn halve(&mut self) {
        self.slow = 0;
        self.searching = false;
        self.step = 1;
        self.set(self.limit / 2);
    }

    /// Raises or lowers the limit, probes, or leaves it, after a window of answers at the limit.
    pub(super) fn decide(&mut self) {
        self.usual = self.at_limit.plain.mean();
        if self.limit == 1 {
            // With one at a time no waiting can be seen.
            return self.set(2);
        }
        let base = self.base();
        let harmless = self.harmless(&base);
        let alike = f64::from(FEW_ALIKE) <= base.weight()
            && base.plain.variation_squared() < EXACT
            && self.are_alike();
        if base.weight() < TOO_FEW && !alike {
            return match self.limit < harmless.least {
                true => self.let_wait(harmless.least),
                false => self.begin_probe(),
            };
        }
        let limit = f64::from(self.limit);
        // One call of the limit is to wait: 0.6 to 1.6 of them. Where that is a small share it
        // cannot be measured, and 8 to 15 % are as good.
        let (few, many) = ((0.6 / limit).max(0.08), (1.6 / limit).max(0.15));
        let served = self.served();
        let Stretch { ratio, error } = self.stretch(&base, served);
        let waiting = 1.0 - 1.0 / ratio;
        let least = self.least(ratio, served).min(MOST);
        if served == Served::All {
            self.open_at = self.open_at.max(self.limit);
        }
        // How far the ratio is believed where the order of the answers speaks for or against it.
        let (to_lower, to_raise) = match served {
            Served::All => (2.0 * error, -0.5 * error),
            Served::NotAll => (0.0, 2.0 * error),
            Served::Unknown => (error, error),
        };
        let sure = waiting - 2.0 * error > many;
        // What was seen to be served at once is held against means unless the order denies it by now.
        let known = sure || served == Served::NotAll;
        let floor = if known { 1 } else { self.open_at + 1 }.max(least);
        // To lower a large limit by little is not worth beginning anew.
        if waiting - to_lower > many && floor + self.limit / 16 < self.limit {
            if self.limit <= harmless.most {
                return self.let_wait(harmless.least);
            }
            let floor = floor.max(harmless.most);
            if self.since_probe > (4 * WINDOW).max(6 * self.limit) {
                // The backend may have become slower altogether: look before the limit pays.
                return self.begin_probe();
            }
            let at_once = (limit / ratio).round() as u32;
            let lower = (at_once + 1).max(self.limit / 2).max(floor).min(self.limit - 1);
            self.open_at = self.open_at.min(lower - 1);
            self.searching = false;
            self.step = 1;
            return self.set(lower);
        }
        let search = self.searching && served == Served::Unknown && waiting - error < few;
        if (search || waiting + to_raise < few) && self.limit < MOST {
            return self.raise(MOST);
        }
        if harmless.least > self.limit {
            return self.let_wait(harmless.least);
        }
        if least > self.limit {
            self.searching = false;
            return self.set(least.min(2 * self.limit));
        }
        self.searching = false;
        self.crowded = false;
        if self.answers >= 24 * WINDOW.max(self.limit) {
            self.answers /= 2;
            self.last_first /= 2;
        }
        // Where the order of the answers has settled the limit, means are only to confirm it.
        let enough = least.max(self.open_at + 1).max(2);
        let settled = served == Served::NotAll && enough + self.limit / 16 >= self.limit;
        let between = match (settled, self.reserve.waiting()) {
            (true, 1) => MOST_BETWEEN_PROBES,
            (true, _) => self.between_probes.max(128 * self.limit),
            (false, _) => self.between_probes.max(16 * self.limit),
        };
        if self.since_probe >= between {
            // Too low a limit costs throughput and too high a one is soon seen: what is likely is
            // reason enough for one step.
            if waiting < few && served != Served::NotAll && self.limit < MOST {
                self.raise(MOST);
            }
            self.begin_probe();
        }
    }

    /// The calls that are served at once and those that have to wait inside while others come.
    fn least(&mut self, ratio: f64, served: Served) -> u32 {
        let latency = &self.at_limit.plain;
        if latency.variation_squared() * ratio < ALIKE && latency.mean() > SLOW {
            // All are long and alike: one that waits is enough, and means are exact.
            self.reserve.spare();
            return 1;
        }
        let at_once = (f64::from(self.limit) / ratio).round().max(1.0) as u32;
        let seen = self.workers.at_least().min(self.limit);
        let served = if served == Served::NotAll { seen } else { seen.min(at_once) };
        served + self.reserve.learn(served)
    }

    /// More may wait inside: raises the limit to `least` by and by.
    fn let_wait(&mut self, least: u32) {
        if least > self.limit {
            self.raise(least);
        } else {
            self.searching = false;
        }
        self.crowded = true;
    }

    fn raise(&mut self, most: u32) {
        let step = if self.searching { self.limit } else { self.step };
        self.step = (2 * step).min(self.limit);
        self.set(self.limit.saturating_add(step).min(most));
    }

    fn set(&mut self, limit: u32) {
        self.limit = limit.clamp(1, MOST);
        self.number = self.number.wrapping_add(1);
        self.at_limit = Latencies::default();
        self.answers = 0;
        self.last_first = 0;
        self.window = 0;
        self.probe = None;
        self.crowded = false;
    }
}
