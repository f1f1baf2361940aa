//! A client that has as many connections as it may have is closed before a handshake.

use std::sync::Arc;

use crate::authority::Authority;
use crate::secure_client::{SecureClient, config};
use crate::support::eventually;

#[test]
fn connections_beyond_the_limit_cost_no_handshake() {
    let authority = Authority::new();
    let server = authority.server(&["--limit-connections", "1"]);
    let config = Arc::new(config(&authority, None));
    let connect = || SecureClient::connect(&config, server.address(), "a.test");
    let mut one = connect().expect("a session");
    assert!(one.get("/").is_ok());
    assert!(connect().is_err());
    server.wait_for_metric("weir_refused_connections_total", 1.0);
    assert_eq!(server.metrics().sum("weir_tls_handshakes_total"), 1.0);
    assert!(one.get("/").is_ok());
    drop(one);
    eventually("there is room again", || connect().is_ok());
}
