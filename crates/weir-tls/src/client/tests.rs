//! Handshakes in memory with a server of rustls: what is believed, and what the log says of the rest.

use rcgen::{BasicConstraints, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConnection, HandshakeKind, RootCertStore, ServerConfig, ServerConnection};

use super::*;
use crate::certificates::tests::params;

/// An authority of its own.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: String,
}

/// A certificate and its key, as PEM.
struct Issued {
    certificate: String,
    key: String,
}

/// The years from and until which a certificate is valid.
const VALID: [i32; 2] = [2020, 2100];

impl Authority {
    fn new() -> Authority {
        Authority::called("an authority of a test")
    }

    fn called(name: &str) -> Authority {
        let key = KeyPair::generate().unwrap();
        let mut params = params(&[]);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(DnType::CommonName, name);
        let certificate = params.self_signed(&key).unwrap().pem();
        let issuer = Issuer::new(params, key);
        Authority { issuer, certificate }
    }

    fn issue(&self, names: &[&str], [from, until]: [i32; 2]) -> Issued {
        let mut params = params(names);
        (params.not_before, params.not_after) =
            (date_time_ymd(from, 1, 1), date_time_ymd(until, 1, 1));
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap().pem();
        Issued { certificate, key: key.serialize_pem() }
    }

    fn authorities(&self) -> Authorities {
        Authorities::from_pem(self.certificate.as_bytes()).unwrap()
    }
}

/// A server that shows `issued`, and demands a certificate from `clients` if there is one.
fn server(issued: &Issued, clients: Option<&Authority>) -> Arc<ServerConfig> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .unwrap();
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(authority) => {
            let mut roots = RootCertStore::empty();
            let pem = authority.certificate.as_bytes();
            roots.add(CertificateDer::from_pem_slice(pem).unwrap()).unwrap();
            let verifier =
                WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
            builder.with_client_cert_verifier(verifier.unwrap())
        }
    };
    let certificate = CertificateDer::from_pem_slice(issued.certificate.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(issued.key.as_bytes()).unwrap();
    let mut config = builder.with_single_cert(vec![certificate], key).unwrap();
    config.alpn_protocols = vec![b"h2".to_vec(), HTTP_1.to_vec()];
    Arc::new(config)
}

/// Both ends of a connection after a handshake, or what the client says went wrong.
fn shake_hands(
    client: &ClientTls,
    server: &Arc<ServerConfig>,
) -> Result<(ClientConnection, ServerConnection), String> {
    let mut client = ClientConnection::new(client.config().clone(), client.name().clone()).unwrap();
    let mut server = ServerConnection::new(server.clone()).unwrap();
    while client.wants_write() || server.wants_write() {
        let mut records = Vec::new();
        while client.wants_write() {
            client.write_tls(&mut records).unwrap();
        }
        server.read_tls(&mut &records[..]).unwrap();
        // Why it refuses is for the client to tell.
        let _ = server.process_new_packets();
        records.clear();
        while server.wants_write() {
            server.write_tls(&mut records).unwrap();
        }
        client.read_tls(&mut &records[..]).unwrap();
        client.process_new_packets().map_err(|error| {
            // As it comes out of a socket.
            let error = io_error(error);
            explain(&error).unwrap()
        })?;
    }
    Ok((client, server))
}

fn io_error(error: rustls::Error) -> std::io::Error {
    std::io::Error::new(std::io::ErrorKind::InvalidData, error)
}

#[test]
fn the_name_is_asked_for_and_http_1_1_alone_is_offered() {
    let authority = Authority::new();
    let server = server(&authority.issue(&["a.test", "192.0.2.1"], VALID), None);
    for (name, asked) in [("a.test", Some("a.test")), ("192.0.2.1", None)] {
        let tls = ClientTls::new(&authority.authorities(), name, None).unwrap();
        let (client, server) = shake_hands(&tls, &server).unwrap();
        assert_eq!(server.server_name(), asked);
        assert_eq!(client.alpn_protocol(), Some(HTTP_1));
    }
}

#[test]
fn a_second_connection_resumes_the_session_of_the_first() {
    let authority = Authority::new();
    let server = server(&authority.issue(&["a.test"], VALID), None);
    let tls = ClientTls::new(&authority.authorities(), "a.test", None).unwrap();
    let kinds = [0, 1].map(|_| shake_hands(&tls, &server).unwrap().0.handshake_kind());
    assert_eq!(kinds, [Some(HandshakeKind::Full), Some(HandshakeKind::Resumed)]);
    let other = ClientTls::new(&authority.authorities(), "a.test", None).unwrap();
    let (client, _) = shake_hands(&other, &server).unwrap();
    assert_eq!(client.handshake_kind(), Some(HandshakeKind::Full), "each backend has its own");
}

