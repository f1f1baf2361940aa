//! Whether the client of a request is still there, detected in the way that its route configures
//! (Carter & Cherkasova 1999, section 2). Used by [`super::attempt`] and [`super::response_wait`].

use std::time::Duration;

use rustix::net::{RecvFlags, recv};

use super::backend::Backend;
use crate::client::{Client, Left};
use crate::config::{DeadRequests, HalfClose, How, When};
use crate::sys;

/// How often to look at a client, where no event tells.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Waits until the client has gone, as far as its route detects that. `probe` is sent to a client that
/// closed its side but may still read.
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
    // As in the paper, nobody looks without overload; here that means an empty queue.
    while dead.when == When::Overload && !backend.is_overloaded() {
        tokio::time::sleep(POLL_INTERVAL).await;
    }
}

/// Whether the client is found to have gone when its turn comes.
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
        // It sees nothing while bytes are unread.
        How::Peek => {
            let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
            matches!(recv(&*client.socket, &mut [0_u8; 1], flags), Ok((0, _)))
                || client.has_failed()
        }
        How::TcpInfo => sys::tcp_info(&*client.socket).is_ok_and(|info| info.is_closed_by_peer()),
        How::Event | How::Off => false,
    }
}
