//! Addresses on the loopback interface: one for a server, many for its clients. Whoever starts a server
//! or sends requests to it takes them from here.

use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv4Addr, SocketAddrV4, TcpListener};

use weir_peers::{Error, Result};

/// Ports for servers: below those that the kernel gives to connections (net.ipv4.ip_local_port_range), so that
/// none of thousands of clients has taken it when the server listens.
const FIRST: u16 = 10_000;
const PORTS: u16 = 20_000;
/// Ports that are tried.
const TRIES: u16 = 1000;

/// Clients in a network of 256 addresses.
const CLIENTS: u8 = 250;

/// An address nobody listens at.
///
/// # Errors
///
/// When none of many ports can be listened at.
pub fn free() -> Result<SocketAddrV4> {
    let random = RandomState::new();
    let places = (0..TRIES).map(|attempt| (random.hash_one(attempt) % u64::from(PORTS)) as u16);
    let mut addresses = places.map(|place| SocketAddrV4::new(Ipv4Addr::LOCALHOST, FIRST + place));
    let found = addresses.find(|address| TcpListener::bind(address).is_ok());
    found.ok_or_else(|| Error("no free port on loopback".into()))
}

/// A thousand addresses for clients, other ones for each class: each is another than the thousand before
/// it, and there are ports for connections that are not closed yet.
pub fn clients(class: u8) -> Vec<IpAddr> {
    let first = class.saturating_mul(4).saturating_add(1);
    let networks = first..first.saturating_add(4);
    networks.flat_map(|net| (1..=CLIENTS).map(move |c| IpAddr::from([127, 1, net, c]))).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_class_has_a_thousand_loopback_addresses_of_its_own() {
        let all: HashSet<IpAddr> = [0, 1].into_iter().flat_map(clients).collect();
        assert!(all.len() == 2000 && all.iter().all(IpAddr::is_loopback));
        assert!(free().is_ok_and(|address| (FIRST..FIRST + PORTS).contains(&address.port())));
    }
}
