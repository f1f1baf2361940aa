//! The body of a request that is answered here and whose body nobody wants, such as that of a GET for a file.
//! A short one is read and forgotten, so that the connection can carry another request; otherwise the
//! connection ends with the answer (RFC 9112, section 9.3). Used by the driver.

use std::time::Duration;

use tokio::time::timeout;
use weir_http::message::{Request, RequestBody};

use super::close::End;
use super::incoming::{Incoming, Step};
use crate::client::Client;
use crate::client::input::Input;
use crate::protocol::context::Context;

/// Most bytes of such a body, with its framing, that are read: reading more costs the client more time than
/// a new connection.
const SHORT: u64 = 64 * 1024;

/// How long all of such a body may take: the least rate alone would let one hold its connection for minutes.
const PATIENCE: Duration = Duration::from_secs(10);

/// Whether the body of `request`, if it has one, is to be read with [`drain`] once the request is answered.
///
/// Not if the client waits to be asked for it: it need not send what it was not asked for, so nobody can
/// tell whether the body or the next request follows (RFC 9110, section 10.1.1).
pub(super) fn is_drained(request: &Request<'_>) -> bool {
    let is_short = match request.body {
        RequestBody::None => false,
        RequestBody::Length(length) => length <= SHORT,
        // That shows when it comes.
        RequestBody::Chunked => true,
    };
    is_short && request.persistent && !request.expects_continue
}

/// Reads the body, with which `input` begins, to its end; how the connection ends if it turns out too long
/// or malformed, if the client sends it too slowly or for longer than [`PATIENCE`], or if the server stops.
pub(super) async fn drain(
    context: &Context,
    client: &Client,
    input: &mut Input,
    body: RequestBody,
) -> Option<End> {
    let times = context.serving.get().times;
    let mut incoming = Incoming::new(client, input, body, &times, Some(&context.stop))?;
    timeout(PATIENCE, to_end(&mut incoming)).await.unwrap_or(Some(End::Open))
}

/// Reads as much as there is, and waits for more until the body ends.
async fn to_end(incoming: &mut Incoming<'_>) -> Option<End> {
    loop {
        match incoming.take(|_| Ok(())) {
            Ok(Step::End) => return None,
            Ok(_) if incoming.taken() > SHORT => return Some(End::Open),
            Ok(Step::More) => {}
            Ok(Step::Wait) => {
                if incoming.wait().await.is_err() {
                    return Some(End::Open);
                }
            }
            Err(_) => return Some(End::Open),
        }
    }
}