#[test]
fn what_is_wrong_with_a_certificate_is_said_in_words() {
    let (authority, newer) = (Authority::new(), Authority::new());
    let other = Authority::called("another");
    for (issued, name, words) in [
        (authority.issue(&["a.test"], [2020, 2021]), "a.test", "expired on Fri, 01 Jan 2021"),
        (authority.issue(&["a.test"], [2090, 2100]), "a.test", "not valid before Sun, 01 Jan 2090"),
        (other.issue(&["a.test"], VALID), "a.test", "unknown issuer; name a file"),
        (newer.issue(&["a.test"], VALID), "a.test", "signed by another authority of the same name"),
        (
            authority.issue(&["a.test", "*.b.test"], VALID),
            "c.test",
            "is for a.test, *.b.test and not for c.test; say which is right as `backend_name`",
        ),
        (authority.issue(&["192.0.2.1"], VALID), "192.0.2.2", "and not for 192.0.2.2"),
        (authority.issue(&[], VALID), "a.test", "is for no name and not for a.test"),
    ] {
        let tls = ClientTls::new(&authority.authorities(), name, None).unwrap();
        let said = shake_hands(&tls, &server(&issued, None)).unwrap_err();
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn a_certificate_may_be_believed_itself_unless_it_is_an_authority() {
    let key = KeyPair::generate().unwrap();
    for (is_ca, words) in [
        (IsCa::NoCa, None),
        (IsCa::Ca(BasicConstraints::Unconstrained), Some("an authority (CA:TRUE)")),
    ] {
        let mut params = params(&["a.test"]);
        params.is_ca = is_ca;
        let certificate = params.self_signed(&key).unwrap().pem();
        let itself = Authorities::from_pem(certificate.as_bytes()).unwrap();
        let issued = Issued { certificate, key: key.serialize_pem() };
        let tls = ClientTls::new(&itself, "a.test", None).unwrap();
        let said = shake_hands(&tls, &server(&issued, None)).err();
        assert!(said.is_some() == words.is_some(), "{said:?}");
        assert!(words.is_none_or(|words| said.unwrap_or_default().contains(words)));
    }
}

#[test]
fn a_server_that_demands_a_certificate_gets_the_one_that_was_given() {
    let (authority, other) = (Authority::new(), Authority::called("another"));
    let server = server(&authority.issue(&["a.test"], VALID), Some(&authority));
    let with = |issued: Option<Issued>| {
        let own = issued.map(|issued| {
            Certificate::from_pem(issued.certificate.as_bytes(), issued.key.as_bytes()).unwrap()
        });
        let tls = ClientTls::new(&authority.authorities(), "a.test", own.as_ref()).unwrap();
        shake_hands(&tls, &server)
    };
    let (_, seen) = with(Some(authority.issue(&["weir.test"], VALID))).unwrap();
    assert!(seen.peer_certificates().is_some());
    let none = with(None).unwrap_err();
    assert!(none.contains("demands a certificate; name the file"), "{none}");
    let unknown = with(Some(other.issue(&["weir.test"], VALID))).unwrap_err();
    assert!(unknown.contains("does not accept `backend_certificate`"), "{unknown}");
}

#[test]
fn what_is_not_tls_is_said_to_be_none() {
    let authority = Authority::new();
    let tls = ClientTls::new(&authority.authorities(), "a.test", None).unwrap();
    let mut client = ClientConnection::new(tls.config().clone(), tls.name().clone()).unwrap();
    client.read_tls(&mut &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..]).unwrap();
    let error = io_error(client.process_new_packets().unwrap_err());
    let said = explain(&error).unwrap();
    assert!(said.starts_with("it does not speak TLS on this port"), "{said}");
    assert_eq!(explain(&std::io::Error::other("no TLS in it")), None);
}

#[test]
fn a_name_that_no_certificate_has_is_refused() {
    let authority = Authority::new();
    let name =
        ClientTls::new(&authority.authorities(), "not a name", None).unwrap_err().to_string();
    assert!(name.contains("no certificate can be for \"not a name\""), "{name}");
}
