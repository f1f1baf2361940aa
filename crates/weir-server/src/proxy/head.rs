//! Waits for the head of an answer: as long as the client is there, its request still comes, and the
//! backend may take. It does not know what becomes of the answer.

use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use http::Response;
use hyper::body::Incoming;
use tokio::time::{Instant, sleep};
use weir_http::response::still_there;

use super::asked::Asked;
use super::backend::Backend;
use super::call::Exchange;
use super::conn::Unanswered;
use super::interim::{Fate, Interim};
use super::outgoing::{Cut, Pipe};
use super::relay::Total;
use super::trouble::Trouble;
use super::watch;

/// A backend that has waited so long for more of a request's body is held up by the client: its slot
/// goes to others.
const HELD_UP: Duration = Duration::from_millis(100);

/// How often it is looked whether it waits at all: a client that sends slowly and steadily holds it up
/// as well.
const LOOK: Duration = Duration::from_secs(1);

/// A call whose answer has not begun.
pub(super) struct Call<'a> {
    pub(super) asked: &'a Asked<'a>,
    pub(super) pipe: Option<&'a Rc<Pipe>>,
    pub(super) backend: &'a Backend,
    /// Its connection had been used before.
    pub(super) reused: bool,
    /// When its answer must have ended.
    pub(super) total: Total,
}

/// What a wait came to.
enum Came {
    Head(Result<Response<Incoming>, Unanswered>),
    /// The backend took too long.
    Late,
    /// The client has left.
    Left,
    /// The rest of the request will not come.
    Cut,
}

impl Call<'_> {
    /// The head of the answer, and the call.
    pub(super) async fn head(
        &self,
        mut exchange: Exchange,
        interim: Interim,
    ) -> Result<(Exchange, Response<Incoming>), Trouble> {
        let client = self.asked.client;
        let edits = self.asked.route.response_edits();
        let pass_on = || interim.pass_on(client, edits);
        let head = async {
            if let Some(pipe) = self.pipe.filter(|pipe| !pipe.is_taken())
                // Boxed: most requests have no body, and need no room for this.
                && let Some(came) = Box::pin(self.while_body_goes(&mut exchange, pipe, &pass_on)).await
            {
                return came;
            }
            let until = self.total.until();
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            let longest = self.asked.route.shared.config.first_byte_timeout;
            let longest = longest.min(left.unwrap_or(Duration::MAX));
            match client.within(longest, exchange.head(pass_on)).await {
                Some(head) => Came::Head(head),
                None => Came::Late,
            }
        };
        let came = tokio::select! {
            biased;
            came = head => came,
            () = until(|| interim.fate() != Fate::GoesOn) => Came::Left,
            () = departure(self.asked, self.backend) => Came::Left,
        };
        let head = self.settled(exchange, came, interim.fate());
        match (head, interim.fate()) {
            (head, Fate::GoesOn | Fate::TooMany) => head,
            (Ok((mut exchange, head)), Fate::Broken) => {
                exchange.has_answered();
                exchange.abandon(Some(head.into_body()));
                Err(Trouble::ClientLeft)
            }
            // No answer can follow half of an interim one, not even that there is none.
            (Err(_), Fate::Broken) => Err(Trouble::ClientLeft),
        }
    }

    /// What follows for the call.
    fn settled(
        &self,
        mut exchange: Exchange,
        came: Came,
        interim: Fate,
    ) -> Result<(Exchange, Response<Incoming>), Trouble> {
        match came {
            _ if interim == Fate::TooMany => {
                let why = "it sent more than 64 KB of interim answers";
                exchange.blame(why);
                exchange.failed();
                Err(Trouble::Nonsense(why))
            }
            Came::Head(Ok(head)) => Ok((exchange, head)),
            Came::Head(Err(Unanswered { error, unsent })) => {
                // That a kept connection was closed meanwhile says nothing of the backend.
                if self.reused {
                    exchange.take_back();
                } else {
                    exchange.blame(&error);
                    exchange.failed();
                }
                Err(Trouble::Ended { reused: self.reused, unsent, why: error.to_string() })
            }
            Came::Late => {
                exchange.blame(Trouble::TimedOut);
                // It may be at work still.
                exchange.let_end(None);
                Err(Trouble::TimedOut)
            }
            Came::Left if self.pipe.is_none_or(|pipe| pipe.has_ended()) => {
                exchange.abandon(None);
                Err(Trouble::ClientLeft)
            }
            Came::Left | Came::Cut => {
                // Also where nothing of the body is read, because the backend takes no more.
                self.pipe.inspect(|pipe| pipe.cut(Cut { left: true }));
                exchange.cut_short();
                Err(Trouble::ClientLeft)
            }
        }
    }

    /// The same until the backend has taken the whole body, which is `None`.
    async fn while_body_goes(
        &self,
        exchange: &mut Exchange,
        pipe: &Pipe,
        pass_on: impl Fn(),
    ) -> Option<Came> {
        let idle = self.asked.route.shared.config.idle_timeout;
        let (mut taken, mut since) = (pipe.taken(), Instant::now());
        let mut looked = since;
        loop {
            tokio::select! {
                biased;
                () = until(|| pipe.why_cut().is_some()) => return Some(Came::Cut),
                head = exchange.head(&pass_on) => return Some(Came::Head(head)),
                () = until(|| pipe.is_taken()) => return None,
                () = sleep(HELD_UP) => {}
            }
            if self.total.until().is_some_and(|until| until <= Instant::now()) {
                return Some(Came::Late);
            }
            let looks = looked.elapsed() >= LOOK;
            if looks {
                looked = Instant::now();
            }
            if pipe.starves() >= HELD_UP || looks && pipe.is_starved() {
                // Its client holds it up, and must not hold up others.
                exchange.free_slot();
            }
            if pipe.is_starved() || pipe.taken() != taken {
                (taken, since) = (pipe.taken(), Instant::now());
            } else if since.elapsed() > idle {
                return Some(Came::Late);
            }
        }
    }
}

/// Waits for what the task itself brings about.
async fn until(condition: impl Fn() -> bool) {
    poll_fn(|_| if condition() { Poll::Ready(()) } else { Poll::Pending }).await;
}

/// Waits until the client is found to have left, as its route looks for it.
pub(super) async fn departure(asked: &Asked<'_>, backend: &Backend) {
    let config = &asked.route.shared.config;
    let question = still_there(asked.request.version);
    watch::gone(asked.client, backend, config.detection(), config.half_closed, question).await;
}
