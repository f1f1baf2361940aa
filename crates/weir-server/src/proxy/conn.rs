//! A connection to a backend with hyper's client on it, driven by whoever uses it: it has no task of
//! its own, so that a call costs no wake-ups beside those of its sockets.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::{Request, Response};
use hyper::body::{Body, Frame, Incoming};
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1::{self, Connection, SendRequest};
use hyper_util::rt::TokioIo;

use super::outgoing::OutgoingBody;
use super::stream::Stream;
use crate::config::BackendAddress;

/// Bytes of the largest head of an answer, and of its trailers; more are a failure, and so are more
/// than 100 fields: with a number of our own, hyper would allocate room for so many with each answer.
pub(super) const MAX_HEAD: usize = 64 * 1024;

/// See the module.
pub(super) struct Conn {
    sender: SendRequest<OutgoingBody>,
    /// Boxed: it is large, and the connection goes from hand to hand with each call.
    driver: Box<Connection<TokioIo<Stream>, OutgoingBody>>,
    /// The driver has ended: it must not be polled again.
    finished: bool,
}

/// An answer that is to come.
pub(super) type PendingResponse =
    Pin<Box<dyn Future<Output = Result<Response<Incoming>, TrySendError<Request<OutgoingBody>>>>>>;

/// Why no answer came.
#[derive(Debug)]
pub(super) struct NoResponse {
    pub(super) error: hyper::Error,
    /// None of the request was sent.
    pub(super) unsent: bool,
}

impl Conn {
    pub(super) async fn open(address: &BackendAddress) -> io::Result<Conn> {
        let stream = Stream::connect(address).await?;
        let (sender, driver) = http1::Builder::new()
            .max_buf_size(MAX_HEAD)
            // The buffer alone would do so only for heads that do not come in one piece.
            .max_header_size(MAX_HEAD)
            // Heads alone, mostly: one buffer is cheaper to send than a list of them.
            .writev(false)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(io::Error::other)?;
        Ok(Conn { sender, driver: Box::new(driver), finished: false })
    }

    /// Begins to send a request. What is returned must be kept until the answer has come: hyper
    /// closes the connection when it is dropped before.
    pub(super) fn send(&mut self, request: Request<OutgoingBody>) -> PendingResponse {
        Box::pin(self.sender.try_send_request(request))
    }

    /// The head of the answer.
    pub(super) fn poll_response(
        &mut self,
        response: &mut PendingResponse,
        context: &mut Context<'_>,
    ) -> Poll<Result<Response<Incoming>, NoResponse>> {
        let mut polled = response.as_mut().poll(context);
        if polled.is_pending() {
            drive(&mut self.driver, &mut self.finished, context);
            polled = response.as_mut().poll(context);
        }
        polled.map_err(|mut failed| {
            let unsent = failed.take_message().is_some();
            NoResponse { error: failed.into_error(), unsent }
        })
    }

    /// The next piece of the body of the answer; `None` at its end.
    pub(super) fn poll_frame(
        &mut self,
        body: &mut Incoming,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let mut body = Pin::new(body);
        if let Poll::Ready(frame) = body.as_mut().poll_frame(context) {
            return Poll::Ready(frame);
        }
        drive(&mut self.driver, &mut self.finished, context);
        body.poll_frame(context)
    }

    /// Whether another request can be sent on it.
    pub(super) fn is_ready(&mut self) -> bool {
        drive(&mut self.driver, &mut self.finished, &mut Context::from_waker(Waker::noop()));
        !self.finished && self.sender.is_ready()
    }

    /// The bare connection and what was read ahead, after the protocol was switched or when
    /// nothing more is wanted of it.
    pub(super) fn into_stream(self) -> (Stream, Bytes) {
        let parts = self.driver.into_parts();
        (parts.io.into_inner(), parts.read_buf)
    }

    /// Lets hyper finish with an answer that switches protocols.
    pub(super) async fn finish_switch(&mut self) {
        let (driver, finished) = (&mut self.driver, &mut self.finished);
        poll_fn(|context| {
            drive(driver, finished, context);
            if *finished { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}

fn drive(
    driver: &mut Connection<TokioIo<Stream>, OutgoingBody>,
    finished: &mut bool,
    context: &mut Context<'_>,
) {
    // Errors reach whoever waits for the answer or its body.
    if !*finished && Pin::new(driver).poll(context).is_ready() {
        *finished = true;
    }
}
