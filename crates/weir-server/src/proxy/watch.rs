//! Whether the client of a request that waits, or is being answered, is still there: by one of the
//! ways that a route chooses (Carter & Cherkasova 1999, section 2). It does not know what for.

use std::time::Duration;

use rustix::net::{RecvFlags, recv};

use super::backend::Backend;
use crate::client::{Client, Left};
use crate::config::{DetectWhen, Detection, DisconnectDetection, HalfClosed};
use crate::sys;

/// How often a client is looked at that does not tell by itself.
const LOOK: Duration = Duration::from_millis(100);

/// Waits until the client has gone, as far as this route looks for it. `question`: what a client
/// is asked that may still read.
pub(super) async fn gone(
    client: &Client,
    backend: &Backend,
    detection: Detection,
    half_closed: HalfClosed,
    question: &[u8],
) {
    match detection.by {
        DisconnectDetection::Off => std::future::pending::<()>().await,
        DisconnectDetection::Event => event(client, half_closed, question).await,
        DisconnectDetection::Peek | DisconnectDetection::TcpInfo => {
            while !looks_gone(client, detection.by) {
                tokio::time::sleep(LOOK).await;
            }
        }
    }
    // Without overload nobody looks, as in the paper; here overload is that somebody waits.
    while detection.when == DetectWhen::Overload && !backend.is_overloaded() {
        tokio::time::sleep(LOOK).await;
    }
}

/// Whether it is found to have gone when its turn comes.
pub(super) fn is_dead(client: &Client, backend: &Backend, detection: Detection) -> bool {
    let looks = detection.when == DetectWhen::Always || backend.is_overloaded();
    looks && looks_gone(client, detection.by)
}

async fn event(client: &Client, half_closed: HalfClosed, question: &[u8]) {
    match half_closed {
        HalfClosed::Probe => client.gone(question).await,
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

fn looks_gone(client: &Client, by: DisconnectDetection) -> bool {
    match by {
        // Blind while bytes are unread: then it tells nothing.
        DisconnectDetection::Peek => {
            let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
            matches!(recv(&*client.socket, &mut [0_u8; 1], flags), Ok((0, _)))
                || client.has_failed()
        }
        DisconnectDetection::TcpInfo => {
            sys::tcp_info(&*client.socket).is_ok_and(|info| info.is_closed_by_peer())
        }
        DisconnectDetection::Event | DisconnectDetection::Off => false,
    }
}
