//! HTTPS: the real program beside curl, OpenSSL and clients that send what no client should. Certificates
//! are made anew for each test.

#[path = "../support/mod.rs"]
mod support;

mod authority;
mod bad_input;
mod certificates;
mod clients;
mod handshakes;
mod limits;
mod memory;
mod programs;
mod proxying;
mod redirects;
mod reload;
mod secure_client;
mod uplink;
mod without_loss;

use support::Server;

/// Handshakes that ended in this way so far.
fn handshakes_that_ended(server: &Server, how: &str) -> f64 {
    let labels = format!("{{ended=\"{how}\"}}");
    server.metrics().value("weir_tls_handshakes_total", &labels).expect("the metric is there")
}
