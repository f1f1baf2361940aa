//! The handshake of TLS with a client: waits until the next step can be computed, or a time is over. Used
//! before the first request of a connection.

use std::future::poll_fn;
use std::task::{Context, Poll};
use std::time::Duration;

use weir_sched::Time;

use super::{Client, Waits};
use crate::metrics::note_event;
use crate::runtime::turn;
use crate::transport::Advance;

/// How the wait for a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// It can be computed.
    Ready,
    /// The client left, or the connection broke.
    Left,
    TimedOut,
    /// Its descriptor is needed for another connection.
    GivenUp,
}

impl Client {
    /// Waits until a handshake that began at `begun` can go on: until there are bytes of the client, or
    /// room for bytes to it. `wait`: how long the handshake may take.
    pub(crate) async fn until_step(&self, needs: Advance, begun: Time, wait: Duration) -> Step {
        self.deadline.set(begun + wait);
        self.deadline.idle_since(Waits::Rest { begun }.since(begun, false));
        let step = poll_fn(|context| self.poll_step(needs, context)).await;
        self.deadline.idle_since(Time::NEVER);
        step
    }

    /// The handshake is over. The first request may have come with its end.
    pub(crate) fn has_agreed(&self) {
        self.look_first.set(true);
    }

    fn poll_step(&self, needs: Advance, context: &mut Context<'_>) -> Poll<Step> {
        let ready = match needs {
            Advance::Done => return Poll::Ready(Step::Ready),
            Advance::Bytes => self.socket.poll_readable(context),
            Advance::Room => self.socket.poll_writable(context),
        };
        match ready {
            Poll::Ready(Ok(())) => {
                note_event();
                Poll::Ready(Step::Ready)
            }
            Poll::Ready(Err(_)) => Poll::Ready(Step::Left),
            Poll::Pending if self.deadline.is_given_up() => Poll::Ready(Step::GivenUp),
            Poll::Pending if self.deadline.passed(turn::began(), context) => {
                Poll::Ready(Step::TimedOut)
            }
            Poll::Pending => Poll::Pending,
        }
    }
}
