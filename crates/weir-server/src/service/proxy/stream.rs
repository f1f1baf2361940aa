//! A connection to a backend as bytes: TCP, TLS over it, or a Unix socket. Used by [`super::connection`] for hyper
//! and by [`super::tunnel`].

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpSocket, TcpStream, UnixSocket, UnixStream};
use tokio::time::timeout;
use weir_tls::client::ClientTls;

use super::lookup::look_up;
use super::tls_stream::TlsStream;
use crate::config::BackendAddress;
use crate::sys::descriptors;
use crate::sys::keep_alive::keep_alive;

/// A backend that does not answer the kernel's keepalive probes for this long is gone.
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(60);

/// How long an address that neither takes nor refuses the connection holds up the next one: the
/// "Connection Attempt Delay" of RFC 8305, section 5.
const HEAD_START: Duration = Duration::from_millis(250);

/// One connection.
#[derive(Debug)]
pub(super) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(TlsStream),
}

impl Stream {
    /// Connects, and speaks TLS as `tls` says; a name is looked up each time.
    pub(super) async fn connect(
        address: &BackendAddress,
        tls: Option<&ClientTls>,
    ) -> io::Result<Stream> {
        match address {
            BackendAddress::Tcp { host, port, .. } => {
                let socket = connect_any(host, *port).await?;
                match tls {
                    None => Ok(Stream::Tcp(socket)),
                    // Boxed: a handshake is large, and most connections need no room for it.
                    Some(tls) => Box::pin(TlsStream::open(socket, tls)).await.map(Stream::Tls),
                }
            }
            BackendAddress::Unix(path) => {
                let socket = UnixSocket::new_stream()?;
                keep_reserve(&socket)?;
                socket.connect(path).await.map(Stream::Unix)
            }
        }
    }
}

/// To the first of a name's addresses that takes the connection.
async fn connect_any(host: &str, port: u16) -> io::Result<TcpStream> {
    first_to_connect(look_up(host, port).await?, connect).await
}

/// Connects to the first of `addresses` that lets it. The next one is tried when one has failed or
/// has had its head start; then it may still be the first. The error is the last one.
async fn first_to_connect<A, T, F>(
    addresses: impl Iterator<Item = A>,
    connect: impl Fn(A) -> F,
) -> io::Result<T>
where
    F: Future<Output = io::Result<T>>,
{
    let mut addresses = addresses.peekable();
    let mut under_way = Vec::new();
    let mut failed = io::Error::from(io::ErrorKind::NotFound);
    loop {
        match addresses.next() {
            Some(address) => under_way.push(Box::pin(connect(address))),
            None if under_way.is_empty() => return Err(failed),
            None => {}
        }
        let ended = poll_fn(|context| poll_any(&mut under_way, context));
        let ended = match addresses.peek() {
            Some(_) => timeout(HEAD_START, ended).await.ok(),
            None => Some(ended.await),
        };
        match ended {
            Some(Ok(connected)) => return Ok(connected),
            Some(Err(error)) => failed = error,
            None => {}
        }
    }
}

/// The result of one that has ended, which is removed.
fn poll_any<F: Future>(
    under_way: &mut Vec<Pin<Box<F>>>,
    context: &mut Context<'_>,
) -> Poll<F::Output> {
    for (at, one) in under_way.iter_mut().enumerate() {
        if let Poll::Ready(result) = one.as_mut().poll(context) {
            drop(under_way.remove(at));
            return Poll::Ready(result);
        }
    }
    Poll::Pending
}

async fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    keep_reserve(&socket)?;
    socket.set_nodelay(true)?;
    SockRef::from(&socket).set_tcp_keepalive(&keep_alive(KEEPALIVE_TIMEOUT))?;
    socket.connect(address).await
}

/// Leaves the last descriptors to the admin address. Checked before connecting, as many connections
/// that wait would take them.
fn keep_reserve(socket: impl AsFd) -> io::Result<()> {
    if descriptors::is_last(socket) { Err(descriptors::none_left()) } else { Ok(()) }
}

impl AsyncRead for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Tcp(stream) => Pin::new(stream).poll_read(context, out),
            Stream::Unix(stream) => Pin::new(stream).poll_read(context, out),
            Stream::Tls(stream) => Pin::new(stream).poll_read(context, out),
        }
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Tcp(stream) => Pin::new(stream).poll_write(context, bytes),
            Stream::Unix(stream) => Pin::new(stream).poll_write(context, bytes),
            Stream::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Stream::Tcp(stream) => Pin::new(stream).poll_write_vectored(context, pieces),
            Stream::Unix(stream) => Pin::new(stream).poll_write_vectored(context, pieces),
            Stream::Tls(stream) => Pin::new(stream).poll_write_vectored(context, pieces),
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Tcp(stream) => Pin::new(stream).poll_flush(context),
            Stream::Unix(stream) => Pin::new(stream).poll_flush(context),
            Stream::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Stream::Tcp(stream) => Pin::new(stream).poll_shutdown(context),
            Stream::Unix(stream) => Pin::new(stream).poll_shutdown(context),
            Stream::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::sync::Notify;

    use super::*;

    /// Guards against hanging.
    const DEADLINE: Duration = Duration::from_secs(30);

    async fn connect(address: &'static str) -> io::Result<&'static str> {
        match address {
            "good" => Ok(address),
            "silent" => pending().await,
            _ => Err(io::Error::other(address)),
        }
    }

    #[tokio::test]
    async fn an_address_that_does_not_answer_keeps_nobody_from_the_next() {
        for addresses in [
            &["good"][..],
            &["silent", "good"],
            &["refusing", "silent", "silent", "good"],
            &["silent", "refusing", "good", "silent"],
        ] {
            let connected = first_to_connect(addresses.iter().copied(), connect);
            let connected = timeout(DEADLINE, connected).await.unwrap();
            assert_eq!(connected.unwrap(), "good", "{addresses:?}");
        }
    }

    #[tokio::test]
    async fn an_address_may_still_answer_when_the_next_is_tried() {
        let next = &Notify::new();
        let connect = |address: &'static str| async move {
            match address {
                "late" => next.notified().await,
                _ => {
                    next.notify_one();
                    pending().await
                }
            }
            Ok(address)
        };
        let connected = first_to_connect(["late", "next"].into_iter(), connect);
        assert_eq!(timeout(DEADLINE, connected).await.unwrap().unwrap(), "late");
    }

    #[tokio::test]
    async fn the_last_error_says_why_none_was_reached() {
        let refused = first_to_connect(["one", "other"].into_iter(), connect).await;
        assert_eq!(refused.unwrap_err().to_string(), "other");
        let nowhere = first_to_connect(std::iter::empty(), connect).await;
        assert_eq!(nowhere.unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
