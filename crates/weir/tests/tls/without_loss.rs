//! Shows that reloads, with other certificates, and hand-overs lose no session and no request over TLS.

use std::io;
use std::sync::Arc;

use crate::authority::{Authority, Files, Kind};
use crate::secure_client::{SecureClient, config, der};
use crate::support::{Configuration, LARGE, Load, SMALL};

/// Asks for a file of this length.
fn ask(client: &mut SecureClient, path: &str, length: usize) -> io::Result<()> {
    let (head, body) = client.get(path)?;
    match head.starts_with("HTTP/1.1 200 ") && body.len() == length {
        true => Ok(()),
        false => Err(io::Error::other(head)),
    }
}

fn text(files: &Files, more: &str) -> String {
    let Files { chain, key } = files;
    format!(
        "workers = 2\naccess_log = \"off\"\nroot = \"public\"\nlisten = \"127.0.0.1:0\"\n\
         tls = {chain:?}\ntls_key = {key:?}\n{more}"
    )
}

#[test]
fn sessions_go_on_under_other_certificates() {
    let authority = Authority::new();
    let files = [&["a.test"][..], &["b.test", "a.test"]].map(|it| authority.files(Kind::P256, it));
    let configuration = Configuration::new(&text(&files[0], ""));
    let server = configuration.start(1);
    let at = server.address();
    let trusting = Arc::new(config(&authority, None));
    let connect = move || SecureClient::connect(&trusting, at, "a.test");
    let mut load = Load::default();
    let mut kept = connect().unwrap();
    load.add("kept", move || ask(&mut kept, "/small", SMALL));
    let (anew, download) = (connect.clone(), connect.clone());
    load.add("close", move || ask(&mut anew()?, "/small", SMALL));
    load.add("download", move || ask(&mut download()?, "/large", LARGE));
    load.progress();
    for round in 1..=100 {
        let files = &files[round % 2];
        configuration.change(&text(files, ""));
        assert_eq!(connect().unwrap().certificate(), der(files), "{round}");
        load.progress();
    }
    load.end();
}

#[test]
fn hand_overs_lose_no_request() {
    let authority = Authority::new();
    let files = authority.files(Kind::P256, &["a.test"]);
    let configuration = Configuration::new(&text(&files, ""));
    let mut server = configuration.start(1);
    let at = server.address();
    let trusting = Arc::new(config(&authority, None));
    let connect = move || SecureClient::connect(&trusting, at, "a.test");
    let mut load = Load::default();
    let (anew, download) = (connect.clone(), connect);
    load.add("close", move || ask(&mut anew()?, "/small", SMALL));
    load.add("download", move || ask(&mut download()?, "/large", LARGE));
    load.progress();
    for _ in 0..20 {
        let successor = configuration.take_over(1);
        assert_eq!((successor.address(), server.wait().code()), (at, Some(0)));
        server = successor;
        load.progress();
    }
    load.end();
}

#[test]
fn ports_can_begin_and_cease_to_speak_tls() {
    let authority = Authority::new();
    let files = authority.files(Kind::P256, &["a.test"]);
    let clear = "workers = 2\naccess_log = \"off\"\nroot = \"public\"\nlisten = \"127.0.0.1:0\"\n";
    let configuration = Configuration::new(clear);
    let server = configuration.start(1);
    let mut in_clear = server.connect();
    let trusting = Arc::new(config(&authority, None));
    for _ in 0..2 {
        assert_eq!(in_clear.get("/small").status, 200);
        configuration.change(&text(&files, "hsts = \"1h\"\n"));
        let mut secure = SecureClient::connect(&trusting, server.address(), "a.test").unwrap();
        let (head, _) = secure.get("/small").unwrap();
        assert!(head.contains("Strict-Transport-Security: max-age=3600"), "{head}");
        // Who has begun in clear text goes on so.
        assert_eq!(in_clear.get("/small").status, 200);
        configuration.change(clear);
        assert!(ask(&mut secure, "/small", SMALL).is_ok());
        assert_eq!(server.get("/small").status, 200);
    }
}
