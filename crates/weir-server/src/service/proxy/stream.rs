//! A connection to a backend as bytes: TCP, TLS over it, or a Unix socket. Used by [`super::connection`] for hyper
//! and by [`super::tunnel`].

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpSocket, TcpStream, UnixSocket, UnixStream, lookup_host};
use weir_tls::client::ClientTls;

use super::tls_stream::TlsStream;
use crate::config::BackendAddress;
use crate::sys::descriptors;
use crate::sys::keep_alive::keep_alive;

/// A backend that does not answer the kernel's keepalive probes for this long is gone.
const KEEPALIVE_TIMEOUT: Duration = Duration::from_secs(60);

/// One connection.
#[derive(Debug)]
pub(super) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
    Tls(TlsStream),
}

impl Stream {
    /// Connects, and speaks TLS as `tls` says; a name is resolved anew each time.
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
    let mut failed = io::Error::from(io::ErrorKind::NotFound);
    for address in lookup_host((host, port)).await? {
        match connect(address).await {
            Ok(socket) => return Ok(socket),
            Err(error) => failed = error,
        }
    }
    Err(failed)
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
