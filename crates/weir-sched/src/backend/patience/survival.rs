//! How long clients wait before they leave, estimated from when some left or were answered. Used by
//! [`super::patience`](super), which decides whose departures count.
//!
//! The Kaplan-Meier estimate of survival on a histogram of ages: a departure is an observation, an
//! answer at some age says only that the client would have waited at least so long. The paper asks
//! for such statistics (Carter & Cherkasova 1999, section 2, last paragraph but one).

use std::time::Duration;

use crate::time::Time;

/// The least age told apart, in seconds.
const LEAST: f64 = 0.001;
/// Ratio of the bounds of a bin of ages.
const RATIO: f64 = 1.1;
/// Bins: up to 10 minutes, 1 ms × 1.1^140.
const BINS: usize = 141;
/// After so many clients that reached an age, half of what was known of that age is forgotten.
/// Counted for each age by itself: answers after 10 ms say nothing of who leaves after 5 s and so
/// make nothing of that forgotten.
const HALF_LIFE: f64 = 500.0;
/// Departures remembered, by weight, below which nothing is said.
const LEAST_EVIDENCE: f64 = 8.0;
/// Answers after which the estimate is made anew; departures have it made at once.
const STALE_AFTER: u32 = 32;
/// Nearly all have left when so small a share has not.
const NEARLY_NONE: f64 = 0.05;

/// What is known of one span of ages, with weights that fade.
#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    /// Clients that left at such an age.
    left: f64,
    /// Those, and the clients that waited longer. Who was answered at such an age is not among
    /// them: when all leave at one age, answers just before it must not hide that.
    reached: f64,
    /// Sum of the ages of `left`, in seconds.
    ages: f64,
}

/// What is read off the survival curve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PatienceEstimate {
    /// The median: half of the clients would have left by this age.
    pub(crate) median: Option<Duration>,
    /// By this age nearly all would have left.
    pub(crate) nearly_all: Option<Duration>,
    /// When one last left.
    pub(crate) left: Time,
}

/// What is known of the patience of some clients.
#[derive(Clone, Debug)]
pub(crate) struct Survival {
    bins: Box<[Bin; BINS]>,
    current: PatienceEstimate,
    /// Answers since `current` was made.
    answers: u32,
}

impl Survival {
    pub(crate) fn new() -> Survival {
        let bins = Box::new([Bin::default(); BINS]);
        Survival { bins, current: PatienceEstimate::default(), answers: 0 }
    }

    /// A client left at `now`, at this age.
    pub(crate) fn left(&mut self, now: Time, age: Duration) {
        let at = bin(age);
        self.reached(at + 1);
        let here = &mut self.bins[at];
        here.left += 1.0;
        here.ages += age.as_secs_f64();
        self.current = PatienceEstimate { left: now, ..self.estimate() };
        self.answers = 0;
    }

    /// A client was answered at this age and would have waited longer.
    pub(crate) fn answered(&mut self, age: Duration) {
        self.reached(bin(age));
        self.answers += 1;
        if self.answers >= STALE_AFTER {
            self.current = PatienceEstimate { left: self.current.left, ..self.estimate() };
            self.answers = 0;
        }
    }

    pub(crate) fn endurance(&self) -> PatienceEstimate {
        self.current
    }

    /// One more client has reached the first `bins` bins, and was not answered in them.
    fn reached(&mut self, bins: usize) {
        let keep = 0.5_f64.powf(1.0 / HALF_LIFE);
        for bin in self.bins.iter_mut().take(bins) {
            bin.left *= keep;
            bin.ages *= keep;
            bin.reached = bin.reached * keep + 1.0;
        }
    }

    fn estimate(&self) -> PatienceEstimate {
        let mut endurance = PatienceEstimate::default();
        let evidence: f64 = self.bins.iter().map(|bin| bin.left).sum();
        if evidence < LEAST_EVIDENCE {
            return endurance;
        }
        let mut survival = 1.0;
        for bin in self.bins.iter().filter(|bin| bin.left > 0.0) {
            survival *= (1.0 - bin.left / bin.reached).max(0.0);
            let age = Duration::try_from_secs_f64(bin.ages / bin.left).unwrap_or_default();
            if survival <= 0.5 && endurance.median.is_none() {
                endurance.median = Some(age);
            }
            if survival <= NEARLY_NONE {
                endurance.nearly_all = Some(age);
                break;
            }
        }
        endurance
    }
}

