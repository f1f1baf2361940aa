//! Backends that speak TLS, by rustls as a server.

use std::io::{self, Read, Write};
use std::sync::{Arc, Mutex, PoisonError};

use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{HandshakeKind, RootCertStore, ServerConfig, ServerConnection, StreamOwned};
use socket2::Socket;

use crate::authority::Authority;
use crate::certificates::{ADDRESS, Issued};
use crate::support::wire::{Carrier, Wire};
use crate::support::{Backend, Call, Server, Then, route};

/// One connection over TLS. The handshake begins with the first read.
#[derive(Debug)]
struct Tls {
    stream: StreamOwned<ServerConnection, Socket>,
    seen: Arc<Handshakes>,
    /// The handshake is in `seen`.
    noted: bool,
}

/// What handshakes came to, in their order: the name that was asked for, and of which kind.
#[derive(Debug, Default)]
pub(crate) struct Handshakes(Mutex<Vec<(Option<String>, HandshakeKind)>>);

impl Handshakes {
    pub(crate) fn all(&self) -> Vec<(Option<String>, HandshakeKind)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Read for Tls {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.stream.read(into);
        let connection = &self.stream.conn;
        if let Some(kind) = connection.handshake_kind().filter(|_| !self.noted) {
            self.noted = true;
            let name = connection.server_name().map(str::to_owned);
            self.seen.0.lock().unwrap_or_else(PoisonError::into_inner).push((name, kind));
        }
        read
    }
}

impl Write for Tls {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

impl Carrier for Tls {
    fn socket(&self) -> &Socket {
        &self.stream.sock
    }

    fn end(&mut self) {
        self.stream.conn.send_close_notify();
        let _ = self.stream.flush();
    }
}

/// How a server shows `issued`, and demands certificates of `clients` if there is such an authority.
pub(crate) fn config(issued: &Issued, clients: Option<&Authority>) -> Arc<ServerConfig> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .expect("versions of TLS");
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(authority) => {
            let mut roots = RootCertStore::empty();
            roots.add(der(&authority.certificate())).expect("an authority");
            let verifier =
                WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
            builder.with_client_cert_verifier(verifier.expect("a verifier"))
        }
    };
    let key = PrivateKeyDer::from_pem_slice(issued.key.as_bytes()).expect("a key");
    let config = builder.with_single_cert(vec![der(&issued.certificate)], key);
    Arc::new(config.expect("a certificate with its key"))
}

fn der(pem: &str) -> CertificateDer<'static> {
    CertificateDer::from_pem_slice(pem.as_bytes()).expect("a certificate")
}

/// A backend over TLS, and what its handshakes came to.
pub(crate) fn backend(
    config: &Arc<ServerConfig>,
    answer: impl Fn(&mut Call<'_>) -> Then + Send + Sync + 'static,
) -> (Backend, Arc<Handshakes>) {
    backend_after(config, || {}, answer)
}

/// The same, where each connection waits for `before` until it is read from.
pub(crate) fn backend_after(
    config: &Arc<ServerConfig>,
    before: impl Fn() + Send + Sync + 'static,
    answer: impl Fn(&mut Call<'_>) -> Then + Send + Sync + 'static,
) -> (Backend, Arc<Handshakes>) {
    let (config, seen) = (config.clone(), Arc::<Handshakes>::default());
    let handshakes = seen.clone();
    let carry = move |socket| {
        before();
        let connection = ServerConnection::new(config.clone()).expect("a connection");
        let stream = StreamOwned::new(connection, socket);
        Wire::new(Tls { stream, seen: seen.clone(), noted: false })
    };
    (Backend::carried("https", carry, answer), handshakes)
}

/// weir with `flags` before a backend that `authority` vouches for.
pub(crate) fn with_flags(backend: &Backend, authority: &Authority, flags: &[&str]) -> Server {
    let route = route("/", &[&backend.url]);
    Server::configured(&format!("{route}{}", authority.as_ca()), flags)
}

/// weir before a backend that a new authority vouches for; `keys` are more of its route.
pub(crate) fn behind_weir(
    keys: &str,
    answer: impl Fn(&mut Call<'_>) -> Then + Send + Sync + 'static,
) -> (Backend, Server) {
    let authority = Authority::new();
    let (backend, _) = backend(&config(&authority.issue(&[ADDRESS]), None), answer);
    let server = Server::routed(&[&backend.url], &format!("{}{keys}", authority.as_ca()));
    (backend, server)
}
