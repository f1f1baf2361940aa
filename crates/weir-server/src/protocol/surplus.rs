//! A connection of a client that has as many as it may have (`limit_connections`): it is told so and
//! closed, without waiting for a request. Used at the beginning of connections.

use std::time::Duration;

use http::StatusCode;

use super::context::Context;
use super::ready_text;
use crate::client::Client;
use crate::client::input::Input;
use crate::config::PortKind;

/// How long a client may take to close its side: it should read why before the connection is reset.
const LINGER: Duration = Duration::from_secs(1);

/// What it is told, in clear text, behind the status and the date.
const TOO_MANY: &str = "Content-Type: text/plain; charset=utf-8\r\n\
    Content-Length: 61\r\n\
    Retry-After: 1\r\n\
    Connection: close\r\n\r\n\
    429 Too Many Requests: this client has too many connections.\n";

/// Ends the connection. On a port with TLS nothing can be said before a handshake, and that would cost more
/// than a request.
pub(super) async fn refuse(context: &Context, client: &Client, input: &mut Input) {
    context.metrics.refused_connections.inc();
    if client.port == PortKind::Tls {
        return;
    }
    ready_text::say(context, client, input, StatusCode::TOO_MANY_REQUESTS, TOO_MANY);
    if client.socket.shut_down().is_ok() {
        client.drain(input, LINGER, Some(&context.stop)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_is_as_long_as_it_says() {
        assert!(ready_text::is_as_long_as_it_says(TOO_MANY), "{}", TOO_MANY.len());
    }
}
