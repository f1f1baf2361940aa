//! Applications behind weir over TLS: which of them are believed, what their connections carry, and what
//! goes wrong with them. Each test runs the real program before a server of rustls.

#[path = "../support/mod.rs"]
mod support;

mod carried;
mod certificates;
mod failures;
mod reload;
mod tls_backend;
mod trust;
