//! Shows that files which do not answer and which the server looks after by itself hold up neither its
//! clients nor its operators. The root of a site is shown to do so in `files/hanging_root.rs`, certificates
//! in `tls/reload.rs`.

use std::fs;

use crate::support::passwords::{HASH, RIGHT, STRANGER};
use crate::support::{Client, Configuration, HeldFile, eventually};

/// Nothing is below `/private`, so that who may use it gets 404.
const START: &str = "workers = 1\naccess_log = \"off\"\nroot = \"public\"\n\
                     listen = \"127.0.0.1:0\"\n[[route]]\npath = \"/private\"\nfiles = true\n\
                     basic_auth = \"users\"\n";

#[test]
fn passwords_that_do_not_answer_hold_up_nobody() {
    let configuration = Configuration::new(START);
    let users = configuration.path("users");
    fs::write(&users, format!("me:{HASH}\n")).unwrap();
    let server = configuration.start(1);
    let status = |field: &str| server.connect().get_with("/private", field).status;
    let is_healthy = || Client::connect(server.admin()).get("/healthz").status == 200;
    assert_eq!([status(RIGHT), status(STRANGER)], [404, 401]);

    let held = HeldFile::replace(&users);
    let reader = held.wait_for_reader();
    assert!(is_healthy());
    assert_eq!([status(RIGHT), status(STRANGER)], [404, 401]);
    // Reloads read the file, too.
    let (code, said) = configuration.reload();
    let is_named = said.contains("a file that a route names does not answer within 10s");
    assert!(code == Some(1) && is_named, "{code:?}: {said}");
    assert!(is_healthy());
    // One without the file is taken all the same.
    let said = configuration.change(&START.replace("basic_auth = \"users\"", ""));
    assert!(said.contains("`route`"), "{said}");
    assert_eq!(status(""), 404);

    let new = configuration.path("new");
    fs::write(&new, format!("you:{HASH}\n")).unwrap();
    fs::rename(&new, &users).unwrap();
    drop(reader);
    configuration.change(START);
    assert_eq!([status(RIGHT), status(STRANGER)], [401, 404]);
    fs::write(&users, format!("me:{HASH}\n")).unwrap();
    eventually("the file is looked after", || status(RIGHT) == 404);

    // Nor does the end of the server wait for it.
    let held = HeldFile::replace(&users);
    let _reader = held.wait_for_reader();
    assert_eq!(server.stop().code(), Some(0));
}
