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

use super::outgoing::Outgoing;
use super::stream::Stream;
use crate::config::BackendAddress;

/// Bytes of the largest head of an answer, and of its trailers; more are a failure, and so are more
/// than 100 fields: with a number of our own, hyper would allocate room for so many with each answer.
pub(super) const LARGEST_HEAD: usize = 64 * 1024;

/// See the module.
pub(super) struct Conn {
    sender: SendRequest<Outgoing>,
    /// Boxed: it is large, and the connection goes from hand to hand with each call.
    driver: Box<Connection<TokioIo<Stream>, Outgoing>>,
    /// The driver has ended: it must not be polled again.
    over: bool,
}

/// An answer that is to come.
pub(super) type Answer =
    Pin<Box<dyn Future<Output = Result<Response<Incoming>, TrySendError<Request<Outgoing>>>>>>;

/// Why no answer came.
#[derive(Debug)]
pub(super) struct Unanswered {
    pub(super) error: hyper::Error,
    /// None of the request was sent.
    pub(super) unsent: bool,
}

impl Conn {
    pub(super) async fn open(address: &BackendAddress) -> io::Result<Conn> {
        let stream = Stream::connect(address).await?;
        let (sender, driver) = http1::Builder::new()
            .max_buf_size(LARGEST_HEAD)
            // The buffer alone would do so only for heads that do not come in one piece.
            .max_header_size(LARGEST_HEAD)
            // Heads alone, mostly: one buffer is cheaper to send than a list of them.
            .writev(false)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(io::Error::other)?;
        Ok(Conn { sender, driver: Box::new(driver), over: false })
    }

    /// Begins to send a request. What is returned must be kept until the answer has come: hyper
    /// closes the connection when it is dropped before.
    pub(super) fn start(&mut self, request: Request<Outgoing>) -> Answer {
        Box::pin(self.sender.try_send_request(request))
    }

    /// The head of the answer.
    pub(super) fn poll_answer(
        &mut self,
        answer: &mut Answer,
        context: &mut Context<'_>,
    ) -> Poll<Result<Response<Incoming>, Unanswered>> {
        let mut polled = answer.as_mut().poll(context);
        if polled.is_pending() {
            drive(&mut self.driver, &mut self.over, context);
            polled = answer.as_mut().poll(context);
        }
        polled.map_err(|mut failed| {
            let unsent = failed.take_message().is_some();
            Unanswered { error: failed.into_error(), unsent }
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
        drive(&mut self.driver, &mut self.over, context);
        body.poll_frame(context)
    }

    /// Whether another request can be sent on it.
    pub(super) fn is_ready(&mut self) -> bool {
        drive(&mut self.driver, &mut self.over, &mut Context::from_waker(Waker::noop()));
        !self.over && self.sender.is_ready()
    }

    /// The bare connection and what was read ahead, after the protocol was switched or when
    /// nothing more is wanted of it.
    pub(super) fn into_stream(self) -> (Stream, Bytes) {
        let parts = self.driver.into_parts();
        (parts.io.into_inner(), parts.read_buf)
    }

    /// Lets hyper finish with an answer that switches protocols.
    pub(super) async fn switched(&mut self) {
        let (driver, over) = (&mut self.driver, &mut self.over);
        poll_fn(|context| {
            drive(driver, over, context);
            if *over { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}

fn drive(
    driver: &mut Connection<TokioIo<Stream>, Outgoing>,
    over: &mut bool,
    context: &mut Context<'_>,
) {
    // Errors reach whoever waits for the answer or its body.
    if !*over && Pin::new(driver).poll(context).is_ready() {
        *over = true;
    }
}
