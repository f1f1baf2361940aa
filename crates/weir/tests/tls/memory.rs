//! What a connection with TLS takes of the server's memory while it waits for a request.

use std::sync::Arc;

use crate::authority::Authority;
use crate::secure_client::{SecureClient, config};
use crate::support::{Server, eventually};

/// Sessions that have had one page each and wait.
fn waiting(authority: &Authority, server: &Server, count: usize) -> Vec<SecureClient> {
    let config = Arc::new(config(authority, None));
    let waiting: Vec<SecureClient> = (0..count)
        .map(|_| {
            let client = SecureClient::connect(&config, server.address(), "a.test");
            let mut client = client.expect("a session");
            client.get("/files/10kb.bin").expect("a page");
            client
        })
        .collect();
    eventually("all wait", || server.metrics().sum("weir_connections") >= count as f64);
    waiting
}

#[test]
fn an_idle_connection_takes_about_ten_kilobytes() {
    const COUNT: usize = 200;
    let authority = Authority::new();
    let server = authority.server(&["--workers", "1"]);
    // What is made once, such as buffers that connections share.
    drop(waiting(&authority, &server, 50));
    let before = server.resident();
    let idle = waiting(&authority, &server, COUNT);
    let each = server.resident().saturating_sub(before) / idle.len();
    // As a program is built for tests, a connection in clear text takes 3 KB; as it is built for users,
    // 2 KB.
    assert!(each <= 11_000, "{each} bytes");
}
