//! Keys by which gates, balancing and accounts tell clients and paths apart. Used by
//! [`crate::service::proxy`] and [`crate::body`].

use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::{IpAddr, Ipv6Addr};

/// The key of a client: for IPv6 of its network of 64 bits, as one host can use all its addresses.
pub(crate) fn client_key(address: IpAddr) -> u64 {
    match address.to_canonical() {
        IpAddr::V4(address) => hash(&address),
        IpAddr::V6(address) => hash(&(address.to_bits() >> 64)),
    }
}

/// The same as an address: the whole of an IPv4 address, the first 64 bits of an IPv6 address.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
        canonical => canonical,
    }
}

/// The same in every process of the same build.
pub(crate) fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
