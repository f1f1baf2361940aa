//! How long clients may take: the time-outs of the configuration. Used by connections, `send` and the
//! proxy.

use std::time::Duration;

use super::rate::MinRate;
use crate::config::Config;

/// How long clients may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    pub(crate) head: Duration,
    pub(crate) idle: Duration,
    pub(crate) handshake: Duration,
    pub(crate) send: Duration,
    pub(crate) stop: Duration,
    /// Slower clients are let go.
    pub(crate) rate: MinRate,
}

impl Times {
    pub(crate) fn new(config: &Config) -> Times {
        Times {
            head: config.header_timeout,
            idle: config.idle_timeout,
            handshake: config.handshake_timeout,
            send: config.send_timeout,
            stop: config.stop_timeout,
            rate: MinRate { bytes_per_second: config.min_rate, period: config.min_rate_period },
        }
    }
}
