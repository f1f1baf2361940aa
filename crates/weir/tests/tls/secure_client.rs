//! A client with TLS that shows what was agreed on.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{
    ClientConfig, ClientConnection, HandshakeKind, ProtocolVersion, RootCertStore, StreamOwned,
};
use socket2::{Domain, Socket, Type};

use super::authority::{Authority, Files};
use super::support::DEADLINE;

/// One connection.
pub(crate) struct SecureClient {
    pub(crate) stream: StreamOwned<ClientConnection, TcpStream>,
}

/// A client that trusts the authority, and shows a certificate if it has one.
pub(crate) fn config(authority: &Authority, own: Option<&Files>) -> ClientConfig {
    config_with(authority, own, aws_lc_rs::default_provider())
}

/// The same with these ciphers.
pub(crate) fn config_with(
    authority: &Authority,
    own: Option<&Files>,
    provider: CryptoProvider,
) -> ClientConfig {
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from_pem_file(authority.root()).expect("a certificate"))
        .expect("a root");
    let builder = ClientConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots);
    match own {
        Some(files) => {
            let chain = vec![CertificateDer::from_pem_file(&files.chain).expect("a certificate")];
            let key = PrivateKeyDer::from_pem_file(&files.key).expect("a key");
            builder.with_client_auth_cert(chain, key).expect("they match")
        }
        None => builder.with_no_client_auth(),
    }
}

impl SecureClient {
    /// Connects and shakes hands.
    pub(crate) fn connect(
        config: &Arc<ClientConfig>,
        to: SocketAddr,
        name: &str,
    ) -> std::io::Result<SecureClient> {
        SecureClient::over(TcpStream::connect(to)?, config, name)
    }

    /// The same in segments as long as on Ethernet.
    pub(crate) fn in_usual_segments(
        config: &Arc<ClientConfig>,
        to: SocketAddr,
        name: &str,
    ) -> std::io::Result<SecureClient> {
        let socket = Socket::new(Domain::for_address(to), Type::STREAM, None)?;
        socket.set_tcp_mss(1460)?;
        socket.connect_timeout(&to.into(), DEADLINE)?;
        SecureClient::over(socket.into(), config, name)
    }

    /// The same on a socket that is connected.
    pub(crate) fn over(
        socket: TcpStream,
        config: &Arc<ClientConfig>,
        name: &str,
    ) -> std::io::Result<SecureClient> {
        let name = ServerName::try_from(name.to_owned()).expect("a name");
        socket.set_read_timeout(Some(DEADLINE))?;
        socket.set_write_timeout(Some(DEADLINE))?;
        let connection = ClientConnection::new(config.clone(), name).expect("a client");
        let mut client = SecureClient { stream: StreamOwned::new(connection, socket) };
        while client.stream.conn.is_handshaking() {
            client.stream.conn.complete_io(&mut client.stream.sock)?;
        }
        Ok(client)
    }

    /// Asks for a path and returns head and body.
    pub(crate) fn get(&mut self, path: &str) -> std::io::Result<(String, Vec<u8>)> {
        self.ask(&format!("GET {path} HTTP/1.1\r\nHost: a.test\r\n\r\n"))
    }

    /// Sends a request and returns head and body of the answer, which has a length.
    pub(crate) fn ask(&mut self, request: &str) -> std::io::Result<(String, Vec<u8>)> {
        self.stream.write_all(request.as_bytes())?;
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            self.stream.read_exact(&mut byte)?;
            head.extend(byte);
        }
        let head = String::from_utf8(head).expect("a head in UTF-8");
        let mut lines = head.lines();
        let length = lines.find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("content-length")
                .then(|| value.parse::<usize>().expect("a length"))
        });
        let mut body = vec![0; length.unwrap_or(0)];
        self.stream.read_exact(&mut body)?;
        Ok((head, body))
    }

    pub(crate) fn is_resumed(&self) -> bool {
        self.stream.conn.handshake_kind() == Some(HandshakeKind::Resumed)
    }

    pub(crate) fn version(&self) -> Option<ProtocolVersion> {
        self.stream.conn.protocol_version()
    }

    /// The server's own certificate, in DER.
    pub(crate) fn certificate(&self) -> Vec<u8> {
        self.stream.conn.peer_certificates().expect("it has shown one")[0].to_vec()
    }
}

/// The certificate of a PEM file, in DER.
pub(crate) fn der(files: &Files) -> Vec<u8> {
    CertificateDer::from_pem_file(&files.chain).expect("a certificate").to_vec()
}
