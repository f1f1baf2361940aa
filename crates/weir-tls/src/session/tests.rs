//! Both sides of a connection in memory: handshakes, records and what breaks them.

use std::io::{Read, Write};
use std::sync::Arc;

use proptest::prelude::*;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject};
use rustls::version::{TLS12, TLS13};
use rustls::{ClientConfig, ClientConnection, RootCertStore, SupportedProtocolVersion};

use super::*;
use crate::certificates::tests::{Kind, params, pem};
use crate::certificates::{ACME_TLS, Authorities, Certificate, CertificateStore, subject};
use crate::server::{ClientCertificates, Clients, HTTP_1, Preset, Server};

/// A server for a.test, and what its clients need to trust it.
struct Bench {
    store: Arc<CertificateStore>,
    chain: String,
    key: String,
}

impl Bench {
    fn new() -> Bench {
        let (chain, key) = pem(Kind::P256, params(&["a.test"]));
        let store = CertificateStore::new();
        store.replace_files(vec![Certificate::from_pem(chain.as_bytes(), key.as_bytes()).unwrap()]);
        Bench { store, chain, key }
    }

    fn server(&self, preset: Preset, clients: Option<&Clients>) -> Server {
        Server::new(&self.store, preset, clients).unwrap()
    }

    /// Asks for certificates that this bench's own key has signed.
    fn clients(&self, certificates: ClientCertificates) -> Clients {
        let authorities = Authorities::from_pem(self.chain.as_bytes()).unwrap();
        Clients { authorities, certificates }
    }

    fn client(
        &self,
        versions: &[&'static SupportedProtocolVersion],
        has_certificate: bool,
    ) -> ClientConfig {
        let der = CertificateDer::from_pem_slice(self.chain.as_bytes()).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(der.clone()).unwrap();
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .unwrap()
            .with_root_certificates(roots);
        let mut config = match has_certificate {
            true => {
                let key = PrivateKeyDer::from_pem_slice(self.key.as_bytes()).unwrap();
                builder.with_client_auth_cert(vec![der], key).unwrap()
            }
            false => builder.with_no_client_auth(),
        };
        config.alpn_protocols = vec![b"h2".to_vec(), HTTP_1.to_vec()];
        config
    }
}

fn connect(config: &Arc<ClientConfig>) -> Client {
    let name = ServerName::try_from("a.test").unwrap();
    let mut tls = ClientConnection::new(config.clone(), name).unwrap();
    tls.set_buffer_limit(None);
    Client { tls, came: Vec::new() }
}

struct Client {
    tls: ClientConnection,
    /// Plain bytes that nobody has taken.
    came: Vec<u8>,
}

/// One side of a connection.
trait Side {
    /// All records that wait.
    fn sent(&mut self) -> Vec<u8>;
    /// All plain bytes that wait.
    fn taken(&mut self) -> Vec<u8>;
    fn receive_all(&mut self, bytes: &[u8]) -> Result<(), Failure>;
}

impl Side for Session {
    fn sent(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        while self.has_records() {
            self.send(&mut bytes).unwrap();
        }
        bytes
    }

    fn taken(&mut self) -> Vec<u8> {
        let mut room = [0; 1000];
        let mut all = Vec::new();
        while let Plain::Bytes(count) = self.take(&mut room) {
            all.extend_from_slice(&room[..count]);
        }
        all
    }

    fn receive_all(&mut self, mut bytes: &[u8]) -> Result<(), Failure> {
        while !bytes.is_empty() {
            self.receive(&mut bytes).unwrap();
            self.process()?;
        }
        Ok(())
    }
}

impl Side for Client {
    fn sent(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        while self.tls.wants_write() {
            self.tls.write_tls(&mut bytes).unwrap();
        }
        bytes
    }

    fn taken(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.came)
    }

    fn receive_all(&mut self, mut bytes: &[u8]) -> Result<(), Failure> {
        while !bytes.is_empty() {
            self.tls.read_tls(&mut bytes).unwrap();
            let processed = self.tls.process_new_packets();
            processed.map_err(|error| Failure { error, alert: Vec::new() })?;
            // It fails where there may be more later.
            let _ = self.tls.reader().read_to_end(&mut self.came);
        }
        Ok(())
    }
}

/// The handshake to its end.
fn shake(client: &mut Client, server: &Server) -> Result<Session, Failure> {
    let accepted = Hello::default().receive(&client.sent())?.expect("the whole message");
    let mut session = accepted.answer(server)?;
    while client.tls.is_handshaking() || session.is_handshaking() {
        client.receive_all(&session.sent())?;
        session.receive_all(&client.sent())?;
    }
    client.receive_all(&session.sent())?;
    Ok(session)
}

