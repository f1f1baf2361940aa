//! Waits for the head of a response: until it arrives, the client leaves, the rest of the request
//! fails to arrive, or the backend takes too long. Used by [`super::attempt`].

use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use http::Response;
use hyper::body::Incoming;
use tokio::time::{Instant, sleep};

use super::backend::Backend;
use super::call::BackendCall;
use super::client_watch;
use super::connection::NoResponse;
use super::error::AttemptError;
use super::interim::{InterimResponses, InterimState};
use super::proxy_request::ProxyRequest;
use super::request_body::{IncompleteBody, Pipe};
use super::timeouts::{BodyProgress, TotalDeadline};
use crate::client::Requester;

/// A backend that has waited this long for more of a request body waits for the client: its slot goes
/// to others.
const STARVED_TOO_LONG: Duration = Duration::from_millis(100);

/// How often to check whether it waits at all: a client that sends slowly but steadily delays it as
/// well.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// A call whose response has not begun.
pub(super) struct ResponseWait<'a, R> {
    pub(super) proxied: &'a ProxyRequest<'a, R>,
    pub(super) pipe: Option<&'a Rc<Pipe>>,
    pub(super) backend: &'a Backend,
    /// Its connection was used before.
    pub(super) reused: bool,
    /// When its response must have ended.
    pub(super) total: TotalDeadline,
}

/// What ended the wait.
enum Event {
    Head(Result<Response<Incoming>, NoResponse>),
    /// The backend took too long.
    TimedOut,
    /// The client has left.
    ClientLeft,
    /// The rest of the request will not arrive.
    BodyIncomplete,
}

impl<R: Requester> ResponseWait<'_, R> {
    /// The head of the response, and the call.
    pub(super) async fn head(
        &self,
        mut call: BackendCall,
        interim: InterimResponses,
    ) -> Result<(BackendCall, Response<Incoming>), AttemptError> {
        // Boxed without the call: memory of this size is at hand, of both together it is not.
        let event = Box::pin(self.event(&mut call, &interim)).await;
        let head = self.conclude(call, event, interim.state());
        match (head, interim.state()) {
            (head, InterimState::Fine | InterimState::TooLarge) => head,
            (Ok((mut call, head)), InterimState::Broken) => {
                call.has_answered();
                call.abandon(Some(head.into_body()));
                Err(AttemptError::ClientLeft)
            }
            // Nothing can follow half an interim response, not even an error.
            (Err(_), InterimState::Broken) => Err(AttemptError::ClientLeft),
        }
    }

    /// What ends the wait.
    async fn event(&self, call: &mut BackendCall, interim: &InterimResponses) -> Event {
        tokio::select! {
            biased;
            event = self.awaited(call, interim) => event,
            () = until(|| interim.state() != InterimState::Fine) => Event::ClientLeft,
            () = client_departure(self.proxied, self.backend) => Event::ClientLeft,
        }
    }

    /// The head, or what comes instead of it but for the client's departure.
    async fn awaited(&self, call: &mut BackendCall, interim: &InterimResponses) -> Event {
        let client = self.proxied.client;
        let edits = self.proxied.route.response_edits();
        let pass_on = || interim.pass_on(client, edits);
        if let Some(pipe) = self.pipe.filter(|pipe| !pipe.is_taken())
            // Boxed: most requests have no body, and need no room for this.
            && let Some(event) = Box::pin(self.while_sending_body(call, pipe, &pass_on)).await
        {
            return event;
        }
        let until = self.total.until();
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let limit = self.proxied.route.shared.config.first_byte_timeout;
        let limit = limit.min(left.unwrap_or(Duration::MAX));
        match client.within(limit, call.head(pass_on)).await {
            Some(head) => Event::Head(head),
            None => Event::TimedOut,
        }
    }

    /// Ends or continues the call after what ended the wait.
    fn conclude(
        &self,
        mut call: BackendCall,
        event: Event,
        interim: InterimState,
    ) -> Result<(BackendCall, Response<Incoming>), AttemptError> {
        match event {
            _ if interim == InterimState::TooLarge => {
                let why = "it sent more than 64 KB of interim responses";
                call.blame(why);
                call.failed();
                Err(AttemptError::InvalidResponse(why))
            }
            Event::Head(Ok(head)) => Ok((call, head)),
            Event::Head(Err(failed)) => {
                let (why, unsent) = (failed.why(), failed.unsent);
                // That an idle connection was closed meanwhile is no sign of the backend's health.
                if self.reused {
                    call.inconclusive();
                } else {
                    call.blame(&why);
                    call.failed();
                }
                Err(AttemptError::ConnectionClosed { reused: self.reused, unsent, why })
            }
            Event::TimedOut => {
                call.blame(AttemptError::TimedOut);
                // It may still be working on it.
                call.drain(None);
                Err(AttemptError::TimedOut)
            }
            Event::ClientLeft if self.pipe.is_none_or(|pipe| pipe.has_ended()) => {
                call.abandon(None);
                Err(AttemptError::ClientLeft)
            }
            Event::ClientLeft => {
                // Also if nothing of the body is being read, because the backend takes no more.
                self.pipe.inspect(|pipe| pipe.abort(IncompleteBody { client_left: true }));
                call.abort();
                Err(AttemptError::ClientLeft)
            }
            Event::BodyIncomplete => {
                let loss = self.pipe.and_then(|pipe| pipe.loss());
                call.abort();
                Err(loss.map_or(AttemptError::ClientLeft, AttemptError::BodyLost))
            }
        }
    }

    /// The same while the request body is sent; `None` once the backend has taken all of it.
    async fn while_sending_body(
        &self,
        call: &mut BackendCall,
        pipe: &Rc<Pipe>,
        pass_on: impl Fn(),
    ) -> Option<Event> {
        let idle = self.proxied.route.shared.config.idle_timeout;
        let mut checked = Instant::now();
        let mut progress = BodyProgress::new(pipe, checked);
        loop {
            tokio::select! {
                biased;
                () = until(|| pipe.incomplete().is_some()) => return Some(Event::BodyIncomplete),
                head = call.head(&pass_on) => return Some(Event::Head(head)),
                () = until(|| pipe.is_taken()) => return None,
                () = sleep(STARVED_TOO_LONG) => {}
            }
            if self.total.until().is_some_and(|until| until <= Instant::now()) {
                return Some(Event::TimedOut);
            }
            let is_due = checked.elapsed() >= CHECK_INTERVAL;
            if is_due {
                checked = Instant::now();
            }
            if pipe.starving_for() >= STARVED_TOO_LONG || is_due && pipe.is_starved() {
                // The backend waits for the client: others must not.
                call.free_slot();
            }
            if progress.look(Instant::now()).elapsed() > idle {
                return Some(Event::TimedOut);
            }
        }
    }
}

/// Waits until `condition` holds, which is looked at whenever the task is polled.
async fn until(condition: impl Fn() -> bool) {
    poll_fn(|_| if condition() { Poll::Ready(()) } else { Poll::Pending }).await;
}

/// Waits until the client is found to have left, by the route's way of detecting that.
pub(super) async fn client_departure(
    proxied: &ProxyRequest<'_, impl Requester>,
    backend: &Backend,
) {
    let config = &proxied.route.shared.config;
    let (detection, half_closed) = (config.detection(), config.half_closed);
    client_watch::client_gone(proxied.client, backend, detection, half_closed).await;
}
