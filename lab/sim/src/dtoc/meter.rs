//! How busy Carter's server was: every second, which switches the check, and over the window that
//! counts. The run tells it when the server becomes busy and idle.

/// Times in seconds from the start of the run.
#[derive(Debug)]
pub(super) struct Meter {
    /// Since when the server is busy; infinity while it is idle.
    since: f64,
    /// Seconds of the busy spells that are over.
    total: f64,
    last: f64,
    last_busy: f64,
    second: f64,
    busy_in_second: f64,
    start: f64,
    end: f64,
    above: f64,
    /// When [`Meter::tick`] is due.
    pub(super) due: f64,
    /// Whether the last whole second was busier than the threshold.
    pub(super) high: bool,
    /// Seconds of the window in which the server was busy.
    pub(super) busy: f64,
    /// Seconds of the window in which `high` held.
    pub(super) high_seconds: f64,
}

impl Meter {
    /// For the window from `start` to `end` and a threshold of utilisation.
    pub(super) fn new(start: f64, end: f64, above: f64) -> Meter {
        let mut meter = Meter {
            since: f64::INFINITY,
            total: 0.0,
            last: 0.0,
            last_busy: 0.0,
            second: 1.0,
            busy_in_second: 0.0,
            start,
            end,
            above,
            due: 0.0,
            high: false,
            busy: 0.0,
            high_seconds: 0.0,
        };
        meter.due = meter.next_after(0.0);
        meter
    }

    pub(super) fn begin(&mut self, now: f64) {
        self.since = self.since.min(now);
    }

    pub(super) fn idle(&mut self, now: f64) {
        self.total += (now - self.since).max(0.0);
        self.since = f64::INFINITY;
    }

    /// Whether the window is over.
    pub(super) fn over(&self) -> bool {
        self.last >= self.end
    }

    /// The moment `due` has come and nothing happened since it: a whole second, or an edge of the
    /// window.
    pub(super) fn tick(&mut self) {
        let now = self.due;
        let until_now = self.total + (now - self.since).max(0.0);
        let busy = until_now - self.last_busy;
        if self.last >= self.start && now <= self.end {
            self.busy += busy;
            if self.high {
                self.high_seconds += now - self.last;
            }
        }
        self.busy_in_second += busy;
        if now >= self.second {
            // Rounding must not make more than a second of a second.
            let utilisation = self.busy_in_second.min(1.0);
            if utilisation > self.above {
                self.high = true;
            } else if utilisation < self.above {
                self.high = false;
            }
            self.busy_in_second = 0.0;
            self.second += 1.0;
        }
        self.last = now;
        self.last_busy = until_now;
        self.due = self.next_after(now);
    }

    fn next_after(&self, now: f64) -> f64 {
        let edges = [self.start, self.end].into_iter().filter(|edge| *edge > now);
        edges.fold(self.second, f64::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_switch_and_the_window_has_its_share() {
        let mut meter = Meter::new(0.5, 2.25, 0.9);
        let mut seen = Vec::new();
        // Busy from 0.25 to 2.125.
        for (moment, busy) in [(0.25, true), (2.125, false), (4.5, true)] {
            while meter.due <= moment {
                let due = meter.due;
                meter.tick();
                seen.push((due, meter.high));
            }
            if busy { meter.begin(moment) } else { meter.idle(moment) }
        }
        let switched = [(0.5, false), (1.0, false), (2.0, true), (2.25, true), (3.0, false)];
        assert_eq!(seen[..5], switched);
        assert!((meter.busy - 1.625).abs() < 1e-12, "{}", meter.busy);
        assert!((meter.high_seconds - 0.25).abs() < 1e-12, "{}", meter.high_seconds);
        assert!(meter.over());
    }
}
