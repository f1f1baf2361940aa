//! A connection to a backend with hyper's client on it. Whoever uses it drives it, as it has no task
//! of its own: a call costs no wake-ups besides those of its sockets. Used by [`super::call`],
//! [`super::pool`] and [`super::health_checks`].

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
use weir_tls::client::ClientTls;

use super::request_body::OutgoingBody;
use super::stream::Stream;
use crate::config::BackendAddress;

/// The largest head of a response, and the largest trailers, in bytes; more are an error. So are more
/// than 100 fields, hyper's default: with another number it would allocate the room for each response.
pub(super) const MAX_HEAD: usize = 64 * 1024;

/// See the module.
pub(super) struct Conn {
    sender: SendRequest<OutgoingBody>,
    /// Boxed: it is large, and the connection goes from hand to hand with each call.
    driver: Box<Connection<TokioIo<Stream>, OutgoingBody>>,
    /// The driver has finished: it must not be polled again.
    finished: bool,
}

/// A response that hyper will give.
pub(super) type PendingResponse =
    Pin<Box<dyn Future<Output = Result<Response<Incoming>, TrySendError<Request<OutgoingBody>>>>>>;

/// Why there is no response.
#[derive(Debug)]
pub(super) struct NoResponse {
    pub(super) error: hyper::Error,
    /// Nothing of the request was sent.
    pub(super) unsent: bool,
}

impl NoResponse {
    /// Why, in words for the log.
    pub(super) fn why(&self) -> String {
        // A backend may refuse weir's certificate only now (RFC 8446, section 4.4.2.4).
        weir_tls::client::explain(&self.error).unwrap_or_else(|| self.error.to_string())
    }
}

impl Conn {
    /// Connects. An error says in words what is wrong with the backend's TLS, if it speaks that.
    pub(super) async fn open(
        address: &BackendAddress,
        tls: Option<&ClientTls>,
    ) -> io::Result<Conn> {
        let stream = Stream::connect(address, tls).await?;
        let (sender, driver) = http1::Builder::new()
            .max_buf_size(MAX_HEAD)
            // The buffer size alone would limit only heads that arrive in several pieces.
            .max_header_size(MAX_HEAD)
            // Heads alone, mostly: one buffer is cheaper to send than a list of them.
            .writev(false)
            .handshake(TokioIo::new(stream))
            .await
            .map_err(io::Error::other)?;
        Ok(Conn { sender, driver: Box::new(driver), finished: false })
    }

    /// Begins to send a request. Keep the result until the response has arrived: hyper closes the
    /// connection if it is dropped before.
    pub(super) fn send(&mut self, request: Request<OutgoingBody>) -> PendingResponse {
        Box::pin(self.sender.try_send_request(request))
    }

    /// The head of the response.
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

    /// The next piece of the body of the response; `None` at its end.
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

    /// The bare connection and what was read ahead, after a switch of protocols or to close it.
    pub(super) fn into_stream(self) -> (Stream, Bytes) {
        let parts = self.driver.into_parts();
        (parts.io.into_inner(), parts.read_buf)
    }

    /// Lets hyper finish a response that switches protocols.
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
    // Errors reach whoever waits for the response or its body.
    if !*finished && Pin::new(driver).poll(context).is_ready() {
        *finished = true;
    }
}
