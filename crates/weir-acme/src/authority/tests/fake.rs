//! A server over TLS that says what a test wants it to.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;

use rcgen::{CertificateParams, DnType, KeyPair};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use tempfile::TempDir;

/// See the module. It closes the connection after each answer, and ends with the tests' process.
pub(crate) struct Fake {
    address: SocketAddr,
    /// What its certificate is checked against.
    roots: TempDir,
}

impl Fake {
    /// Answers every request with the same bytes, or never answers.
    pub(crate) fn answering(answer: Option<Vec<u8>>) -> Fake {
        Fake::on(TcpListener::bind("127.0.0.1:0").unwrap(), move |_| answer.clone())
    }

    /// Answers HTTP. `URL` in the body is an address of its own, as `https://ADDRESS/` is in the fields.
    pub(crate) fn with(status: &str, fields: &str, body: &str) -> Fake {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let body = body.replace("URL", &format!("https://{address}/x"));
        let answer = response(status, &fields.replace("ADDRESS", &address), &body);
        Fake::on(listener, move |_| Some(answer.clone()))
    }

    /// `answer`: what it says to a request, which is given as text; `None`: it never answers.
    pub(crate) fn on(
        listener: TcpListener,
        answer: impl Fn(&str) -> Option<Vec<u8>> + Send + Sync + 'static,
    ) -> Fake {
        let address = listener.local_addr().unwrap();
        let key = KeyPair::generate().unwrap();
        let mut certificate = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
        certificate.distinguished_name.push(DnType::CommonName, address.to_string());
        let certificate = certificate.self_signed(&key).unwrap();
        let roots = TempDir::new().unwrap();
        fs::write(roots.path().join("ca.pem"), certificate.pem()).unwrap();
        let key = PrivateKeyDer::from_pem_slice(key.serialize_pem().as_bytes()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        let (config, answer) = (Arc::new(config), Arc::new(answer));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let connection = ServerConnection::new(config.clone()).unwrap();
                let mut stream = StreamOwned::new(connection, stream.unwrap());
                let answer = answer.clone();
                thread::spawn(move || {
                    let request = read(&mut stream);
                    match answer(&request) {
                        Some(answer) => {
                            let _ = stream.write_all(&answer);
                            stream.conn.send_close_notify();
                            let _ = stream.flush();
                        }
                        // Until the client gives up.
                        None => while stream.read(&mut [0; 1024]).is_ok_and(|count| count > 0) {},
                    }
                });
            }
        });
        Fake { address, roots }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("https://{}{path}", self.address)
    }

    /// The file that its certificate is checked against.
    pub(crate) fn roots(&self) -> PathBuf {
        self.roots.path().join("ca.pem")
    }
}

/// An answer as it is sent; each of `fields` ends its line.
pub(crate) fn response(status: &str, fields: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n{fields}\r\n{body}"
    )
    .into_bytes()
}

/// A request, or what there is of it when the client stops.
fn read(stream: &mut impl Read) -> String {
    let mut request = String::new();
    let mut part = [0; 16 * 1024];
    while !is_whole(&request) {
        match stream.read(&mut part) {
            Ok(count) if count > 0 => request.push_str(&String::from_utf8_lossy(&part[..count])),
            _ => break,
        }
    }
    request
}

fn is_whole(request: &str) -> bool {
    let Some((head, body)) = request.split_once("\r\n\r\n") else { return false };
    let head = head.to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    body.len() >= length.map_or(0, |length| length.parse().unwrap())
}