fn bin(age: Duration) -> usize {
    let steps = (age.as_secs_f64() / LEAST).ln() / RATIO.ln();
    // Negative, and minus infinity for age zero, become 0.
    (steps as usize).min(BINS - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn near(found: Option<Duration>, wanted: Duration) -> bool {
        found.is_some_and(|found| {
            let ratio = found.as_secs_f64() / wanted.as_secs_f64();
            (0.98..1.02).contains(&ratio)
        })
    }

    #[test]
    fn all_who_leave_at_five_seconds_make_five_seconds() {
        for age in [5000, 700, 40_000] {
            let mut survival = Survival::new();
            for _ in 0..7 {
                survival.left(Time::ZERO, age * MS);
            }
            assert_eq!(survival.endurance(), PatienceEstimate::default(), "seven are too few");
            survival.left(Time::ZERO, age * MS);
            survival.left(Time::ZERO, age * MS + 3 * MS);
            assert!(near(survival.endurance().median, age * MS), "{:?}", survival.endurance());
            assert!(near(survival.endurance().nearly_all, age * MS));
        }
    }

    #[test]
    fn answers_before_say_that_they_would_have_waited() {
        // Half leave after 1 s. Of the others half are answered after 2 s, half leave after 4 s.
        let mut survival = Survival::new();
        for _ in 0..100 {
            for _ in 0..2 {
                survival.left(Time::ZERO, 1001 * MS);
            }
            survival.answered(2000 * MS);
            survival.left(Time::ZERO, 4000 * MS);
        }
        let endurance = survival.endurance();
        assert!(near(endurance.nearly_all, 4000 * MS), "{endurance:?}");
        // Counting the answered as gone for good, or as not there, would make this 1 s.
        for _ in 0..300 {
            survival.answered(2000 * MS);
        }
        assert!(near(survival.endurance().median, 4000 * MS), "{:?}", survival.endurance());
    }

    #[test]
    fn answers_just_before_all_leave_hide_nothing() {
        let mut survival = Survival::new();
        for _ in 0..40 {
            survival.left(Time::ZERO, 5000 * MS);
            for _ in 0..100 {
                survival.answered(4900 * MS);
            }
        }
        assert!(near(survival.endurance().median, 5000 * MS));
    }

    #[test]
    fn many_quick_answers_do_not_make_it_forget() {
        let mut survival = Survival::new();
        (0..50).for_each(|_| survival.left(Time::ZERO, 5000 * MS));
        (0..1_000_000).for_each(|_| survival.answered(10 * MS));
        assert!(near(survival.endurance().median, 5000 * MS));
    }

    #[test]
    fn nothing_is_said_when_most_stay() {
        let mut survival = Survival::new();
        for _ in 0..100 {
            survival.left(Time::ZERO, 200 * MS);
            (0..3).for_each(|_| survival.answered(30_000 * MS));
        }
        assert_eq!(survival.endurance(), PatienceEstimate::default());
    }

    #[test]
    fn a_change_is_followed() {
        let mut survival = Survival::new();
        (0..3000).for_each(|_| survival.left(Time::ZERO, 2000 * MS));
        (0..3000).for_each(|_| survival.left(Time::ZERO, 8000 * MS));
        assert!(near(survival.endurance().median, 8000 * MS));
        (0..1000).for_each(|_| survival.left(Time::ZERO, 2000 * MS));
        assert!(near(survival.endurance().median, 2000 * MS));
    }

    #[test]
    fn any_age_has_a_bin() {
        assert_eq!((bin(Duration::ZERO), bin(MS), bin(Duration::MAX)), (0, 0, BINS - 1));
        assert!(bin(600_000 * MS) >= BINS - 3);
    }
}
