//! Runs of the generator against a server that a test scripts, in clear text and through TLS.

mod authority;
mod demand;
mod descriptors;
mod late;
mod outcomes;
mod reuse;
mod scripted;
mod tls;
