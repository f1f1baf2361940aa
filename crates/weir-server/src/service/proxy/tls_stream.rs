//! A connection to a backend over TLS as bytes. Records are sealed and opened in memory: 64 KB of what is
//! to be sent and two records, 36 KB, of what has come at most; more waits in the socket. Used by
//! [`super::stream`].

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, client};
use weir_tls::client::{ClientTls, explain};

/// One connection. Boxed: it is large, and most connections have none.
#[derive(Debug)]
pub(super) struct TlsStream(Box<client::TlsStream<TcpStream>>);

impl TlsStream {
    /// The handshake. An error says in words what is wrong.
    pub(super) async fn open(socket: TcpStream, tls: &ClientTls) -> io::Result<TlsStream> {
        let connector = TlsConnector::from(tls.config().clone());
        let opened = connector.connect(tls.name().clone(), socket).await;
        opened.map(|stream| TlsStream(Box::new(stream))).map_err(|error| {
            let words = match explain(&error) {
                Some(words) => words,
                None if error.kind() == io::ErrorKind::UnexpectedEof => {
                    "it closed the connection within the handshake of TLS".to_owned()
                }
                None => return error,
            };
            io::Error::new(error.kind(), words)
        })
    }
}

impl Drop for TlsStream {
    /// Tells the backend that the connection has not merely broken (RFC 8446, section 6.1), as far as
    /// its socket takes that at once.
    fn drop(&mut self) {
        let (socket, session) = self.0.get_mut();
        session.send_close_notify();
        while session.wants_write() && matches!(session.write_tls(&mut AtOnce(socket)), Ok(1..)) {}
    }
}

/// Writes what a socket takes without waiting.
struct AtOnce<'a>(&'a TcpStream);

impl io::Write for AtOnce<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.try_write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl AsyncRead for TlsStream {
    /// The end without TLS's own sign of it is an error: somebody may have cut the connection.
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_read(context, out)
    }
}

impl AsyncWrite for TlsStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.0).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.0).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_shutdown(context)
    }
}
