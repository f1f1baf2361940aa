//! Slowdown: how many times longer a response took than it would have alone on the link. It does
//! not know the link; the caller says what a response costs there.

use serde::{Deserialize, Serialize};

use crate::samples::mean;
use crate::summary::{Response, by_size, by_size_group};

/// Groups of equal number, in the order of size, of [`Slowdown::by_size`].
pub const GROUPS: usize = 100;

/// Slowdown of a set of responses: response time ÷ service time. 1 is alone on the link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Slowdown {
    /// How many responses have one.
    pub count: usize,
    /// The mean.
    pub mean: f64,
    /// The worst.
    pub max: f64,
    /// Mean by percentile of size, smallest first: [`GROUPS`] values; `None` where fewer responses
    /// than groups leave one empty.
    pub by_size: Vec<Option<f64>>,
}

impl Slowdown {
    /// The slowdown of responses on a link of `bytes_per_second`, on which a body of so many bytes
    /// costs `wire` bytes. Left out are responses that never came (their time is not finite) and
    /// those that cost nothing. `None` if none remains or the link has no rate.
    pub fn of(
        responses: &[Response],
        bytes_per_second: f64,
        wire: impl Fn(u64) -> u64,
    ) -> Option<Slowdown> {
        if !bytes_per_second.is_finite() || bytes_per_second <= 0.0 {
            return None;
        }
        let slowed = |&(size, time): &Response| {
            let slowdown = time * bytes_per_second / wire(size) as f64;
            slowdown.is_finite().then_some((size, slowdown))
        };
        let slowdowns: Vec<Response> = responses.iter().filter_map(slowed).collect();
        Some(Slowdown {
            count: slowdowns.len(),
            mean: mean(slowdowns.iter().map(|&(_, slowdown)| slowdown))?,
            max: slowdowns.iter().map(|&(_, slowdown)| slowdown).max_by(f64::total_cmp)?,
            by_size: by_size_group(&by_size(&slowdowns), GROUPS),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alone_on_the_link_is_one() {
        let wire = |size| size + 100;
        // 1000 bytes a second: 900 bytes take 1 s, 1900 take 2 s.
        let found = Slowdown::of(&[(1900, 2.0), (900, 5.0)], 1000.0, wire).unwrap();
        assert_eq!((found.count, found.mean, found.max), (2, 3.0, 5.0));
        let groups: Vec<f64> = found.by_size.iter().flatten().copied().collect();
        assert_eq!(groups, [5.0, 1.0], "smallest first");
    }

    #[test]
    fn no_response_no_rate_or_no_cost_is_none() {
        assert_eq!(Slowdown::of(&[], 1000.0, |size| size), None);
        assert_eq!(Slowdown::of(&[(1, 1.0)], 0.0, |size| size), None);
        assert_eq!(Slowdown::of(&[(1, 1.0)], f64::NAN, |size| size), None);
        assert_eq!(Slowdown::of(&[(0, 1.0), (0, 0.0), (1, f64::NAN)], 1.0, |size| size), None);
    }
}
