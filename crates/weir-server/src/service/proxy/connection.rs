//! A connection to a backend with hyper's client on it. Whoever uses it drives it, as it has no task
//! of its own: a call costs no wake-ups besides those of its sockets. Used by [`super::call`],
//! [`super::pool`] and [`super::health_checks`].

use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use http::{Request, Response, Version};
use hyper::body::{Body, Frame, Incoming};
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1::{self, Connection, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::task::coop::unconstrained;
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
    driver: Driver,
    /// The backend has answered in HTTP/1.0. hyper would send the next request in HTTP/1.0, too,
    /// and leave out a body of unknown length, as there are no chunks.
    speaks_http_1_0: bool,
}

/// hyper's side of a connection.
enum Driver {
    /// Boxed: it is large, and the connection goes from hand to hand with each call.
    Running(Box<Connection<TokioIo<Stream>, OutgoingBody>>),
    /// It has ended and was dropped: only that fails a request that it has not begun with. What is
    /// left of the connection; `None` only while it is dropped.
    Finished(Option<Box<(Stream, Bytes)>>),
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
        let driver = Driver::Running(Box::new(driver));
        Ok(Conn { sender, driver, speaks_http_1_0: false })
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
            self.driver.drive(context);
            polled = response.as_mut().poll(context);
        }
        if let Poll::Ready(Ok(head)) = &polled {
            self.speaks_http_1_0 = head.version() == Version::HTTP_10;
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
        self.driver.drive(context);
        body.poll_frame(context)
    }

    /// Whether another request can be sent on it.
    pub(super) fn is_ready(&mut self) -> bool {
        // However much the task has read before: once its budget is spent (tokio::task::coop), a
        // connection that the backend has closed looks like one on which nothing has come.
        let look = poll_fn(|context| {
            self.driver.drive(context);
            Poll::Ready(())
        });
        let _ = pin!(unconstrained(look)).poll(&mut Context::from_waker(Waker::noop()));
        !self.speaks_http_1_0 && !self.driver.has_finished() && self.sender.is_ready()
    }

    /// The bare connection and what was read ahead, after a switch of protocols or to close it.
    /// There always is one, but for a panic within hyper.
    pub(super) fn into_stream(self) -> Option<(Stream, Bytes)> {
        match self.driver {
            Driver::Running(running) => Some(left_of(*running)),
            Driver::Finished(left) => left.map(|left| *left),
        }
    }

    /// Lets hyper finish a response that switches protocols.
    pub(super) async fn finish_switch(&mut self) {
        poll_fn(|context| {
            self.driver.drive(context);
            if self.driver.has_finished() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
    }
}

impl Driver {
    fn has_finished(&self) -> bool {
        matches!(self, Driver::Finished(_))
    }

    /// Goes on with what there is to do.
    fn drive(&mut self, context: &mut Context<'_>) {
        let Driver::Running(running) = self else { return };
        // Errors reach whoever waits for the response or its body.
        if Pin::new(running).poll(context).is_ready()
            && let Driver::Running(finished) = std::mem::replace(self, Driver::Finished(None))
        {
            *self = Driver::Finished(Some(Box::new(left_of(*finished))));
        }
    }
}

/// The connection and what was read ahead. Everything else of hyper's is dropped.
fn left_of(driver: Connection<TokioIo<Stream>, OutgoingBody>) -> (Stream, Bytes) {
    let parts = driver.into_parts();
    (parts.io.into_inner(), parts.read_buf)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::net::TcpListener;
    use tokio::time::{sleep, timeout};

    use super::*;

    /// Guards against hanging.
    const DEADLINE: Duration = Duration::from_secs(30);

    #[tokio::test]
    async fn a_request_on_a_connection_that_has_ended_fails_at_once() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let address = BackendAddress::Tcp { host: "127.0.0.1".to_owned(), port, tls: false };
        let mut conn = Conn::open(&address, None).await.unwrap();
        drop(listener.accept().await.unwrap());
        let end = async {
            while conn.is_ready() {
                sleep(Duration::from_millis(1)).await;
            }
        };
        timeout(DEADLINE, end).await.unwrap();
        let mut response = conn.send(Request::new(OutgoingBody::none()));
        let answer = poll_fn(|context| conn.poll_response(&mut response, context));
        let failed = timeout(DEADLINE, answer).await.unwrap().unwrap_err();
        assert!(failed.unsent, "so that it may be sent again");
        assert!(conn.into_stream().is_some());
    }
}
