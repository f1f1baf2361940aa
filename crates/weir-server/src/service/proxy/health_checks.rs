//! Health checks: GET requests to backends at an interval. Run by the first worker;
//! [`super::backend`] decides what follows.

use std::sync::Weak;
use std::time::Duration;

use http::{Request, header};
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::backend::Backend;
use super::connection::Conn;
use super::request_body::OutgoingBody;
use crate::config::HealthCheck;
use crate::sys::descriptors;

/// Checks `backend` for as long as a route or a request under way names it. Checks do not wait at its gate:
/// an overloaded backend is not a broken one as long as it answers these within their time.
pub(super) async fn run(backend: Weak<Backend>, check: HealthCheck) {
    let mut ticks = interval(check.interval.max(Duration::from_millis(10)));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let Some(backend) = backend.upgrade() else { return };
        let found = timeout(check.timeout, check_once(&backend, &check)).await;
        let late = Err(format!("no answer in {:?} to GET {}", check.timeout, check.path));
        if let Some(found) = found.unwrap_or(Some(late)) {
            backend.checked(found);
        }
    }
}

/// A status from 200 to 399 is healthy; an error says what came instead. `None`: nothing was checked,
/// as no descriptor was left.
async fn check_once(backend: &Backend, check: &HealthCheck) -> Option<Result<(), String>> {
    match Conn::open(&backend.address, backend.tls().as_ref()).await {
        Ok(conn) => Some(request(conn, backend, check).await),
        Err(error) if descriptors::is_own(&error) => None,
        Err(error) => Some(Err(format!("cannot be reached: {error}"))),
    }
}

async fn request(mut conn: Conn, backend: &Backend, check: &HealthCheck) -> Result<(), String> {
    let request = Request::get(check.path.as_str())
        .header(header::HOST, &backend.authority)
        .header(header::CONNECTION, "close")
        .header(header::USER_AGENT, "weir-check")
        .body(OutgoingBody::none());
    let request = request.map_err(|error| format!("GET {}: {error}", check.path))?;
    let mut response = conn.send(request);
    let response = std::future::poll_fn(|context| conn.poll_response(&mut response, context)).await;
    match response {
        Ok(response) if response.status().is_success() || response.status().is_redirection() => {
            Ok(())
        }
        Ok(response) => Err(format!("{} to GET {}", response.status(), check.path)),
        Err(failed) => Err(format!("no answer to GET {}: {}", check.path, failed.why())),
    }
}
