//! The bytes of one connection: read, write, write a file, wait until it is ready, and notice that the
//! other end has left. Used by whatever serves a connection: `client`, `send`, the uplink and the proxy's
//! watch of clients, none of which makes a system call on a socket.
//!
//! [`socket`] is clear text over TCP or a Unix socket. TLS would be a second file, `tls.rs`: the same
//! methods around a [`Socket`], except that a file is read and sealed instead of sent by the kernel;
//! [`Transport`] becomes an enum of both, and `listen` chooses. A QUIC stream has the same methods on
//! buffers in memory, and readiness from its connection's task instead of from the kernel.

mod socket;
mod unsent;

pub(crate) use socket::{Event, Left, Socket};
pub(crate) use unsent::{LEAST_UNSENT, Unsent};

/// How the bytes of a connection travel.
pub(crate) type Transport = Socket;
