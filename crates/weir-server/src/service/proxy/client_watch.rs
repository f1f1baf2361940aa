//! Whether the client of a request is still there, detected in the way that its route configures
//! (Carter & Cherkasova 1999, section 2). Used by [`super::attempt`] and [`super::response_wait`].

use std::time::Duration;

use super::backend::Backend;
use crate::client::{Left, Requester};
use crate::config::{DetectWhen, Detection, DisconnectDetection, HalfClosed};

/// How often to look at a client, where no event tells.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Waits until the client has gone, as far as its route detects that.
pub(super) async fn client_gone(
    client: &impl Requester,
    backend: &Backend,
    detection: Detection,
    half_closed: HalfClosed,
) {
    match detection.by {
        DisconnectDetection::Off => std::future::pending::<()>().await,
        DisconnectDetection::Event => closed_event(client, half_closed).await,
        // Boxed, here and below: few routes need room for a timer.
        DisconnectDetection::Peek | DisconnectDetection::TcpInfo => {
            Box::pin(until(|| client.looks_closed(detection.by))).await;
        }
    }
    // As in the paper, nobody looks without overload; here that means an empty queue.
    if detection.when == DetectWhen::Overload {
        Box::pin(until(|| backend.is_overloaded())).await;
    }
}

/// Waits until `condition` holds, which is looked at now and then.
async fn until(condition: impl Fn() -> bool) {
    while !condition() {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Whether the client is found to have gone when its turn comes.
pub(super) fn has_left(client: &impl Requester, backend: &Backend, detection: Detection) -> bool {
    let looks = detection.when == DetectWhen::Always || backend.is_overloaded();
    looks && client.looks_closed(detection.by)
}

async fn closed_event(client: &impl Requester, half_closed: HalfClosed) {
    match half_closed {
        HalfClosed::Probe => client.gone().await,
        HalfClosed::Gone => {
            client.left().await;
        }
        HalfClosed::Alive => {
            if client.left().await == Left::HalfClosed {
                client.reset().await;
            }
        }
    }
}
