//! TLS as the generator's connections speak it. Callers say with [`TlsOptions`] what a run trusts and
//! offers; each connection of the engine has a session of it.
//!
//! From the ground up: [`Tls`] with the tickets that it keeps; the sessions; the count of handshakes.

mod handshakes;
mod session;
mod settings;
mod tickets;
mod trust;

pub(crate) use handshakes::HandshakeCounts;
pub use handshakes::{HandshakeTimes, Handshakes};
pub(crate) use session::Session;
pub use settings::{Tls, TlsOptions, TlsVersion};
pub use trust::Trust;
