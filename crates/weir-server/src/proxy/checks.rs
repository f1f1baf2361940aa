//! Asks backends now and then whether they are well. It does not decide what follows from that.

use std::sync::Arc;
use std::time::Duration;

use http::{Request, StatusCode, header};
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::backend::Backend;
use super::conn::Conn;
use super::outgoing::Outgoing;
use crate::config::HealthCheck;
use crate::limits;

/// Checks `backend` for as long as the worker runs. Checks do not wait at its gate: an overloaded
/// backend is not a broken one as long as it answers these within their time.
pub(super) async fn run(backend: Arc<Backend>, check: HealthCheck) {
    let mut turns = interval(check.interval.max(Duration::from_millis(10)));
    turns.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        turns.tick().await;
        let well = timeout(check.timeout, is_well(&backend, &check)).await.unwrap_or(Some(false));
        if let Some(well) = well {
            backend.checked(well);
        }
    }
}

/// Any answer from 200 to 399 is a good one. `None`: it could not be asked, for want of a descriptor.
async fn is_well(backend: &Backend, check: &HealthCheck) -> Option<bool> {
    let mut conn = match Conn::open(&backend.address).await {
        Ok(conn) => conn,
        Err(error) => return (!limits::is_own(&error)).then_some(false),
    };
    let request = Request::get(check.path.as_str())
        .header(header::HOST, &backend.authority)
        .header(header::CONNECTION, "close")
        .header(header::USER_AGENT, "weir-check")
        .body(Outgoing::none());
    let Ok(request) = request else { return Some(false) };
    let mut answer = conn.start(request);
    let answer = std::future::poll_fn(|context| conn.poll_answer(&mut answer, context)).await;
    let is_good = |status: StatusCode| status.is_success() || status.is_redirection();
    Some(answer.is_ok_and(|answer| is_good(answer.status())))
}