#[test]
fn bytes_go_both_ways_in_both_versions_and_records_are_as_long_as_told() {
    let bench = Bench::new();
    let server = bench.server(Preset::Intermediate, None);
    for (version, overhead) in [(&TLS13, 22), (&TLS12, 29)] {
        let mut client = connect(&Arc::new(bench.client(&[version], false)));
        let mut session = shake(&mut client, &server).unwrap();
        assert_eq!((session.protocol(), client.tls.alpn_protocol()), (Some(HTTP_1), Some(HTTP_1)));
        assert_eq!(session.overhead(), overhead);
        client.tls.writer().write_all(b"question").unwrap();
        session.receive_all(&client.sent()).unwrap();
        assert_eq!(session.plain(), 8);
        assert_eq!((session.taken(), session.plain()), (b"question".to_vec(), 0));
        // The handshake is told of once.
        assert!(session.take_beside() > 500 && session.take_beside() == 0);
        for count in [1, 1000, LONGEST] {
            let plain = vec![b'a'; count];
            session.seal(&plain);
            let bytes = session.sent();
            assert_eq!(bytes.len(), count + overhead as usize);
            client.receive_all(&bytes).unwrap();
            assert_eq!(client.taken(), plain);
        }
        assert_eq!((session.records(), session.take_beside()), (3, 0));
        client.tls.send_close_notify();
        session.receive_all(&client.sent()).unwrap();
        assert_eq!(session.take(&mut [0; 10]), Plain::End);
        session.close();
        client.receive_all(&session.sent()).unwrap();
        assert_eq!(client.tls.reader().read(&mut [0; 10]).unwrap(), 0);
        assert!(session.take_beside() > 0);
        assert_eq!((session.held(), session.has_records()), (0, false));
    }
}

#[test]
fn versions_go_by_the_preset() {
    let bench = Bench::new();
    let old = Arc::new(bench.client(&[&TLS12], false));
    assert!(shake(&mut connect(&old), &bench.server(Preset::Intermediate, None)).is_ok());
    let refused = shake(&mut connect(&old), &bench.server(Preset::Modern, None)).unwrap_err();
    assert!(!refused.alert.is_empty(), "{refused}");
}

#[test]
fn a_ticket_is_good_until_other_clients_are_wanted() {
    let bench = Bench::new();
    let server = bench.server(Preset::Intermediate, None);
    for version in [&TLS13, &TLS12] {
        let config = Arc::new(bench.client(&[version], false));
        let resumed = |server: &Server| {
            shake(&mut connect(&config), server).map(|session| session.is_resumed())
        };
        assert_eq!(resumed(&server).unwrap(), Some(false));
        assert_eq!(resumed(&server).unwrap(), Some(true));
        server.replace_clients(None).unwrap();
        assert_eq!(resumed(&server).unwrap(), Some(false));
    }
}

#[test]
fn clients_show_certificates_if_they_must_or_may() {
    let bench = Bench::new();
    let config = |has| Arc::new(bench.client(&[&TLS13, &TLS12], has));
    let required =
        bench.server(Preset::default(), Some(&bench.clients(ClientCertificates::Required)));
    let optional =
        bench.server(Preset::default(), Some(&bench.clients(ClientCertificates::Optional)));
    for server in [&required, &optional] {
        let session = shake(&mut connect(&config(true)), server).unwrap();
        let shown = session.peer_certificate().and_then(subject);
        assert_eq!(shown.as_deref(), Some("CN=rcgen self signed cert"));
    }
    assert!(shake(&mut connect(&config(false)), &required).is_err());
    let session = shake(&mut connect(&config(false)), &optional).unwrap();
    assert!(session.peer_certificate().is_none());
    // A certificate of somebody else is no better than none.
    let stranger = Bench::new();
    let mut of_stranger = stranger.client(&[&TLS13], true);
    of_stranger.dangerous().set_certificate_verifier(Arc::new(TrustsAll));
    assert!(shake(&mut connect(&Arc::new(of_stranger)), &optional).is_err());
}

#[test]
fn the_answer_to_a_challenge_is_for_who_asks_for_nothing_else() {
    let bench = Bench::new();
    let clients = bench.clients(ClientCertificates::Required);
    let server = bench.server(Preset::default(), Some(&clients));
    let mut config = bench.client(&[&TLS13], false);
    config.alpn_protocols = vec![ACME_TLS.to_vec()];
    let config = Arc::new(config);
    assert!(shake(&mut connect(&config), &server).is_err());
    let answer = Certificate::from_pem(bench.chain.as_bytes(), bench.key.as_bytes()).unwrap();
    bench.store.set_challenge("a.test", Some(answer));
    let session = shake(&mut connect(&config), &server).unwrap();
    assert_eq!(session.protocol(), Some(ACME_TLS));
    bench.store.set_challenge("a.test", None);
    assert!(shake(&mut connect(&config), &server).is_err());
}

