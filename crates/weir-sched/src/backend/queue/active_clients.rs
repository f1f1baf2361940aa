//! How many clients a backend has: now, on average over some seconds, and whether one is alone. The
//! accounts of clients use it to tell how many slots others need.

use std::time::Duration;

use crate::time::Time;

/// Over about so long it is averaged how many clients are here.
const AVERAGED: Duration = Duration::from_secs(3);
/// Who was here so lately may come again.
const LATELY: Duration = Duration::from_secs(60);

/// Clients with calls that wait or have slots.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ActiveClients {
    here: usize,
    average: f64,
    /// Until when the average was made.
    at: Time,
    /// Of whom a call last came, and when.
    last: Option<(Time, u64)>,
    /// Of whom else.
    other: Option<(Time, u64)>,
}

impl ActiveClients {
    /// A call of this client came or got a slot.
    pub(super) fn seen(&mut self, now: Time, id: u64) {
        if self.last.is_some_and(|(_, last)| last != id) {
            self.other = self.last;
        }
        self.last = Some((now, id));
    }

    /// A client is here from now on.
    pub(super) fn arrive(&mut self, now: Time) {
        self.note(now);
        self.here += 1;
    }

    /// A client is here no more.
    pub(super) fn depart(&mut self, now: Time) {
        self.note(now);
        self.here = self.here.saturating_sub(1);
    }

    /// Clients that are here.
    pub(super) fn here(&self) -> usize {
        self.here
    }

    /// Clients that are here, or are on average.
    pub(super) fn clients(&self, now: Time) -> usize {
        self.here.max(self.averaged(now).round() as usize)
    }

    /// Whether another client than this was here lately.
    pub(super) fn others(&self, now: Time, id: u64) -> bool {
        let lately = |seen: &(Time, u64)| seen.1 != id && now.since(seen.0) < LATELY;
        self.last.iter().chain(&self.other).any(lately)
    }

    fn note(&mut self, now: Time) {
        self.average = self.averaged(now);
        self.at = now;
    }

    fn averaged(&self, now: Time) -> f64 {
        let share = now.since(self.at).as_secs_f64() / AVERAGED.as_secs_f64();
        self.average + (self.here as f64 - self.average) * share.min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn who_comes_and_goes_is_here_in_part() {
        let mut active = ActiveClients::default();
        // Four clients that are here half of the time, two at a time.
        for round in 0..1000 {
            let now = ms(round * 20);
            (0..2).for_each(|_| active.arrive(now));
            (0..2).for_each(|_| active.depart(now + Duration::from_millis(10)));
            (0..2).for_each(|_| active.arrive(now + Duration::from_millis(10)));
            (0..2).for_each(|_| active.depart(now + Duration::from_millis(20)));
        }
        assert_eq!((active.here(), active.clients(ms(20_000))), (0, 2));
        assert_eq!(active.clients(ms(23_000)), 0, "they are gone");
    }

    #[test]
    fn another_is_remembered_for_a_minute() {
        let mut active = ActiveClients::default();
        active.seen(ms(0), 1);
        (0..1000).for_each(|at| active.seen(ms(at), 2));
        assert!(active.others(ms(59_999), 2) && !active.others(ms(60_000), 2));
        assert!(active.others(ms(60_000), 1) && active.others(ms(60_000), 3));
    }
}
