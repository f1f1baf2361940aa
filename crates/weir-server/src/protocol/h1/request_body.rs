//! Reads the body of a request in HTTP/1, in either framing, into the pipe to the backend. Made by the
//! driver, used by the proxy before a backend is called and while it responds.

use std::rc::Rc;

use tokio::task::coop::consume_budget;
use weir_http::h1::chunked::ChunkedDecoder;
use weir_http::message::Request;

use super::incoming::{Incoming, Step};
use super::requester::H1Requester;
use crate::body::Room;
use crate::client::Times;
use crate::client::input::Input;
use crate::service::proxy::{BodyError, IncomingBody, IncompleteBody, Pipe};

/// A body that is being read.
#[derive(Debug)]
pub(super) struct H1Body<'a> {
    requester: H1Requester<'a>,
    incoming: Incoming<'a>,
    /// The client waits to be asked for it.
    waits: bool,
    has_ended: bool,
    /// Bytes of data that the limit of the route still allows.
    bytes_left: u64,
}

impl<'a> H1Body<'a> {
    /// `None` if the request has no body.
    pub(super) fn new(
        requester: H1Requester<'a>,
        input: &'a mut Input,
        request: &Request<'_>,
        bytes_left: Option<u64>,
        times: &Times,
    ) -> Option<H1Body<'a>> {
        let incoming = Incoming::new(requester.client, input, request.body, times, None)?;
        let (waits, bytes_left) = (request.expects_continue, bytes_left.unwrap_or(u64::MAX));
        Some(H1Body { requester, incoming, waits, has_ended: false, bytes_left })
    }

    /// Whether all of it was read, so that the next request can be told from it.
    pub(super) fn has_ended(&self) -> bool {
        self.has_ended
    }

    async fn read_until(&mut self, pipe: &Rc<Pipe>, until_full: bool) -> Result<(), BodyError> {
        loop {
            if self.decode(pipe)? {
                return Ok(());
            }
            if until_full && pipe.room().await != Room::Yes {
                return Ok(());
            }
            if !until_full && !pipe.has_room().await {
                return Ok(());
            }
            // A client that sends faster than it is read must not keep the worker to itself.
            consume_budget().await;
            self.incoming.wait().await?;
        }
    }

    /// Puts what has arrived into the pipe; true at the end of the body.
    fn decode(&mut self, pipe: &Pipe) -> Result<bool, BodyError> {
        let bytes_left = &mut self.bytes_left;
        loop {
            let step = self.incoming.take(|data| {
                *bytes_left =
                    bytes_left.checked_sub(data.len() as u64).ok_or(BodyError::TooLarge)?;
                pipe.copy(data);
                Ok(())
            })?;
            match step {
                Step::More => {}
                Step::Wait => return Ok(false),
                Step::End => {
                    self.has_ended = true;
                    pipe.end(self.incoming.chunked().and_then(ChunkedDecoder::trailers));
                    return Ok(true);
                }
            }
        }
    }
}

impl IncomingBody for H1Body<'_> {
    fn length(&self) -> Option<u64> {
        self.incoming.length()
    }

    fn ask(&self) -> bool {
        !self.waits || self.requester.go_on()
    }

    async fn read(&mut self, pipe: &Rc<Pipe>, until_full: bool) -> Result<(), BodyError> {
        let result = self.read_until(pipe, until_full).await;
        if let Err(error) = result {
            pipe.abort(IncompleteBody { client_left: error == BodyError::ClientLeft });
        }
        result
    }
}
