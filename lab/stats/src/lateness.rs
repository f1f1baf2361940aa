//! Which requests finished later than on a reference server, such as exact processor sharing of the
//! same trace. The experiments count them.

use serde::{Deserialize, Serialize};

/// Lateness of requests against a reference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lateness {
    /// Requests that the reference finished.
    pub requests: usize,
    /// Which of them (by their order in the input) are late by more than the threshold, or never
    /// finished.
    pub late: Vec<usize>,
    /// How many of those never finished.
    pub never: usize,
    /// Late requests ÷ requests.
    pub share: f64,
    /// Seconds by which the worst of those that finished did so after the reference; negative if
    /// all were earlier, `None` if none finished.
    pub worst: Option<f64>,
}

impl Lateness {
    /// Compares finish times with reference finish times, both seconds from the start of the run.
    /// Late is what finishes more than `threshold` seconds after the reference, or never (`None`,
    /// or not finite). What the reference never finishes cannot be late and is left out; `None` if
    /// nothing remains.
    pub fn of(
        finishes: impl IntoIterator<Item = (Option<f64>, f64)>,
        threshold: f64,
    ) -> Option<Lateness> {
        let mut found =
            Lateness { requests: 0, late: Vec::new(), never: 0, share: 0.0, worst: None };
        for (index, (finish, reference)) in finishes.into_iter().enumerate() {
            if !reference.is_finite() {
                continue;
            }
            found.requests += 1;
            let Some(finish) = finish.filter(|finish| finish.is_finite()) else {
                found.never += 1;
                found.late.push(index);
                continue;
            };
            let behind = finish - reference;
            if behind > threshold {
                found.late.push(index);
            }
            found.worst = Some(found.worst.map_or(behind, |worst| worst.max(behind)));
        }
        found.share = found.late.len() as f64 / found.requests.max(1) as f64;
        (found.requests > 0).then_some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_is_more_than_the_threshold_or_never() {
        let finishes = [(Some(1.04), 1.0), (Some(1.06), 1.0), (None, 1.0), (Some(f64::NAN), 1.0)];
        let found = Lateness::of(finishes, 0.05).unwrap();
        assert_eq!(found.late, [1, 2, 3]);
        assert_eq!((found.requests, found.never, found.share), (4, 2, 0.75));
        assert!((found.worst.unwrap() - 0.06).abs() < 1e-9);
    }

    #[test]
    fn earlier_is_never_late_but_has_a_worst() {
        let found = Lateness::of([(Some(1.0), 3.0), (Some(2.0), 3.0)], 0.05).unwrap();
        assert_eq!((found.share, found.worst), (0.0, Some(-1.0)));
    }

    #[test]
    fn nothing_to_compare_is_none() {
        assert_eq!(Lateness::of([], 0.05), None);
        assert_eq!(Lateness::of([(Some(1.0), f64::NAN)], 0.05), None);
        assert_eq!(Lateness::of([(None, 1.0)], 0.05).unwrap().worst, None);
    }
}
