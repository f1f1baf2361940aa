//! Figures of one outcome that several experiments compare.

use crate::outcome::Outcome;

/// What a figure of an outcome is.
pub(crate) type Measure = fn(&Outcome) -> f64;

/// Mean response time in milliseconds.
pub(crate) fn mean(outcome: &Outcome) -> f64 {
    outcome.measured.mean
}

/// Mean response time of the largest 1 %, in milliseconds.
pub(crate) fn largest(outcome: &Outcome) -> f64 {
    outcome.measured.largest
}

/// Mean link use in overload.
pub(crate) fn link_use(outcome: &Outcome) -> f64 {
    outcome.link_use.iter().sum::<f64>() / outcome.link_use.len() as f64
}

/// Connections refused for want of room in the listen queue.
pub(crate) fn listen_drops(outcome: &Outcome) -> f64 {
    outcome.samples.last().map_or(f64::NAN, |sample| sample.listen_drops as f64)
}

/// Most connections at once: established, half open and closing.
pub(crate) fn most_connections(outcome: &Outcome) -> f64 {
    let counts =
        outcome.samples.iter().map(|s| f64::from(s.established + s.syn_received + s.closing));
    counts.fold(f64::NAN, f64::max)
}
