//! The highest rate at which a server keeps up in an open loop, found by trying rates. What a server
//! does in saturation is not it: then the disk always has many requests to choose from, and nobody who
//! waits asks for more. The run of a cell takes shares of it.

use weir_peers::Result;

use crate::cell::TRIALS;

/// Shares of what the server did in saturation between which the rate is searched for.
const LOWEST: f64 = 0.5;
const HIGHEST: f64 = 1.25;
/// A server keeps up with a rate if it has answered this share of the requests by the end of the trial.
const ANSWERED: f64 = 0.98;

/// Whether a server kept up.
pub(super) fn kept_up(requests: usize, answered: usize) -> bool {
    requests > 0 && answered as f64 >= ANSWERED * requests as f64
}

/// The highest rate with which the server keeps up, by halving: within 1.2 % of `saturated`, what it did
/// in saturation. `keeps_up` tries a rate. The lowest one is never tried: if none higher will do, it is
/// that.
///
/// # Errors
///
/// Those of `keeps_up`.
pub(super) fn search(saturated: f64, mut keeps_up: impl FnMut(f64) -> Result<bool>) -> Result<f64> {
    let (mut low, mut high) = (LOWEST * saturated, HIGHEST * saturated);
    for _ in 0..TRIALS {
        let middle = (low + high) / 2.0;
        if keeps_up(middle)? { low = middle } else { high = middle }
    }
    Ok(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_found_within_a_little_and_never_above() {
        for capacity in [520.0, 700.0, 999.0, 1200.0] {
            let mut trials = 0;
            let found = search(1000.0, |rate| {
                trials += 1;
                Ok(rate <= capacity)
            });
            let found = found.expect("no trial fails");
            assert!(found <= capacity && capacity - found < 12.0, "{found} of {capacity}");
            assert_eq!(trials, TRIALS);
        }
        assert_eq!(search(1000.0, |_| Ok(false)).expect("no trial fails"), 500.0);
        assert!(search(1000.0, |_| Err("it ended".into())).is_err());
    }

    #[test]
    fn a_backlog_is_not_keeping_up_and_nothing_is_no_trial() {
        assert!(kept_up(1000, 980) && !kept_up(1000, 979) && !kept_up(0, 0));
    }
}
