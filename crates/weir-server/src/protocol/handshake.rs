//! The beginning of a connection with TLS: the client's first message, and the handshake. Who speaks
//! HTTP in clear text here is told so in words. Used before the first request of such a connection.

use std::time::Duration;

use http::StatusCode;
use weir_sched::Time;
use weir_tls::certificates::ACME_TLS;
use weir_tls::{Hello, Server, Session};

use super::context::Context;
use super::ready_text;
use crate::client::handshake::Step;
use crate::client::input::Input;
use crate::client::{Client, Read, Waits};
use crate::identity::PeerAddress;
use crate::metrics::HandshakeEnd;
use crate::runtime::turn;
use crate::transport::{self, Advance};

/// How long a client may take to close its side after it was refused: it should read why before the
/// connection is reset.
const LINGER: Duration = Duration::from_secs(1);

/// The answer to a request in clear text, behind the status and the date.
const CLEAR_TEXT: &str = "Content-Type: text/plain; charset=utf-8\r\n\
    Content-Length: 79\r\n\
    Connection: close\r\n\r\n\
    400 Bad Request: this port speaks TLS; write https:// in front of the address.\n";

/// Has a session with the client; `peer`: the other end of the connection, which may be a load balancer;
/// `input` may have the first bytes. False: there is none, and the connection is of no more use.
pub(super) async fn secure(
    context: &Context,
    server: &Server,
    client: &Client,
    peer: PeerAddress,
    input: &mut Input,
) -> bool {
    let begun = turn::began();
    let end = match begin(context, server, client, input, begun).await {
        Ok(session) => {
            client.socket.seal_with(session);
            complete(context, client, begun).await.map_or_else(|end| end, |()| agreed(client))
        }
        Err(end) => end,
    };
    context.metrics.handshakes.ended(end);
    let is_secure = matches!(end, HandshakeEnd::Full | HandshakeEnd::Resumed);
    if !is_secure {
        if let Some(link) = &context.uplink {
            link.charge_beside(&client.socket, peer);
        }
        if matches!(end, HandshakeEnd::Failed | HandshakeEnd::ClearText | HandshakeEnd::Challenge)
            && client.socket.shut_down().is_ok()
        {
            client.drain(input, LINGER, Some(&context.stop)).await;
        }
    }
    is_secure
}

/// Waits for the client's first message and answers it.
async fn begin(
    context: &Context,
    server: &Server,
    client: &Client,
    input: &mut Input,
    begun: Time,
) -> Result<Session, HandshakeEnd> {
    let most = context.serving.get().times.handshake;
    let mut hello = Hello::default();
    let mut has_begun = false;
    loop {
        let bytes = input.bytes();
        // A record that begins a handshake begins with 22 (RFC 8446, section 5.1).
        if !has_begun && bytes.first().is_some_and(u8::is_ascii_alphabetic) {
            ready_text::say(context, client, input, StatusCode::BAD_REQUEST, CLEAR_TEXT);
            return Err(HandshakeEnd::ClearText);
        }
        let count = bytes.len();
        has_begun |= count > 0;
        let whole = hello.receive(bytes);
        input.answered(count);
        match whole {
            Ok(None) => {}
            Ok(Some(message)) => {
                pass(context, begun).await?;
                // Who has closed its side by now cannot agree on anything.
                if client.socket.is_closed_in_tcp() == Some(true) {
                    return Err(HandshakeEnd::Left);
                }
                return message.answer(server).map_err(|failure| refused(client, &failure));
            }
            Err(failure) => return Err(refused(client, &failure)),
        }
        let left = most.saturating_sub(turn::began().since(begun));
        // Who has sent nothing when the server stops is not waited for.
        let stop = Some(&context.stop).filter(|_| !has_begun);
        match client.read_unless_given_up(input, left, stop, Waits::Rest { begun }).await {
            Read::More => {}
            Read::TimedOut => return Err(HandshakeEnd::TimedOut),
            Read::GivenUp => {
                context.metrics.given_up.inc();
                return Err(HandshakeEnd::Left);
            }
            Read::End | Read::Stopped => return Err(HandshakeEnd::Left),
        }
    }
}

/// Has the handshake go on to its end.
async fn complete(context: &Context, client: &Client, begun: Time) -> Result<(), HandshakeEnd> {
    let most = context.serving.get().times.handshake;
    loop {
        let needs = match client.socket.advance() {
            Ok(Advance::Done) => {
                client.has_agreed();
                return Ok(());
            }
            Ok(needs) => needs,
            Err(transport::Ended::Left) => return Err(HandshakeEnd::Left),
            Err(transport::Ended::Failed(failure)) => {
                tracing::debug!("the handshake with {} failed: {failure}", client.peer);
                return Err(HandshakeEnd::Failed);
            }
        };
        match client.until_step(needs, begun, most).await {
            Step::Ready => {}
            Step::Left => return Err(HandshakeEnd::Left),
            Step::TimedOut => return Err(HandshakeEnd::TimedOut),
            Step::GivenUp => {
                context.metrics.given_up.inc();
                return Err(HandshakeEnd::Left);
            }
        }
        // What comes may take as long to compute as the first message: a second one of a client that
        // had to choose another group, a key of TLS 1.2, a certificate.
        if needs == Advance::Bytes {
            pass(context, begun).await?;
        }
    }
}

/// Waits for its turn to be computed, within the time of a handshake that began at `begun`.
async fn pass(context: &Context, begun: Time) -> Result<(), HandshakeEnd> {
    context.handshakes.pass().await;
    match turn::began().since(begun) > context.serving.get().times.handshake {
        true => Err(HandshakeEnd::TimedOut),
        false => Ok(()),
    }
}

/// What both have agreed on.
fn agreed(client: &Client) -> HandshakeEnd {
    let agreed = client.socket.with_session(|session| {
        // Who asked for the answer to a challenge has seen it.
        if session.protocol() == Some(ACME_TLS) {
            HandshakeEnd::Challenge
        } else if session.is_resumed() == Some(true) {
            HandshakeEnd::Resumed
        } else {
            HandshakeEnd::Full
        }
    });
    agreed.unwrap_or(HandshakeEnd::Left)
}

/// Tells the client why there will be no session.
fn refused(client: &Client, failure: &weir_tls::Failure) -> HandshakeEnd {
    tracing::debug!("the handshake with {} failed: {failure}", client.peer);
    if !failure.alert.is_empty() {
        client.say(&failure.alert);
    }
    HandshakeEnd::Failed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_in_clear_text_is_as_long_as_it_says() {
        assert!(ready_text::is_as_long_as_it_says(CLEAR_TEXT));
    }
}
