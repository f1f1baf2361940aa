//! How long the parts of a response may take. Used by [`super::response_wait`] until the head has
//! arrived, and by [`super::relay`] for the body.

use std::rc::Rc;
use std::time::Duration;

use tokio::time::Instant;

use super::request_body::Pipe;

/// How long a response may take.
#[derive(Clone, Debug)]
pub(super) struct ResponseTimeouts {
    /// The longest time in which the backend sends nothing.
    pub(super) idle: Duration,
    pub(super) total: TotalDeadline,
}

/// When the whole response must have arrived. Time in which the backend waits for the client, which
/// sends or reads slowly, does not count.
#[derive(Clone, Debug)]
pub(super) struct TotalDeadline {
    until: Option<Instant>,
    /// The request body, which may arrive slowly.
    pipe: Option<Rc<Pipe>>,
}

impl TotalDeadline {
    /// `limit` from now, when the request begins to be sent; `None`: no deadline.
    pub(super) fn new(limit: Option<Duration>, pipe: Option<&Rc<Pipe>>) -> TotalDeadline {
        let pipe = pipe.filter(|_| limit.is_some()).cloned();
        TotalDeadline { until: limit.map(|limit| Instant::now() + limit), pipe }
    }

    /// The deadline as far as it is known; it can become later.
    pub(super) fn until(&self) -> Option<Instant> {
        let starved = self.pipe.as_ref().map_or(Duration::ZERO, |pipe| pipe.starved_time());
        self.until.map(|until| until + starved)
    }

    /// The backend waited for the client for this long.
    pub(super) fn extend(&mut self, by: Duration) {
        self.until = self.until.map(|until| until + by);
    }
}