#[test]
fn a_first_message_counts_once_it_is_whole() {
    let bench = Bench::new();
    let server = bench.server(Preset::default(), None);
    let mut client = connect(&Arc::new(bench.client(&[&TLS13], false)));
    let bytes = client.sent();
    let mut hello = Hello::default();
    let (last, first) = bytes.split_last().unwrap();
    for byte in first {
        assert!(hello.receive(&[*byte]).unwrap().is_none());
    }
    let accepted = hello.receive(&[*last]).unwrap().expect("the whole message");
    let mut session = accepted.answer(&server).unwrap();
    client.receive_all(&session.sent()).unwrap();
    assert!(!client.tls.is_handshaking());
}

#[test]
fn a_message_that_does_not_end_takes_little() {
    let bench = Bench::new();
    let server = bench.server(Preset::Intermediate, None);
    let mut client = connect(&Arc::new(bench.client(&[&TLS12], false)));
    let accepted = Hello::default().receive(&client.sent()).unwrap().expect("the whole message");
    let mut session = accepted.answer(&server).unwrap();
    // A key of 65,535 bytes (RFC 5246, section 7.4), each in a record of its own.
    let byte = |byte: u8| [22, 3, 3, 0, 1, byte];
    let records = [16, 0, 0xff, 0xff].into_iter().chain([0; 65_535]).flat_map(byte);
    let bytes: Vec<u8> = records.collect();
    let mut bytes = &bytes[..];
    let refused = loop {
        assert!(session.incoming.len() <= MOST_INCOMING + READ);
        match session.receive(&mut bytes) {
            Ok(0) => break false,
            Ok(_) if session.process().is_ok() => {}
            Ok(_) | Err(_) => break true,
        }
    };
    assert!(refused && session.is_handshaking());
}

#[test]
fn what_is_no_first_message_is_refused() {
    for bytes in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        &[0x16, 3, 1, 0xff, 0xff, 1, 2, 3],
        // A handshake message of 16 MB.
        &[0x16, 3, 1, 0, 4, 1, 0xff, 0xff, 0xff],
        &[0x17, 3, 3, 0, 1, 0],
    ] {
        let refused = Hello::default().receive(bytes).unwrap_err();
        // An alert (RFC 8446, section 6), if there is one.
        assert!(matches!(refused.alert.first(), None | Some(0x15)), "{refused}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// However the bytes come, what went in comes out.
    #[test]
    fn pieces_change_nothing(
        parts in prop::collection::vec(1..LONGEST, 1..6),
        piece in 1..5000_usize,
    ) {
        let bench = Bench::new();
        let server = bench.server(Preset::default(), None);
        let mut client = connect(&Arc::new(bench.client(&[&TLS13], false)));
        let mut session = shake(&mut client, &server).unwrap();
        let plain: Vec<u8> = (0..parts.iter().sum::<usize>()).map(|at| at as u8).collect();
        let mut rest = &plain[..];
        for count in parts {
            let (part, after) = rest.split_at(count);
            session.seal(part);
            rest = after;
        }
        for piece in session.sent().chunks(piece) {
            client.receive_all(piece).unwrap();
        }
        prop_assert_eq!(client.taken(), &plain[..]);
        client.tls.writer().write_all(&plain).unwrap();
        let mut came = Vec::new();
        for piece in client.sent().chunks(piece) {
            session.receive_all(piece).unwrap();
            came.extend(session.taken());
        }
        prop_assert_eq!(came, plain);
        prop_assert_eq!(session.held(), 0);
    }

    /// Anything may come first, and anything may come later.
    #[test]
    fn damage_is_told_and_nothing_else_happens(
        garbage in prop::collection::vec(any::<u8>(), 0..600),
        place in 0..2000_usize,
        bit in 0..8_u32,
    ) {
        let _ = Hello::default().receive(&garbage);
        let bench = Bench::new();
        let server = bench.server(Preset::default(), None);
        let mut client = connect(&Arc::new(bench.client(&[&TLS13], false)));
        let mut session = shake(&mut client, &server).unwrap();
        client.tls.writer().write_all(&[b'a'; 1500]).unwrap();
        let mut bytes = client.sent();
        let place = place % bytes.len();
        bytes[place] ^= 1 << bit;
        // A length that grew waits for more, and the version of a record counts for nothing (RFC 8446,
        // section 5.1); anything else is noticed, and the client is told.
        let told = session.receive_all(&bytes).is_err() && session.has_records();
        let taken = session.taken();
        prop_assert!(told || taken.is_empty() || taken == [b'a'; 1500]);
        prop_assert!(!told || client.receive_all(&session.sent()).is_err());
    }
}

/// A client that takes any certificate.
#[derive(Debug)]
struct TrustsAll;

impl rustls::client::danger::ServerCertVerifier for TrustsAll {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: rustls::pki_types::UnixTime,
    ) -> Result<rustls::client::danger::ServerCertVerified, rustls::Error> {
        Ok(rustls::client::danger::ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        Ok(rustls::client::danger::HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        Ok(rustls::client::danger::HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        vec![rustls::SignatureScheme::ECDSA_NISTP256_SHA256]
    }
}
