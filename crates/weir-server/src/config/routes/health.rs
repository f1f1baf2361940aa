//! The table of keys about checks of backends, which is a table in a `[[route]]`. Read with the other keys of
//! routes; the proxy checks by it.

use std::time::Duration;

use weir_units::Count;

use super::path::SentPath;
use crate::config::table::settings;
use crate::config::value::table_value;
use crate::config::values::Timeout;

settings! {
    /// The keys of `[route.health]`.
    pub struct HealthKeys;

    /// How backends are checked.
    #[derive(PartialEq, Eq)]
    pub struct HealthCheck {}

    "Health of backends" {
        /// The path to ask for
        path: SentPath<true> = SentPath("/".to_owned()),
        example "/healthz";

        /// Time from one check to the next
        interval: Timeout = Timeout::seconds(5),
        example "10s";

        /// Longest time for an answer, at most `interval`
        timeout: Timeout => |given| given.usual_timeout(),
        else "2s, or `interval` if that is less",
        example "1s";

        /// Consecutive good checks that bring an unhealthy backend back
        healthy: Count<1, 100> = Count::clamped(2),
        example 1;

        /// Consecutive bad checks that mark a backend unhealthy
        unhealthy: Count<1, 100> = Count::clamped(3),
        example 5;
    }
}

impl HealthKeys {
    fn usual_timeout(&self) -> Timeout {
        let interval = self.interval.unwrap_or(Timeout::seconds(5));
        Timeout(interval.0.min(Duration::from_secs(2)))
    }
}

table_value!(HealthKeys => HealthCheck);
