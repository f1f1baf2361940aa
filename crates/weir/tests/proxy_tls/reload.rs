//! Shows that files for TLS to backends are read anew at a signal, and that a wrong one changes nothing.

use rustix::process::Signal;

use crate::authority::Authority;
use crate::certificates::ADDRESS;
use crate::support::{Server, Then, eventually};
use crate::tls_backend::{backend, config};

#[test]
fn a_signal_has_authorities_and_certificates_read_anew() {
    let (authority, other) = (Authority::new(), Authority::called("another"));
    let config = config(&authority.issue(&[ADDRESS]), Some(&authority));
    // Each connection is a new one.
    let (backend, _) = backend(&config, |call| {
        call.ok_with("Connection: close\r\n", "");
        Then::Close
    });
    let write = |ca: &Authority, own: &Authority| {
        let issued = own.issue(&["weir.test"]);
        let own = format!("{}{}", issued.certificate, issued.key);
        (authority.file("believed.pem", &ca.certificate()), authority.file("own.pem", &own))
    };
    let (ca, own) = write(&other, &other);
    let keys = format!("backend_ca = {ca:?}\nbackend_certificate = {own:?}\nmax_fails = 0\n");
    let server = Server::routed(&[&backend.url], &keys);
    assert_eq!(server.get("/").status, 502);
    write(&authority, &other);
    server.signal(Signal::HUP);
    eventually("its authority is believed", || {
        let status = server.get("/").status;
        assert_eq!(status, 502, "weir's own certificate is of another authority still");
        server.log().iter().any(|line| line.contains("it does not accept `backend_certificate`"))
    });
    write(&authority, &authority);
    server.signal(Signal::HUP);
    eventually("the certificate is shown", || server.get("/").status == 200);
    authority.file("own.pem", "nonsense");
    server.signal(Signal::HUP);
    eventually("the file is named", || {
        let named = |line: &String| {
            line.contains("TLS to backends stays as it was") && line.contains("own.pem")
        };
        server.log().iter().any(named)
    });
    assert_eq!(server.get("/").status, 200);
}
