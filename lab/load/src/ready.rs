//! How long what epoll announces can have lain ready before the engine comes to it: the engine's lateness,
//! which must not pass for the server's. The engine tells of its waits, and asks at each event.

/// What is known of the events that wait in the kernel. Times are seconds of the run.
pub(crate) struct Ready {
    /// None of the events in hand was there before.
    since: f64,
    /// None was left in the kernel then.
    none_left: f64,
}

impl Ready {
    /// Of a run that watches nothing yet.
    pub(crate) fn new(now: f64) -> Ready {
        Ready { since: now, none_left: now }
    }

    /// A wait that began at `asked` has ended at `now`. If it `slept`, it had found nothing at first, so what
    /// it brings came just now; how late the kernel woke us is not seen. Without `all`, it may have left some.
    pub(crate) fn waited(&mut self, asked: f64, now: f64, slept: bool, all: bool) {
        self.since = if slept { now } else { self.none_left };
        if slept {
            self.none_left = now;
        } else if all {
            // Between asking and going on this thread may have been kept from the processor.
            self.none_left = asked;
        }
    }

    /// When the kernel had nothing left: what came later may not have been seen.
    pub(crate) fn none_left(&self) -> f64 {
        self.none_left
    }

    /// The time before which none of the events in hand was there.
    pub(crate) fn since(&self) -> f64 {
        self.since
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_at_once_came_after_the_last_wait() {
        let mut ready = Ready::new(-1.0);
        ready.waited(1.0, 1.0, false, true);
        assert_eq!(ready.since(), -1.0);
        ready.waited(5.0, 5.0, false, true);
        assert_eq!(ready.since(), 1.0);
    }

    #[test]
    fn what_wakes_us_came_just_now() {
        let mut ready = Ready::new(0.0);
        ready.waited(1.0, 1.0, false, true);
        ready.waited(9.0, 9.0, true, true);
        assert_eq!(ready.since(), 9.0);
    }

    #[test]
    fn what_was_left_may_have_been_there_for_as_long_as_what_came_before() {
        let mut ready = Ready::new(0.0);
        ready.waited(1.0, 1.0, false, true);
        for now in [2.0, 3.0] {
            ready.waited(now, now, false, false);
            assert_eq!(ready.since(), 1.0);
        }
        ready.waited(4.0, 4.0, false, true);
        assert_eq!(ready.since(), 1.0);
        ready.waited(5.0, 5.0, false, true);
        assert_eq!(ready.since(), 4.0);
        // Nothing was left while it slept.
        ready.waited(7.0, 7.0, true, false);
        ready.waited(8.0, 8.0, false, true);
        assert_eq!(ready.since(), 7.0);
    }
}
