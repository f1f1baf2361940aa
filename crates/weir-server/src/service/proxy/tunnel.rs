//! A connection whose protocol was switched, such as to WebSocket: bytes in both directions, those to
//! the client over the uplink like every response. Opened by [`super::attempt`], driven by the client's
//! connection.

use std::future::poll_fn;
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncWriteExt, ReadBuf, ReadHalf, WriteHalf, split};
use tokio::time::timeout;

use super::stream::Stream;
use crate::body::{RelayedBody, Truncated, Writer};
use crate::client::input::Input;
use crate::client::{Client, Read};
use crate::runtime::stop::Stop;

/// The most bytes that are read from a backend at a time.
const READ_SIZE: usize = 16 * 1024;

/// The longest silence of a client; TCP keepalive tells whether either end is still there.
const MAX_SILENCE: Duration = Duration::from_secs(24 * 3600);

/// The direction from the client to the backend.
#[derive(Debug)]
pub(crate) struct Upstream(WriteHalf<Stream>);

/// Begins to read from the backend into `relayed`, after the bytes `ahead` that were read already.
pub(super) fn open(stream: Stream, ahead: Bytes, relayed: Rc<RelayedBody>) -> Upstream {
    let (from, to) = split(stream);
    relayed.push(ahead);
    tokio::task::spawn_local(read(from, Writer(relayed)));
    Upstream(to)
}

async fn read(mut from: ReadHalf<Stream>, relayed: Writer) {
    while relayed.has_room().await {
        let count = tokio::select! {
            count = poll_fn(|context| pass_on(&mut from, &relayed, context)) => count,
            () = relayed.client_left() => return,
        };
        match count {
            Ok(0) => return relayed.end(Ok(())),
            Ok(_) => {}
            Err(_) => return relayed.end(Err(Truncated("the backend's connection broke"))),
        }
    }
}

/// Passes on what has arrived; returns how many bytes.
fn pass_on(
    from: &mut ReadHalf<Stream>,
    relayed: &RelayedBody,
    context: &mut Context<'_>,
) -> Poll<io::Result<usize>> {
    // On the stack: it is needed for a moment only, and a message may be a few bytes.
    let mut space = [MaybeUninit::uninit(); READ_SIZE];
    let mut space = ReadBuf::uninit(&mut space);
    Pin::new(from).poll_read(context, &mut space).map_ok(|()| {
        relayed.copy(space.filled());
        space.filled().len()
    })
}

impl Upstream {
    async fn pass_on(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.write_all(bytes).await?;
        // With TLS a part may wait in memory, and the backend may answer only when it has all.
        self.0.flush().await
    }

    /// Passes on what the client sends, until the client closes its side, either connection breaks,
    /// the server stops, or the backend takes nothing for `limit`.
    pub(crate) async fn pump(
        &mut self,
        client: &Client,
        input: &mut Input,
        stop: &Stop,
        limit: Duration,
    ) {
        loop {
            if !input.bytes().is_empty() {
                // During this nobody watches whether the client is there: so there is a limit.
                if !matches!(timeout(limit, self.pass_on(input.bytes())).await, Ok(Ok(()))) {
                    return;
                }
                input.answered(input.bytes().len());
            }
            match client.read(input, MAX_SILENCE, Some(stop)).await {
                Read::More => {}
                Read::End | Read::TimedOut | Read::Stopped | Read::GivenUp => break,
            }
        }
        let _ = timeout(limit, self.0.shutdown()).await;
    }
}
