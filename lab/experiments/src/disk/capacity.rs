//! The highest rate at which a server keeps up in an open loop, found by trying rates. What a server
//! does in saturation is not it: then the disk always has many requests to choose from, and nobody who
//! waits asks for more. The run of a cell takes shares of it.

use weir_peers::Result;

use super::bench::Trial;
use crate::cell::{DISK_KEEPS_UP, TRIALS};
use crate::figures::Lags;
use crate::outcome::SearchEnd;

/// Shares of what the server did in saturation between which the rate is searched for. In saturation
/// those who wait for the disk ask for nothing meanwhile, so that the disk has less to do for each
/// request than in an open loop.
const LOWEST: f64 = 0.1;
const HIGHEST: f64 = 1.2;
/// A server keeps up with a rate if by the end of the trial it has answered all but this share of as
/// many requests as are under way in saturation. A share of the requests of the trial would not do: one
/// in a hundred needs the disk, and of a server that answers the others it would say that it keeps up
/// while those pile up.
const UNANSWERED: f64 = 0.25;

/// Whether a server kept up that has `connections` requests under way in saturation, and its disk with it.
pub(super) fn kept_up(trial: &Trial, connections: u32) -> bool {
    let unanswered = trial.requests.saturating_sub(trial.answered) as f64;
    let most = UNANSWERED * f64::from(connections);
    trial.requests > 0 && unanswered <= most && trial.busy <= DISK_KEEPS_UP
}

/// What a rate came to that was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tried {
    KeptUp,
    /// The server answered too little by the end, or its disk was busy nearly all the time.
    Behind,
    /// The clients were late, so the trial says nothing of the server.
    ClientsLate,
}

/// What a trial came to. Clients who were late, in asking or in reading what the server had answered, say
/// nothing of it.
pub(super) fn tried(kept_up: bool, lags: Lags) -> Tried {
    match (lags.are_small(), kept_up) {
        (true, true) => Tried::KeptUp,
        (true, false) => Tried::Behind,
        (false, _) => Tried::ClientsLate,
    }
}

/// What to make of a rate. A server that is behind may still have worked for clients of an earlier trial
/// who have left, so it is behind if it is so twice. Clients who are late in all `tries` cannot send so
/// much.
///
/// # Errors
///
/// Those of `trial`.
pub(super) fn decide(tries: usize, mut trial: impl FnMut() -> Result<Tried>) -> Result<Tried> {
    let (mut behind, mut late) = (0, 0);
    loop {
        let tried = trial()?;
        match tried {
            Tried::KeptUp => {}
            Tried::Behind => behind += 1,
            Tried::ClientsLate => late += 1,
        }
        if tried == Tried::KeptUp || behind == 2 || late >= tries {
            return Ok(tried);
        }
    }
}

/// What a search found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Found {
    /// Requests per second; none if the server kept up with no rate.
    pub(super) capacity: Option<f64>,
    pub(super) end: SearchEnd,
}

/// The highest rate with which the server keeps up, by halving: within 1 % of `saturated`, what it did
/// in saturation. `try_rate` tries a rate. The lowest one of all is never tried, so it is no capacity.
///
/// # Errors
///
/// Those of `try_rate`.
pub(super) fn search(
    saturated: f64,
    mut try_rate: impl FnMut(f64) -> Result<Tried>,
) -> Result<Found> {
    let (mut low, mut high) = (LOWEST * saturated, HIGHEST * saturated);
    let mut found = Found { capacity: None, end: SearchEnd::Bracket };
    for _ in 0..TRIALS {
        let middle = (low + high) / 2.0;
        let end = match try_rate(middle)? {
            Tried::KeptUp => {
                low = middle;
                found.capacity = Some(middle);
                continue;
            }
            Tried::Behind => SearchEnd::Server,
            Tried::ClientsLate => SearchEnd::Clients,
        };
        (high, found.end) = (middle, end);
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_is_found_within_a_little_and_never_above() {
        for capacity in [120.0, 320.0, 700.0, 999.0, 1190.0] {
            let mut trials = 0;
            let found = search(1000.0, |rate| {
                trials += 1;
                Ok(if rate <= capacity { Tried::KeptUp } else { Tried::Behind })
            });
            let found = found.expect("no trial fails").capacity.expect("a rate");
            assert!(found <= capacity && capacity - found < 10.0, "{found} of {capacity}");
            assert_eq!(trials, TRIALS);
        }
        assert!(search(1000.0, |_| Err("it ended".into())).is_err());
    }

    #[test]
    fn without_a_rate_it_kept_up_with_there_is_none_and_the_end_is_that_of_the_lowest_failure() {
        let of = |try_rate: &dyn Fn(f64) -> Tried| {
            search(1000.0, |rate| Ok(try_rate(rate))).expect("no trial fails")
        };
        let none = Found { capacity: None, end: SearchEnd::Server };
        assert_eq!(of(&|_| Tried::Behind), none);
        let above = of(&|_| Tried::KeptUp);
        assert!(above.capacity.is_some_and(|rate| rate > 1180.0), "{above:?}");
        assert_eq!(above.end, SearchEnd::Bracket);
        let late = |rate: f64| if rate > 500.0 { Tried::ClientsLate } else { Tried::KeptUp };
        assert_eq!(of(&late).end, SearchEnd::Clients);
    }

    #[test]
    fn a_server_is_behind_twice_before_that_decides() {
        use Tried::{Behind, ClientsLate, KeptUp};
        for (trials, tries, expected) in [
            (vec![Behind, KeptUp], 3, KeptUp),
            (vec![Behind, Behind], 1, Behind),
            (vec![ClientsLate, Behind, ClientsLate, Behind], 3, Behind),
            (vec![ClientsLate, ClientsLate, ClientsLate], 3, ClientsLate),
            (vec![ClientsLate], 1, ClientsLate),
        ] {
            let mut rest = trials.iter().copied();
            let found = decide(tries, || Ok(rest.next().expect("no further trial")));
            assert_eq!(found.expect("no trial fails"), expected);
            assert_eq!(rest.next(), None, "{trials:?}");
        }
    }

    #[test]
    fn a_trial_of_late_clients_says_nothing_of_the_server() {
        let of = |kept_up, start, read| tried(kept_up, Lags { start, read });
        assert_eq!([of(true, 0.5, 0.5), of(false, 0.5, 0.5)], [Tried::KeptUp, Tried::Behind]);
        for (start, read) in [(1.5, 0.5), (0.5, 1.5), (f64::NAN, 0.5), (0.5, f64::NAN)] {
            for kept_up in [true, false] {
                assert_eq!(of(kept_up, start, read), Tried::ClientsLate);
            }
        }
    }

    #[test]
    fn a_backlog_or_a_full_disk_is_not_keeping_up_and_nothing_is_no_trial() {
        let of = |requests, answered, busy| {
            let lags = Lags { start: 0.0, read: 0.0 };
            kept_up(&Trial { requests, answered, busy, lags }, 1000)
        };
        assert!(of(9000, 8750, 0.9) && !of(9000, 8749, 0.9) && !of(0, 0, 0.0));
        assert!(!of(9000, 9000, 0.96));
    }
}
