//! Whether the client of a request that waits, or is being answered, is still there: by one of the
//! ways that a route chooses (Carter & Cherkasova 1999, section 2). It does not know what for.

use std::time::Duration;

use rustix::net::{RecvFlags, recv};

use super::backend::Backend;
use crate::client::{Client, Left};
use crate::config::{DeadRequests, HalfClose, How, When};
use crate::sys;

/// How often a client is looked at that does not tell by itself.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Waits until the client has gone, as far as this route looks for it. `question`: what a client
/// is asked that may still read.
pub(super) async fn client_gone(
    client: &Client,
    backend: &Backend,
    dead: DeadRequests,
    half_close: HalfClose,
    probe: &[u8],
) {
    match dead.how {
        How::Off => std::future::pending::<()>().await,
        How::Event => closed_event(client, half_close, probe).await,
        How::Peek | How::TcpInfo => {
            while !looks_closed(client, dead.how) {
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        }
    }
    // Without overload nobody looks, as in the paper; here overload is that somebody waits.
    while dead.when == When::Overload && !backend.is_overloaded() {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Whether it is found to have gone when its turn comes.
pub(super) fn has_left(client: &Client, backend: &Backend, dead: DeadRequests) -> bool {
    let looks = dead.when == When::Always || backend.is_overloaded();
    looks && looks_closed(client, dead.how)
}

async fn closed_event(client: &Client, half_close: HalfClose, probe: &[u8]) {
    match half_close {
        HalfClose::Probe => client.gone(probe).await,
        HalfClose::Gone => {
            client.left().await;
        }
        HalfClose::Alive => {
            if client.left().await == Left::HalfClosed {
                client.reset().await;
            }
        }
    }
}

fn looks_closed(client: &Client, how: How) -> bool {
    match how {
        // Blind while bytes are unread: then it tells nothing.
        How::Peek => {
            let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
            matches!(recv(&*client.socket, &mut [0_u8; 1], flags), Ok((0, _)))
                || client.has_failed()
        }
        How::TcpInfo => sys::tcp_info(&*client.socket).is_ok_and(|info| info.is_closed_by_peer()),
        How::Event | How::Off => false,
    }
}
