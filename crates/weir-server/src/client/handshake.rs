//! The handshake of TLS with a client: bytes go both ways until both have agreed, within a time. Used
//! before the first request of a connection.

use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::Duration;

use weir_tls::Failure;

use super::{Client, Waits};
use crate::metrics::note_event;
use crate::runtime::turn;
use crate::transport::{Advance, Ended};

/// How a handshake ended.
#[derive(Debug)]
pub(crate) enum Handshake {
    /// Both have agreed.
    Done,
    /// The client left, or the connection broke.
    Left,
    TimedOut,
    /// Its descriptor is needed for another connection.
    GivenUp,
    /// One of the two refused.
    Failed(Failure),
}

impl Client {
    /// Waits until the handshake of the session that its transport has begun is over.
    pub(crate) async fn shake_hands(&self, wait: Duration) -> Handshake {
        let begun = turn::began();
        self.deadline.set(begun + wait);
        self.deadline.idle_since(Waits::Rest { begun }.since(begun, false));
        let handshake = poll_fn(|context| self.poll_handshake(context)).await;
        self.deadline.idle_since(weir_sched::Time::NEVER);
        // The first request may have come with the end of the handshake.
        self.look_first.set(true);
        handshake
    }

    fn poll_handshake(&self, context: &mut Context<'_>) -> Poll<Handshake> {
        loop {
            let ready = match self.socket.advance() {
                Ok(Advance::Done) => return Poll::Ready(Handshake::Done),
                Ok(Advance::Bytes) => self.socket.poll_readable(context),
                Ok(Advance::Room) => self.socket.poll_writable(context),
                Err(Ended::Left) => return Poll::Ready(Handshake::Left),
                Err(Ended::Failed(failure)) => return Poll::Ready(Handshake::Failed(failure)),
            };
            match ready {
                Poll::Ready(Ok(())) => note_event(),
                Poll::Ready(Err(_)) => return Poll::Ready(Handshake::Left),
                Poll::Pending if self.deadline.is_given_up() => {
                    return Poll::Ready(Handshake::GivenUp);
                }
                Poll::Pending if self.deadline.passed(turn::began(), context) => {
                    return Poll::Ready(Handshake::TimedOut);
                }
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}
