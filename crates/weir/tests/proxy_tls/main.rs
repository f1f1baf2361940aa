//! Applications behind weir over TLS: which of them are believed, what their connections carry, and what
//! goes wrong with them. Each test runs the real program before a server of rustls.

#[path = "../support/mod.rs"]
mod support;

#[path = "../tls/authority.rs"]
#[allow(dead_code)] // the tests of clients need other parts of it
mod authority;
mod carried;
mod certificates;
mod failures;
mod reload;
mod tls_backend;
mod trust;
