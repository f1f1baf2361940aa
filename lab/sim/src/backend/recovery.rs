//! How soon after overload those who come are answered as if there had been none; part of the
//! results where the load drops.

use serde::Serialize;

/// Clients that came within one step after the load dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Newcomers {
    /// How many.
    pub clients: u64,
    /// Those that had no answer: they left, or were refused.
    pub lost: u64,
    /// Response times added up, in seconds; one without answer counts with the patience of all the
    /// requests that it may send.
    pub seconds: f64,
}

impl Newcomers {
    /// Length of a step, in seconds.
    pub const STEP: f64 = 0.1;

    /// Adds those of another step.
    pub fn add(&mut self, other: &Newcomers) {
        self.clients += other.clients;
        self.lost += other.lost;
        self.seconds += other.seconds;
    }

    fn mean(&self) -> Option<f64> {
        (self.clients > 0).then(|| self.seconds / self.clients as f64)
    }
}

/// Steps over which newcomers are taken together: a second.
const TOGETHER: usize = 10;
/// They are answered as usual if their mean response time is not above this many times the usual.
const AS_USUAL: f64 = 2.0;

/// What became of those who came after the load had dropped, over all repetitions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Recovery {
    /// The load after the drop, in % of capacity.
    pub load_after_percent: f64,
    /// When the load dropped, in seconds from the end of the warm-up.
    pub dropped_after_seconds: f64,
    /// Mean response time at that load without overload before it, in seconds, simulated as well.
    pub usual_response_seconds: f64,
    /// Seconds from the drop to the first second (in steps of a tenth) whose newcomers had at most
    /// twice the usual mean response time, where one without an answer counts as if it had waited
    /// as long as all its requests can. Missing if there was no such second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery_seconds: Option<f64>,
    /// Seconds from the drop after which everybody who came was answered: the end of the last step
    /// with one who was not.
    pub all_answered_after_seconds: f64,
    /// Mean response time, counted in the same way, of who came in the first second after the drop.
    pub first_second_response_seconds: f64,
    /// Those of the first second after the drop who had no answer, in %.
    pub first_second_lost_percent: f64,
    /// Those who had no answer of all who came while newcomers were watched, in %.
    pub lost_percent: f64,
}

impl Recovery {
    /// From steps after a drop to `load` (1 is capacity), `at` seconds after the warm-up, and the
    /// usual mean response time there. `None` without newcomers.
    pub fn new(load: f64, at: f64, usual: f64, steps: &[Newcomers]) -> Option<Recovery> {
        let sum = |steps: &[Newcomers]| {
            let mut all = Newcomers::default();
            steps.iter().for_each(|step| all.add(step));
            all
        };
        let lost =
            |of: &Newcomers| (of.clients > 0).then(|| 100.0 * of.lost as f64 / of.clients as f64);
        let as_usual =
            |steps: &[Newcomers]| sum(steps).mean().is_some_and(|mean| mean <= AS_USUAL * usual);
        // Without what a tenth leaves over in binary.
        let moment = |step: usize| step as f64 / (1.0 / Newcomers::STEP);
        let first = sum(steps.get(..TOGETHER).unwrap_or(steps));
        Some(Recovery {
            load_after_percent: 100.0 * load,
            dropped_after_seconds: at,
            usual_response_seconds: usual,
            recovery_seconds: steps.windows(TOGETHER).position(as_usual).map(moment),
            all_answered_after_seconds: steps
                .iter()
                .rposition(|step| step.lost > 0)
                .map_or(0.0, |last| moment(last + 1)),
            first_second_response_seconds: first.mean()?,
            first_second_lost_percent: lost(&first)?,
            lost_percent: lost(&sum(steps))?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_second_as_usual_counts() {
        let slow = Newcomers { clients: 4, lost: 1, seconds: 8.0 };
        let fast = Newcomers { clients: 4, lost: 0, seconds: 0.4 };
        let steps: Vec<_> = (0..40).map(|step| if step < 12 { slow } else { fast }).collect();
        let found = Recovery::new(0.5, 60.0, 0.1, &steps).unwrap();
        // Of the second from 1.2 on all are fast; with one slow step in ten the mean is 0.29.
        assert_eq!(found.recovery_seconds, Some(1.2));
        assert_eq!(found.all_answered_after_seconds, 1.2);
        assert_eq!(found.first_second_response_seconds, 2.0);
        assert_eq!((found.first_second_lost_percent, found.lost_percent), (25.0, 7.5));
        let never = Recovery::new(0.5, 60.0, 0.1, &steps[..12]).unwrap();
        assert_eq!(never.recovery_seconds, None);
        let at_once = Recovery::new(0.5, 60.0, 0.1, &steps[12..]).unwrap();
        assert_eq!(
            (at_once.recovery_seconds, at_once.all_answered_after_seconds),
            (Some(0.0), 0.0)
        );
        assert_eq!(Recovery::new(0.5, 60.0, 0.1, &[Newcomers::default(); 20]), None);
        assert_eq!(Recovery::new(0.5, 60.0, 0.1, &[]), None);
    }
}
