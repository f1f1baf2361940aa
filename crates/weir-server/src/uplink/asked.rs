//! The round trip that a request names in its query, `?rtt=50` for 50 ms, as in the experiments of Rawat
//! 2003, section 3.2.3. The connection's flow looks at it only with `swift_round_trip = "request"`: whoever
//! asks could choose his priority.

use std::time::Duration;

/// The longest that is believed, in milliseconds.
const LONGEST: u64 = 10_000;

/// The round trip that this query names first; `None` without one, or if it is no whole number of
/// milliseconds from 0 to 10,000.
pub(super) fn round_trip(query: &str) -> Option<Duration> {
    let millis: u64 = query.split('&').find_map(|pair| pair.strip_prefix("rtt="))?.parse().ok()?;
    (millis <= LONGEST).then(|| Duration::from_millis(millis))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_milliseconds_are_believed() {
        let millis = |query| round_trip(query).map(|it| it.as_millis());
        assert_eq!((millis("rtt=50"), millis("a=1&rtt=250&b")), (Some(50), Some(250)));
        assert_eq!(millis("rtt=0"), Some(0));
        for bad in [
            "",
            "rtt",
            "rtt=",
            "rtt=-1",
            "rtt=1.5",
            "rtt=10001",
            "rtt=99999999999999999999",
            "xrtt=5",
            "rtt=5ms",
        ] {
            assert_eq!(millis(bad), None, "{bad}");
        }
    }
}
