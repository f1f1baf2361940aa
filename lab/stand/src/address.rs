//! Addresses on the loopback interface: one for a server, many for its clients. Whoever starts a server
//! or sends requests to it takes them from here.

use std::net::{IpAddr, Ipv4Addr, SocketAddrV4, TcpListener};

use weir_peers::{Error, Result};

/// Clients in a network of 256 addresses.
const CLIENTS: u8 = 250;

/// An address nobody listens at.
///
/// # Errors
///
/// When the kernel has no port left.
pub fn free() -> Result<SocketAddrV4> {
    let any = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|l| l.local_addr());
    let port = any.map_err(|e| Error(format!("no free port on loopback: {e}")))?.port();
    Ok(SocketAddrV4::new(Ipv4Addr::LOCALHOST, port))
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
        assert!(free().is_ok_and(|address| address.port() > 0));
    }
}
