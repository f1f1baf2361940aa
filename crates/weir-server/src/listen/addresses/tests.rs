//! Addresses that are opened, passed on, and changed, on real sockets.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::UnixStream;

use super::*;
use crate::config;
use crate::identity::PeerAddress;
use crate::listen::listener::take;
use crate::listen::passed::PassedSocket;

fn read(text: &str) -> Config {
    Config::from_settings(config::parse(text).unwrap()).unwrap()
}

fn open(text: &str) -> Listeners {
    Listeners::open(&read(text), &mut Passed::default()).unwrap()
}

fn port(served: &Served) -> SocketAddr {
    match served.address {
        ListenAddress::Tcp(address) => address,
        ref other => panic!("{other}"),
    }
}

#[test]
fn workers_share_a_unix_socket_that_goes_with_the_last() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("weir.sock");
    let listeners = open(&format!("workers = 3\nlisten = \"unix:{}\"\n", path.display()));
    let [served] = listeners.addresses.served() else { panic!("one address") };
    assert_eq!(served.address, ListenAddress::Unix(path.clone()));
    assert_eq!((listeners.workers.len(), listeners.addresses.lock().len()), (3, 3));
    for mut worker in listeners.workers {
        assert!(path.exists());
        let _client = UnixStream::connect(&path).unwrap();
        let Listener { socket, file, .. } = worker.pop().unwrap();
        assert_eq!(take(&socket, false).unwrap().1, PeerAddress::Unix);
        drop(file);
    }
    assert!(!path.exists());
}

#[test]
fn what_stays_is_left_alone_and_what_is_new_is_opened_before_the_rest_closes() {
    let mut addresses = open("workers = 2\nlisten = [\"127.0.0.1:0\", \"[::1]:0\"]").addresses;
    let before = addresses.served().to_vec();
    let next = read("workers = 2\nlisten = [\"127.0.0.1:0\", \"127.0.0.2:0\"]");
    let mut moves = addresses.prepare(&next).unwrap();
    assert!(moves.opened.iter().all(|opened| opened.len() == 1) && moves.ports.is_empty());
    assert_eq!((moves.closed.clone(), moves.new_addresses().len()), (vec![before[1].id], 1));
    // Not taken yet: nothing has changed.
    assert_eq!(addresses.served(), before);
    addresses.take(&mut moves);
    let after = addresses.served().to_vec();
    assert_eq!((&after[0], after[1].id), (&before[0], 2));
    assert_eq!(addresses.lock().len(), 6);
    assert!(TcpStream::connect(port(&after[1])).is_ok());
    addresses.close(&moves.closed);
    let copies = addresses.copies().unwrap();
    assert_eq!(copies.iter().map(|(id, _)| *id).collect::<Vec<_>>(), [0, 0, 2, 2]);
    // The same configuration once more is no change, whatever ports the kernel chose.
    let moves = addresses.prepare(&next).unwrap();
    assert!(moves.opened.iter().all(Vec::is_empty) && moves.closed.is_empty());
}

#[test]
fn an_address_can_become_one_with_tls() {
    let clear = "listen = \"127.0.0.1:0\"\nworkers = 1";
    let addresses = open(clear).addresses;
    assert_eq!(addresses.tls_port(&read(clear)), None);
    let next = read(&format!("{clear}\ntls = \"a\""));
    let moves = addresses.prepare(&next).unwrap();
    assert_eq!(moves.ports, [(0, PortKind::Tls)]);
    assert_eq!(moves.tls_port(&next), Some(port(&addresses.served()[0]).port()));
}

#[test]
fn clients_are_sent_to_the_port_that_is_published() {
    let text = "listen = \"127.0.0.1:0\"\nworkers = 1\ntls = \"a\"";
    let addresses = open(text).addresses;
    let published = read(&format!("{text}\npublic_tls_port = 443"));
    assert_eq!(addresses.tls_port(&published), Some(443));
    let moves = addresses.prepare(&published).unwrap();
    assert_eq!(moves.tls_port(&published), Some(443));
    // It is what clients know, and nothing that is listened on.
    assert!(moves.new_addresses().is_empty() && moves.closed.is_empty());
}

#[test]
fn an_address_that_somebody_has_changes_nothing() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let text = format!("listen = [\"127.0.0.2:0\", \"{}\"]", taken.local_addr().unwrap());
    for workers in [1, 3] {
        let addresses = open(&format!("listen = \"127.0.0.1:0\"\nworkers = {workers}")).addresses;
        let wrong = addresses.prepare(&read(&format!("{text}\nworkers = {workers}"))).unwrap_err();
        assert!(wrong.to_string().contains("cannot listen on 127.0.0.1:"), "{wrong}");
        assert_eq!(addresses.served().len(), 1);
    }
}

/// However many workers the predecessor had: every socket is taken by somebody, and everybody has one.
#[test]
fn passed_sockets_are_dealt_to_all_workers() {
    for (before, after, dealt) in [(1, 1, &[1][..]), (1, 3, &[1, 1, 1]), (3, 2, &[2, 1])] {
        let text = |workers| format!("listen = \"127.0.0.1:0\"\nworkers = {workers}");
        let old = open(&text(before));
        let address = old.addresses.served()[0].clone();
        let sockets = old.addresses.copies().unwrap().into_iter().map(|(group, socket)| {
            let address = "127.0.0.1:0".parse().unwrap();
            let role = Some(Role::Workers);
            PassedSocket { group, role, address, has_own_file: false, socket }
        });
        let mut passed = Passed::by_predecessor(sockets.collect());
        let new = Listeners::open(&read(&text(after)), &mut passed).unwrap();
        assert!(passed.left().is_empty());
        assert_eq!(new.addresses.served()[0].address, address.address);
        let counts: Vec<_> = new.workers.iter().map(Vec::len).collect();
        assert_eq!(counts, dealt, "{before} workers, then {after}");
        // The predecessor closes its own: nobody is refused.
        drop(old);
        assert!(TcpStream::connect(port(&address)).is_ok());
    }
}
