//! A server that gives out the answers to challenges and the certificates of a store, as weir's own does,
//! and clients that look at them.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;

use rustls::crypto::aws_lc_rs;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use tempfile::NamedTempFile;
use weir_acme::Challenges;
use weir_tls::CertificateStore;

use crate::authority::Pebble;

/// Pages on one port and TLS on another, until the tests' process ends.
pub(crate) struct Served {
    store: Arc<CertificateStore>,
    challenges: Arc<Mutex<Vec<Challenges>>>,
    http: SocketAddr,
    https: SocketAddr,
}

impl Served {
    pub(crate) fn new() -> Served {
        let store = CertificateStore::new();
        let challenges = Arc::<Mutex<Vec<Challenges>>>::default();
        let pages = challenges.clone();
        let http = listen(move |stream| answer_page(stream, &pages));
        let mut config =
            ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_no_client_auth()
                .with_cert_resolver(store.clone());
        config.alpn_protocols = vec![b"http/1.1".to_vec(), b"acme-tls/1".to_vec()];
        let config = Arc::new(config);
        let https = listen(move |stream| {
            let connection = ServerConnection::new(config.clone()).unwrap();
            answer(StreamOwned::new(connection, stream), "200 OK", "served");
        });
        Served { store, challenges, http, https }
    }

    /// A certificate authority that proves names here, not yet started.
    pub(crate) fn pebble(&self) -> Pebble {
        Pebble::new(self.http.port(), self.https.port())
    }

    pub(crate) fn store(&self) -> Arc<CertificateStore> {
        self.store.clone()
    }

    /// From here on these pages are given out, too.
    pub(crate) fn answer(&self, challenges: &Challenges) {
        self.challenges.lock().unwrap().push(challenges.clone());
    }

    /// curl, which trusts the root of `pebble`'s certificates and no other, takes what is served.
    #[track_caller]
    pub(crate) fn assert_taken_by_clients(&self, pebble: &Pebble, name: &str) {
        self.assert_taken(&pebble.issuer(), name);
    }

    /// `issuer`: the root, in PEM.
    #[track_caller]
    pub(crate) fn assert_taken(&self, issuer: &str, name: &str) {
        let root = NamedTempFile::new().unwrap();
        fs::write(root.path(), issuer).unwrap();
        let port = self.https.port();
        let output = Command::new("curl")
            .args(["--silent", "--show-error", "--max-time", "20", "--cacert"])
            .arg(root.path())
            .args(["--resolve", &format!("{name}:{port}:127.0.0.1")])
            .arg(format!("https://{name}:{port}/"))
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(String::from_utf8_lossy(&output.stdout), "served", "{error}");
    }
}

fn listen(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let serve = Arc::new(serve);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = serve.clone();
            thread::spawn(move || serve(stream));
        }
    });
    address
}

fn answer_page(mut stream: TcpStream, challenges: &Mutex<Vec<Challenges>>) {
    let mut request = [0; 16 * 1024];
    let length = stream.read(&mut request).unwrap_or(0);
    let request = String::from_utf8_lossy(&request[..length]);
    let path = request.split(' ').nth(1).unwrap_or_default();
    let page = challenges.lock().unwrap().iter().find_map(|challenges| challenges.page(path));
    let (status, page) = match &page {
        Some(page) => ("200 OK", page.as_str()),
        None => ("404 Not Found", "no such page"),
    };
    let _ = stream.write_all(response(status, page).as_bytes());
}

fn answer(mut stream: StreamOwned<ServerConnection, TcpStream>, status: &str, page: &str) {
    let mut request = [0; 16 * 1024];
    // A handshake that proves a name ends here.
    if stream.read(&mut request).unwrap_or(0) > 0 {
        let _ = stream.write_all(response(status, page).as_bytes());
    }
    stream.conn.send_close_notify();
    let _ = stream.flush();
}

fn response(status: &str, page: &str) -> String {
    let length = page.len();
    format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{page}")
}
