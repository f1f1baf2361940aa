//! Pebble: its configuration, its process, and what its management address is asked. The tests of `weir`
//! use it, too.

use std::env;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rcgen::{CertificateParams, KeyPair};
use serde_json::json;
use tempfile::TempDir;

use crate::names;

/// Guards against hanging. Nothing that works takes so long.
const DEADLINE: Duration = Duration::from_secs(60);

/// Pebble, not yet started or running; it ends when this is dropped.
pub(crate) struct Pebble {
    /// How long its certificates are valid.
    pub(crate) validity: Duration,
    /// Identifier and key of the only account that may be bound; with it accounts must be.
    pub(crate) external_account: Option<(&'static str, &'static str)>,
    home: TempDir,
    http_port: u16,
    tls_port: u16,
    port: u16,
    management_port: u16,
    process: Option<Child>,
}

impl Pebble {
    /// One that proves names on these ports of 127.0.0.1.
    pub(crate) fn new(http_port: u16, tls_port: u16) -> Pebble {
        Pebble {
            validity: Duration::from_secs(90 * 24 * 3600),
            external_account: None,
            home: TempDir::new().unwrap(),
            http_port,
            tls_port,
            port: free_port(),
            management_port: free_port(),
            process: None,
        }
    }

    pub(crate) fn start(mut self) -> Pebble {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
        let certificate = certificate.self_signed(&key).unwrap();
        fs::write(self.home.path().join("key.pem"), key.serialize_pem()).unwrap();
        fs::write(self.roots(), certificate.pem()).unwrap();
        let external: serde_json::Map<_, _> =
            self.external_account.iter().map(|(id, key)| ((*id).to_owned(), json!(key))).collect();
        let configuration = json!({"pebble": {
            "listenAddress": format!("127.0.0.1:{}", self.port),
            "managementListenAddress": format!("127.0.0.1:{}", self.management_port),
            "certificate": self.roots(),
            "privateKey": self.home.path().join("key.pem"),
            "httpPort": self.http_port,
            "tlsPort": self.tls_port,
            "ocspResponderURL": "",
            "externalAccountBindingRequired": self.external_account.is_some(),
            "externalAccountMACKeys": external,
            "domainBlocklist": ["blocked.weir.example"],
            "retryAfter": {"authz": 1, "order": 1},
            "keyAlgorithm": "ecdsa",
            "profiles": {"default": {
                "description": "the only one",
                "validityPeriod": self.validity.as_secs(),
            }},
        }});
        fs::write(self.home.path().join("pebble.json"), configuration.to_string()).unwrap();
        self.restart();
        self
    }

    /// Starts it, and what it knew is gone.
    pub(crate) fn restart(&mut self) {
        self.end();
        let log = fs::File::create(self.home.path().join("log")).unwrap();
        let process = Command::new(program())
            .arg("-strict")
            .arg("-config")
            .arg(self.home.path().join("pebble.json"))
            .args(["-dnsserver", &names::start().to_string()])
            // Names are proved at once, each time anew, and no nonce is refused for practice.
            .env("PEBBLE_VA_NOSLEEP", "1")
            .env("PEBBLE_AUTHZREUSE", "0")
            .env("PEBBLE_WFE_NONCEREJECT", "0")
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        self.process = Some(process);
        for port in [self.port, self.management_port] {
            let start = Instant::now();
            while TcpStream::connect(("127.0.0.1", port)).is_err() {
                let ended = self.process.as_mut().unwrap().try_wait().unwrap();
                let log = fs::read_to_string(self.home.path().join("log")).unwrap_or_default();
                assert!(ended.is_none(), "Pebble ended: {log}");
                assert!(start.elapsed() < DEADLINE, "Pebble does not listen: {log}");
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }

    pub(crate) fn stop(&mut self) {
        self.end();
    }

    pub(crate) fn directory_url(&self) -> String {
        format!("https://127.0.0.1:{}/dir", self.port)
    }

    /// The file that its own certificate is checked against.
    pub(crate) fn roots(&self) -> PathBuf {
        self.home.path().join("certificate.pem")
    }

    /// The root of the certificates that it issues, in PEM.
    pub(crate) fn issuer(&self) -> String {
        self.manage(&["https://127.0.0.1:PORT/roots/0"])
    }

    /// From here on it suggests to renew the first certificate of `chain` at once.
    pub(crate) fn suggest_renewal_at_once(&self, chain: &str) {
        let from = chain.find("-----BEGIN CERTIFICATE-----").unwrap();
        let to = from + chain[from..].find("-----END CERTIFICATE-----").unwrap();
        let certificate = format!("{}-----END CERTIFICATE-----\n", &chain[from..to]);
        let window = json!({"suggestedWindow": {
            "start": "2020-01-01T00:00:00Z",
            "end": "2020-01-02T00:00:00Z",
        }});
        let wish = json!({"certificate": certificate, "ariResponse": window.to_string()});
        let wish = wish.to_string();
        self.manage(&["--data", &wish, "https://127.0.0.1:PORT/set-renewal-info/"]);
    }

    fn manage(&self, arguments: &[&str]) -> String {
        let port = self.management_port.to_string();
        let output = Command::new("curl")
            .args(["--silent", "--show-error", "--fail-with-body", "--insecure"])
            .args(arguments.iter().map(|argument| argument.replace("PORT", &port)))
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn end(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

impl Drop for Pebble {
    fn drop(&mut self) {
        self.end();
    }
}

/// Where `./test --install` puts it, or what the variable PEBBLE names.
fn program() -> PathBuf {
    let installed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools/pebble");
    let program = env::var_os("PEBBLE").map_or(installed, PathBuf::from);
    assert!(program.is_file(), "{} is missing: run ./test --install", program.display());
    program
}

/// A port that nobody listens on at this moment.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}
