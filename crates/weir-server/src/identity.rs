//! Who counts as one client: an IPv4 address, or an IPv6 network of 64 bits, which is what one subscriber
//! is given at least (RFC 6177). Used by the uplink, the gates of backends and the accounts of bodies;
//! connections, logs and the proxy name the other end of a connection by its [`PeerAddress`].

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The address of the other end of a connection, or of the client that a PROXY header names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PeerAddress {
    /// An address and a port.
    Ip(SocketAddr),
    /// A Unix socket: a process of this machine.
    Unix,
}

impl PeerAddress {
    /// The address that stands for it in limits and networks: that of loopback for a Unix socket.
    pub(crate) fn ip(self) -> IpAddr {
        self.known_ip().unwrap_or(Ipv4Addr::LOCALHOST.into())
    }

    /// Its address, if it has one.
    pub(crate) fn known_ip(self) -> Option<IpAddr> {
        match self {
            PeerAddress::Ip(address) => Some(address.ip()),
            PeerAddress::Unix => None,
        }
    }
}

impl From<SocketAddr> for PeerAddress {
    fn from(address: SocketAddr) -> PeerAddress {
        PeerAddress::Ip(address)
    }
}

/// With the port; a Unix socket as nginx writes it.
impl fmt::Display for PeerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PeerAddress::Ip(address) => address.fmt(f),
            PeerAddress::Unix => f.write_str("unix:"),
        }
    }
}

/// The key of a client, for hashing and for the gates of backends.
pub(crate) fn client_key(address: IpAddr) -> u64 {
    match address.to_canonical() {
        IpAddr::V4(address) => hash(&address),
        IpAddr::V6(address) => hash(&(address.to_bits() >> 64)),
    }
}

/// The address that stands for a client: the whole of an IPv4 address (also of one that is mapped into
/// IPv6), the first 64 bits of an IPv6 address.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        canonical => canonical,
    }
}

/// The same number for the same value in every process of one build.
pub(crate) fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
