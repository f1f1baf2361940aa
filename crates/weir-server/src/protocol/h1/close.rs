//! The end of a connection: closing it so that the client gets all that it was sent. Used by the
//! connection when its last response has been sent.

use std::time::Duration;

use crate::client::Client;
use crate::client::input::Input;
use crate::protocol::context::Context;

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
pub(super) async fn close(context: &Context, client: &Client, input: &mut Input, end: End) {
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
    if client.drain(input, LINGER, Some(stop)).await {
        return;
    }
    if stop.is_stopping() && client.drain(input, LINGER_AT_STOP, None).await || all_arrived() {
        return;
    }
    if client
        .drain(input, context.serving.get().times.send.saturating_sub(LINGER), Some(stop))
        .await
    {
        return;
    }
    while stop.is_stopping() && !all_arrived() {
        if client.drain(input, LOOK_AT_STOP, None).await {
            return;
        }
    }
}
