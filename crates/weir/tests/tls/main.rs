//! HTTPS: the real program beside curl, OpenSSL and clients that send what no client should. Certificates
//! are made anew for each test.

#[path = "../support/mod.rs"]
mod support;

mod authority;
mod bad_input;
mod certificates;
mod clients;
mod handshakes;
mod redirects;
mod reload;
mod secure_client;
mod uplink;
