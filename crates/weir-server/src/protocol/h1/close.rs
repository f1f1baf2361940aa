//! The end of a connection: closing it so that the client gets all that it was sent. Used by the
//! connection when its last response has been sent.

use std::time::Duration;

use crate::client::Client;
use crate::client::input::Input;
use crate::client::stall::LOOK;
use crate::protocol::context::Context;
use crate::runtime::stop::Stop;
use crate::runtime::turn;
use crate::uplink::Lane;

/// How long a client may take to close its side after the last response.
const LINGER: Duration = Duration::from_secs(5);

/// The same, and the age of a connection up to which its first request is waited for, when the server
/// stops: who has just connected, or is still sending, should not find the connection reset.
pub(super) const LINGER_AT_STOP: Duration = Duration::from_secs(1);

/// How often it is looked whether the client has acknowledged everything when the server stops.
const LOOK_AT_STOP: Duration = Duration::from_millis(100);

/// How the exchange of requests and responses ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Nothing can be sent any more, or nothing need be.
    Broken,
    /// No request had begun when the server stopped.
    Idle,
    /// The client may be sending still.
    Open,
    /// The last request was read whole and answered, and nothing has come behind it.
    Answered,
}

/// Ends the connection so that the client gets all that was sent.
///
/// Closing at once would answer unread bytes with a reset, and the kernel gives up early on a
/// closed socket's data; so the descriptor is kept until the client closes or has acknowledged. When
/// the server stops, a client that has acknowledged all is not waited for.
pub(super) async fn close(
    context: &Context,
    client: &Client,
    input: &mut Input,
    lane: Option<&Lane>,
    end: End,
) {
    let Some(_place) = context.open.linger() else { return };
    let socket = &*client.socket;
    let all_arrived = || socket.unacknowledged().is_ok_and(|bytes| bytes == 0);
    // Asked before our FIN waits to be acknowledged, too.
    let owes_nothing = end == End::Idle && all_arrived();
    if socket.shut_down().is_err() || owes_nothing {
        return;
    }
    if end == End::Answered && all_arrived() {
        return;
    }
    let stop = &context.stop;
    let is_starved = lane.and_then(Lane::banded).map(|banded| move || banded.has_packets_here());
    if drain(client, input, LINGER, stop, is_starved).await {
        return;
    }
    if stop.is_stopping() && client.drain(input, LINGER_AT_STOP, None).await || all_arrived() {
        return;
    }
    let rest = context.serving.get().times.send.saturating_sub(LINGER);
    if drain(client, input, rest, stop, is_starved).await {
        return;
    }
    while stop.is_stopping() && !all_arrived() {
        if client.drain(input, LOOK_AT_STOP, None).await {
            return;
        }
    }
}

/// [`Client::drain`]: false if it takes longer than `wait`, or the server stops, or the descriptor is needed.
///
/// `is_starved`, on a connection in the kernel's bands: whether packets of it wait in this host. The client
/// lacks them, so that time does not count.
async fn drain(
    client: &Client,
    input: &mut Input,
    wait: Duration,
    stop: &Stop,
    is_starved: Option<impl Fn() -> bool>,
) -> bool {
    let longest = if is_starved.is_some() { LOOK } else { Duration::MAX };
    let mut left = wait;
    while !left.is_zero() {
        let (begun, step) = (turn::began(), left.min(longest));
        if client.drain(input, step, Some(stop)).await {
            return true;
        }
        let waited = turn::began().since(begun);
        // It was not the time that ended it.
        if waited < step {
            return false;
        }
        if !is_starved.as_ref().is_some_and(|is_starved| is_starved()) {
            left = left.saturating_sub(waited);
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;
    use std::pin::pin;
    use std::rc::Rc;
    use std::sync::Arc;

    use super::*;
    use crate::client::deadlines::Deadlines;
    use crate::identity::PeerAddress;
    use crate::metrics::Metrics;
    use crate::runtime::{self, stop};
    use crate::transport::Socket;

    /// Whether a client that neither closes nor sends anything is found to have closed.
    fn drained(wait: Duration, stop: &Stop, is_starved: impl Fn() -> bool) -> bool {
        let (here, _there) = UnixStream::pair().unwrap();
        here.set_nonblocking(true).unwrap();
        let deadlines = Rc::new(Deadlines::default());
        let socket = Socket::new(OwnedFd::from(here));
        let client = Client::new(socket.into(), PeerAddress::Unix, &deadlines);
        let mut input = Input::new(Rc::default());
        let metrics = Arc::new(Metrics::new());
        let drained = async {
            tokio::select! {
                drained = drain(&client, &mut input, wait, stop, Some(is_starved)) => drained,
                () = deadlines.run() => unreachable!("it never ends"),
            }
        };
        let timed = async { turn::timed(&metrics, pin!(drained)).await };
        runtime::build(&metrics).unwrap().block_on(timed)
    }

    #[test]
    fn time_in_which_packets_wait_here_does_not_count() {
        let (_sender, stop) = stop::channel();
        let looks = Cell::new(0);
        let is_starved = || {
            looks.set(looks.get() + 1);
            looks.get() < 3
        };
        assert!(!drained(Duration::from_millis(1), &stop, is_starved));
        assert_eq!(looks.get(), 3);
    }

    #[test]
    fn packets_that_wait_here_do_not_hold_up_a_stop() {
        let (sender, stop) = stop::channel();
        sender.stop();
        assert!(!drained(Duration::from_secs(600), &stop, || true));
    }
}
