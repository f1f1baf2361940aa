//! How long the parts of a response may take. Used by [`super::response_wait`] until the head has
//! arrived, and by [`super::relay`] for the body.

use std::rc::Rc;
use std::time::Duration;

use tokio::time::Instant;

use super::request_body::Pipe;

/// How long a response may take.
#[derive(Clone, Debug)]
pub(super) struct ResponseTimeouts {
    /// The longest time in which the backend sends nothing, and takes nothing of the request body.
    pub(super) idle: Duration,
    pub(super) total: TotalDeadline,
}

impl ResponseTimeouts {
    /// The body of the request, if it has one.
    pub(super) fn request_body(&self) -> Option<&Rc<Pipe>> {
        self.total.pipe.as_ref()
    }
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
        TotalDeadline { until: limit.map(|limit| Instant::now() + limit), pipe: pipe.cloned() }
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

/// When a backend last took some of a request body, as far as somebody looks now and then. A backend that
/// waits for more from the client has taken all it could.
#[derive(Debug)]
pub(super) struct BodyProgress {
    pipe: Rc<Pipe>,
    frames_taken: u64,
    last: Instant,
}

impl BodyProgress {
    /// From `now` on.
    pub(super) fn new(pipe: &Rc<Pipe>, now: Instant) -> BodyProgress {
        BodyProgress { pipe: pipe.clone(), frames_taken: pipe.frames_taken(), last: now }
    }

    /// Looks at `now`; returns when the backend last took some.
    pub(super) fn look(&mut self, now: Instant) -> Instant {
        let frames_taken = self.pipe.frames_taken();
        if self.pipe.is_starved() || frames_taken != self.frames_taken {
            (self.frames_taken, self.last) = (frames_taken, now);
        }
        self.last
    }

    /// Whether the backend may still take some.
    pub(super) fn goes_on(&self) -> bool {
        !self.pipe.is_taken()
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::sync::Arc;
    use std::task::{Context, Poll, Waker};

    use hyper::body::Body;

    use super::super::request_body::OutgoingBody;
    use super::*;
    use crate::body::{Limits, Space};

    /// An empty one, in memory.
    fn pipe() -> Rc<Pipe> {
        let account = Space::new(1 << 20, 0, None).account([10, 0, 0, 1].into());
        let limits = Limits { memory: 1 << 20, file: 0 };
        Pipe::new(limits, None, &account, Arc::default())
    }

    /// Has the backend take a frame; false if there is none.
    fn take(body: &mut OutgoingBody) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        matches!(Pin::new(body).poll_frame(&mut context), Poll::Ready(Some(Ok(_))))
    }

    #[test]
    fn a_backend_goes_on_that_takes_some_or_waits_for_more() {
        let pipe = pipe();
        let mut body = OutgoingBody::from(&pipe);
        let begun = Instant::now();
        let at = |seconds| begun + Duration::from_secs(seconds);
        let mut progress = BodyProgress::new(&pipe, begun);
        assert_eq!(progress.look(at(1)), at(1), "it waits for the client");
        (0..3).for_each(|_| pipe.copy(&[7; 16 * 1024]));
        assert_eq!(progress.look(at(2)), at(1), "it takes nothing");
        assert!(take(&mut body));
        assert_eq!(progress.look(at(3)), at(3));
        assert_eq!(progress.look(at(4)), at(3));
        pipe.end(None);
        assert!(take(&mut body) && take(&mut body));
        assert_eq!(progress.look(at(5)), at(5), "that was the last of it");
        assert!(!progress.goes_on());
        assert_eq!(progress.look(at(6)), at(5));
    }

    #[test]
    fn the_body_is_known_whether_or_not_a_call_has_a_deadline() {
        let pipe = pipe();
        for limit in [None, Some(Duration::from_secs(1))] {
            let total = TotalDeadline::new(limit, Some(&pipe));
            assert_eq!(total.until().is_some(), limit.is_some());
            let timeouts = ResponseTimeouts { idle: Duration::from_secs(1), total };
            assert!(timeouts.request_body().is_some());
        }
    }
}
