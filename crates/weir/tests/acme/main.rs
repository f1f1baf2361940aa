//! `tls = "auto"`: the real program obtains its certificate from Pebble, by either challenge, and clients
//! take it. The tests need Pebble (`./test --install` builds it) and curl.
#![allow(clippy::unwrap_used)] // the helpers of tests are tests

#[path = "../support/mod.rs"]
mod support;

#[path = "../../../weir-acme/tests/pebble/authority.rs"]
#[allow(dead_code)]
mod authority;
#[path = "../../../weir-acme/tests/pebble/names.rs"]
mod names;

use std::fs;
use std::process::Command;

use crate::authority::{Pebble, free_port};
use crate::support::{Client, Server, as_nobody, curl, end_of, eventually, weir};

const NAME: &str = "www.weir.example";
const LABEL: &str = "{name=\"www.weir.example\"}";

/// Pebble, and a server that obtains its certificate there.
struct Stand {
    pebble: Pebble,
    server: Server,
    port: u16,
    clear_port: u16,
    home: tempfile::TempDir,
}

impl Stand {
    /// `with_clear`: it listens in clear text, too.
    fn new(with_clear: bool) -> Stand {
        let (port, clear_port) = (free_port(), free_port());
        let pebble = Pebble::new(clear_port, port).start();
        let home = tempfile::tempdir().unwrap();
        let directory = home.path().join("certificates");
        let (listen, clear) = (format!("127.0.0.1:{port}"), format!("127.0.0.1:{clear_port}"));
        let (url, roots) = (pebble.directory_url(), pebble.roots());
        let mut flags = vec!["--tls", "auto", "--tls-names", NAME, "--listen", &listen];
        flags.extend(["--tls-directory", directory.to_str().unwrap()]);
        flags.extend(["--acme-directory-url", &url, "--acme-ca", roots.to_str().unwrap()]);
        if with_clear {
            flags.extend(["--listen-clear", &clear]);
        }
        let server = Server::builtin(&flags);
        Stand { pebble, server, port, clear_port, home }
    }

    fn wait_for_certificate(&self) {
        eventually("a certificate", || {
            let obtained = "weir_tls_certificates_obtained_total";
            self.server.metrics().value(obtained, LABEL) == Some(1.0)
        });
    }

    /// A page by curl, which trusts Pebble's certificates alone.
    fn page(&self) -> String {
        let root = self.home.path().join("root.pem");
        fs::write(&root, self.pebble.issuer()).unwrap();
        let resolve = format!("{NAME}:{}:127.0.0.1", self.port);
        let arguments = ["--cacert", root.to_str().unwrap(), "--resolve", &resolve];
        curl(&arguments, &format!("https://{NAME}:{}/", self.port))
    }
}

#[test]
fn a_certificate_is_obtained_over_the_address_in_clear_text() {
    let stand = Stand::new(true);
    stand.wait_for_certificate();
    assert!(stand.page().contains("weir"), "{}", stand.page());
    let metrics = stand.server.metrics();
    assert_eq!(metrics.value("weir_tls_handshakes_total", "{ended=\"challenge\"}"), Some(0.0));
    for figure in ["expiry", "renewal"] {
        let figure = format!("weir_tls_certificate_{figure}_timestamp_seconds");
        assert!(metrics.value(&figure, LABEL) > Some(1.6e9), "{figure}");
    }
    // The challenge is over, and everything is redirected but what asks for one.
    let address = format!("127.0.0.1:{}", stand.clear_port).parse().unwrap();
    let status = |path: &str| Client::connect(address).get(path).status;
    assert_eq!(status("/.well-known/acme-challenge/abc"), 404);
    assert_eq!(status("/"), 308);
    let told = "certificate for www.weir.example obtained: valid until ";
    eventually(told, || stand.server.log().iter().any(|line| line.contains(told)));
}

#[test]
fn a_certificate_is_obtained_in_a_handshake() {
    let stand = Stand::new(false);
    stand.wait_for_certificate();
    assert!(stand.page().contains("weir"), "{}", stand.page());
    let metrics = stand.server.metrics();
    assert!(metrics.value("weir_tls_handshakes_total", "{ended=\"challenge\"}") >= Some(1.0));
}

#[test]
fn without_a_name_it_does_not_start() {
    let output = weir().args(["serve", "--tls", "auto"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("`tls_names`"), "{told}");
}

#[test]
fn what_cannot_be_used_is_named_at_the_start_and_by_the_check() {
    let home = tempfile::tempdir().unwrap();
    let path = |name: &str| home.path().join(name).display().to_string();
    let (file, missing) = (path("file"), path("missing.pem"));
    fs::write(&file, "").unwrap();
    let in_file = format!("cannot use {file}");
    let in_home = format!("cannot use {}", home.path().display());
    let no_roots = [("SSL_CERT_FILE", file.as_str()), ("SSL_CERT_DIR", "/nowhere")];
    for (program, flags, variables, told) in [
        (weir as fn() -> Command, [&file, ""], &[][..], in_file.as_str()),
        // The directory is one of root's.
        (as_nobody, [&path("new"), ""], &[], &in_home),
        (weir, [&path("tls"), &missing], &[], "missing.pem: it cannot be read: No such file"),
        (weir, [&path("tls"), ""], &no_roots, "of an ACME server as `acme_ca`"),
    ] {
        let [check, start] = [true, false].map(|is_check| {
            let mut command = program();
            command.args(["serve", "--tls", "auto", "--tls-names", NAME]);
            command.args(["--listen", "127.0.0.1:0", "--tls-directory", flags[0]]);
            if !flags[1].is_empty() {
                command.args(["--acme-ca", flags[1]]);
            }
            if is_check {
                command.arg("--check");
            }
            command.envs(variables.iter().copied());
            let output = end_of(command);
            assert_eq!(output.status.code(), Some(1), "{output:?}");
            String::from_utf8_lossy(&output.stderr).into_owned()
        });
        assert!(check.contains(told), "{told:?} is not in {check}");
        assert_eq!(check, start);
    }
}

#[test]
fn the_check_of_what_is_in_order_makes_nothing() {
    let home = tempfile::tempdir().unwrap();
    let pebble = Pebble::new(free_port(), free_port()).start();
    let mut command = weir();
    command.args(["serve", "--check", "--tls", "auto", "--tls-names", NAME]);
    command.args(["--listen", "127.0.0.1:0", "--acme-ca"]).arg(pebble.roots());
    command.arg("--tls-directory").arg(home.path().join("tls"));
    let output = end_of(command);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
}
