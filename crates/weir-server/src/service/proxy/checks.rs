//! Asks backends now and then whether they are well. It does not decide what follows from that.

use std::sync::Arc;
use std::time::Duration;

use http::{Request, header};
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::backend::Backend;
use super::conn::Conn;
use super::outgoing::Outgoing;
use crate::config::HealthCheck;
use crate::sys::descriptors;

/// Checks `backend` for as long as the worker runs. Checks do not wait at its gate: an overloaded
/// backend is not a broken one as long as it answers these within their time.
pub(super) async fn run(backend: Arc<Backend>, check: HealthCheck) {
    let mut turns = interval(check.interval.max(Duration::from_millis(10)));
    turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        turns.tick().await;
        let found = timeout(check.timeout, look(&backend, &check)).await;
        let late = Err(format!("no answer in {:?} to GET {}", check.timeout, check.path));
        if let Some(found) = found.unwrap_or(Some(late)) {
            backend.checked(found);
        }
    }
}

/// Any answer from 200 to 399 is a good one; otherwise what it came to. `None`: it could not be asked,
/// for want of a descriptor.
async fn look(backend: &Backend, check: &HealthCheck) -> Option<Result<(), String>> {
    match Conn::open(&backend.address).await {
        Ok(conn) => Some(ask(conn, backend, check).await),
        Err(error) if descriptors::is_own(&error) => None,
        Err(error) => Some(Err(format!("cannot be reached: {error}"))),
    }
}

async fn ask(mut conn: Conn, backend: &Backend, check: &HealthCheck) -> Result<(), String> {
    let request = Request::get(check.path.as_str())
        .header(header::HOST, &backend.authority)
        .header(header::CONNECTION, "close")
        .header(header::USER_AGENT, "weir-check")
        .body(Outgoing::none());
    let request = request.map_err(|error| format!("GET {}: {error}", check.path))?;
    let mut answer = conn.start(request);
    let answer = std::future::poll_fn(|context| conn.poll_answer(&mut answer, context)).await;
    match answer {
        Ok(answer) if answer.status().is_success() || answer.status().is_redirection() => Ok(()),
        Ok(answer) => Err(format!("{} to GET {}", answer.status(), check.path)),
        Err(unanswered) => Err(format!("no answer to GET {}: {}", check.path, unanswered.error)),
    }
}
