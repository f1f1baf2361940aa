//! The highest rate at which a server keeps up in an open loop, found by trying rates. What a server
//! does in saturation is not it: then the disk always has many requests to choose from, and nobody who
//! waits asks for more. The run of a cell takes shares of it.

use weir_peers::Result;

use crate::cell::TRIALS;

/// Shares of what the server did in saturation between which the rate is searched for. In saturation
/// those who wait for the disk ask for nothing meanwhile, so that the disk has less to do for each
/// request than in an open loop.
const LOWEST: f64 = 0.3;
const HIGHEST: f64 = 1.2;
/// A server keeps up with a rate if by the end of the trial it has answered all but this share of as
/// many requests as are under way in saturation. A share of the requests of the trial would not do: one
/// in a hundred needs the disk, and of a server that answers the others it would say that it keeps up
/// while those pile up.
const UNANSWERED: f64 = 0.25;

/// Whether a server kept up that has `connections` requests under way in saturation.
pub(super) fn kept_up(requests: usize, answered: usize, connections: u32) -> bool {
    let unanswered = requests.saturating_sub(answered);
    requests > 0 && unanswered as f64 <= UNANSWERED * f64::from(connections)
}

/// The highest rate with which the server keeps up, by halving: within 1.5 % of `saturated`, what it did
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
        for capacity in [320.0, 700.0, 999.0, 1190.0] {
            let mut trials = 0;
            let found = search(1000.0, |rate| {
                trials += 1;
                Ok(rate <= capacity)
            });
            let found = found.expect("no trial fails");
            assert!(found <= capacity && capacity - found < 15.0, "{found} of {capacity}");
            assert_eq!(trials, TRIALS);
        }
        assert_eq!(search(1000.0, |_| Ok(false)).expect("no trial fails"), 300.0);
        assert!(search(1000.0, |_| Err("it ended".into())).is_err());
    }

    #[test]
    fn a_backlog_is_not_keeping_up_and_nothing_is_no_trial() {
        assert!(kept_up(9000, 8750, 1000) && !kept_up(9000, 8749, 1000) && !kept_up(0, 0, 1000));
    }
}
