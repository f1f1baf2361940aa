//! Who counts as one client: an IPv4 address, or an IPv6 network of 64 bits, which is what one subscriber
//! is given at least (RFC 6177). Used by the uplink, the gates of backends and the accounts of bodies.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::{IpAddr, Ipv6Addr};

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
