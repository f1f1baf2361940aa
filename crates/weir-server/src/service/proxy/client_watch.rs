//! Whether the client of a request is still there, detected in the way that its route configures
//! (Carter & Cherkasova 1999, section 2). Used by [`super::attempt`] and [`super::response_wait`].

use std::time::Duration;

use super::backend::Backend;
use crate::client::{Client, Left};
use crate::config::{DetectWhen, Detection, DisconnectDetection, HalfClosed};

/// How often to look at a client, where no event tells.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Waits until the client has gone, as far as its route detects that. `probe` is sent to a client that
/// closed its side but may still read.
pub(super) async fn client_gone(
    client: &Client,
    backend: &Backend,
    detection: Detection,
    half_closed: HalfClosed,
    probe: &[u8],
) {
    match detection.by {
        DisconnectDetection::Off => std::future::pending::<()>().await,
        DisconnectDetection::Event => closed_event(client, half_closed, probe).await,
        DisconnectDetection::Peek | DisconnectDetection::TcpInfo => {
            while !looks_closed(client, detection.by) {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        }
    }
    // As in the paper, nobody looks without overload; here that means an empty queue.
    while detection.when == DetectWhen::Overload && !backend.is_overloaded() {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Whether the client is found to have gone when its turn comes.
pub(super) fn has_left(client: &Client, backend: &Backend, detection: Detection) -> bool {
    let looks = detection.when == DetectWhen::Always || backend.is_overloaded();
    looks && looks_closed(client, detection.by)
}

async fn closed_event(client: &Client, half_closed: HalfClosed, probe: &[u8]) {
    match half_closed {
        HalfClosed::Probe => client.gone(probe).await,
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

fn looks_closed(client: &Client, by: DisconnectDetection) -> bool {
    let peek = || client.socket.is_at_end() || client.socket.has_failed();
    match by {
        DisconnectDetection::Peek => peek(),
        // A Unix socket has none.
        DisconnectDetection::TcpInfo => client.socket.is_closed_in_tcp().unwrap_or_else(peek),
        DisconnectDetection::Event | DisconnectDetection::Off => false,
    }
}
