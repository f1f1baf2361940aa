//! A transport with TLS and a client at the other end of a Unix socket.

use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair};
use rustix::io::ioctl_fionread;
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, ServerName, pem::PemObject};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use weir_tls::{Certificate, CertificateStore, Hello, Preset, Server};

use super::*;
use crate::transport::Transport;

type Stream = StreamOwned<ClientConnection, UnixStream>;

/// Both ends after their handshake.
fn pair() -> (Transport, Stream) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["a.test".to_owned()]).unwrap();
    let chain = params.self_signed(&key).unwrap().pem();
    let store = CertificateStore::new();
    let pem = key.serialize_pem();
    let certificate = Certificate::from_pem(chain.as_bytes(), pem.as_bytes()).unwrap();
    store.replace_files(vec![certificate]);
    let server = Server::new(&store, Preset::default(), None).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(chain.as_bytes()).unwrap()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("a.test").unwrap();
    let mut client = ClientConnection::new(Arc::new(config), name).unwrap();

    let (here, mut there) = UnixStream::pair().unwrap();
    here.set_nonblocking(true).unwrap();
    let transport = Transport::for_tls(Socket::new(OwnedFd::from(here)));
    client.write_tls(&mut there).unwrap();
    let mut room = [0; 4096];
    let count = transport.read(&mut room).unwrap();
    let message = Hello::default().receive(&room[..count]).unwrap().expect("the whole message");
    transport.seal_with(message.answer(&server).unwrap());
    assert_eq!(transport.advance().unwrap(), Advance::Bytes);
    while client.is_handshaking() {
        client.complete_io(&mut there).unwrap();
    }
    assert_eq!(transport.advance().unwrap(), Advance::Done);
    (transport, StreamOwned::new(client, there))
}

/// A worker has a runtime, on which sockets are waited for.
fn on_runtime(check: impl FnOnce()) {
    let metrics = Arc::new(crate::metrics::Metrics::new());
    crate::runtime::build(&metrics).unwrap().block_on(async { check() });
}

#[test]
fn little_waits_for_a_client_that_does_not_read() {
    on_runtime(|| {
        let (transport, mut client) = pair();
        let plain: Vec<u8> = (0..4_000_000_u32).map(|at| at as u8).collect();
        let taken = transport.write(&plain, false).unwrap().unwrap();
        assert!(taken < plain.len() && transport.has_waiting());
        // What was sealed and is not in the kernel is one batch at most, with its records.
        let records = transport.with_session(Session::records).unwrap();
        let sealed = taken as u64 + records * 22;
        let waits = sealed.saturating_sub(ioctl_fionread(&client.sock).unwrap());
        assert!(waits <= WAITING as u64 + 100 * 22, "{waits} of {sealed}");
        // The rest is not sealed before there is room for what was.
        assert_eq!(transport.write(&plain[taken..], false), Ok(None));
        assert_eq!(transport.flush(), Ok(false));
        let mut got = vec![0; taken];
        let reader = std::thread::spawn(move || {
            client.read_exact(&mut got).unwrap();
            got
        });
        while !transport.flush().unwrap() {
            std::thread::yield_now();
        }
        assert!(!transport.has_waiting());
        assert_eq!(reader.join().unwrap(), plain[..taken]);
    });
}

#[test]
fn plain_bytes_that_came_are_there_without_an_event() {
    on_runtime(|| {
        let (transport, mut client) = pair();
        client.write_all(b"one request and another").unwrap();
        let mut room = [0; 11];
        assert_eq!(transport.read(&mut room), Ok(11));
        assert_eq!(&room, b"one request");
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(transport.poll_readable(&mut context).is_ready());
        let mut room = [0; 100];
        assert_eq!(transport.read(&mut room), Ok(12));
        assert_eq!(transport.read(&mut room), Err(Errno::AGAIN));
        // The end is told before the connection closes.
        client.conn.send_close_notify();
        client.flush().unwrap();
        assert_eq!(transport.read(&mut room), Ok(0));
    });
}

/// The socket is empty then, and makes no event.
#[test]
fn an_end_that_came_with_the_last_bytes_is_there_without_an_event() {
    on_runtime(|| {
        let (transport, mut client) = pair();
        client.conn.writer().write_all(b"the last").unwrap();
        client.conn.send_close_notify();
        let mut flight = Vec::new();
        while client.conn.wants_write() {
            client.conn.write_tls(&mut flight).unwrap();
        }
        client.sock.write_all(&flight).unwrap();
        let mut room = [0; 100];
        assert_eq!(transport.read(&mut room), Ok(8));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(transport.poll_readable(&mut context).is_ready());
        assert_eq!(transport.read(&mut room), Ok(0));
    });
}

#[test]
fn what_follows_a_failure_is_read_for_nobody_once_this_side_has_ended() {
    on_runtime(|| {
        let (transport, mut client) = pair();
        // No record of this session.
        client.sock.write_all(&[&[0x17_u8, 3, 3, 0, 20][..], &[7; 20]].concat()).unwrap();
        let mut room = [0; 4096];
        assert_eq!(transport.read(&mut room), Err(Errno::PROTO));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(transport.poll_readable(&mut context).is_ready());
        assert_eq!(transport.read(&mut room), Ok(0));
        transport.shut_down().unwrap();
        client.sock.write_all(&[7_u8; 10_000]).unwrap();
        assert_eq!(transport.read(&mut room), Err(Errno::AGAIN));
        assert!(transport.poll_readable(&mut context).is_pending());
        client.sock.shutdown(std::net::Shutdown::Write).unwrap();
        assert_eq!(transport.read(&mut room), Ok(0));
    });
}

#[test]
fn what_records_add_is_told_once() {
    on_runtime(|| {
        let (transport, mut client) = pair();
        assert_eq!(transport.record_overhead(), 22);
        assert!(!transport.takes_files());
        transport.write(b"hello", false).unwrap();
        // The tickets went with it.
        assert!(transport.take_beside() > 500);
        assert_eq!((transport.take_record_bytes(), transport.take_beside()), (22, 0));
        assert_eq!(transport.take_record_bytes(), 0);
        let mut room = [0; 5];
        client.read_exact(&mut room).unwrap();
        assert_eq!(&room, b"hello");
        transport.shut_down().unwrap();
        assert_eq!(client.read(&mut room).unwrap(), 0);
        assert!(transport.take_beside() > 0);
    });
}
