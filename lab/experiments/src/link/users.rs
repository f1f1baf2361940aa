//! The addresses of a cell's users. A server may treat requests by who asks, and the users of the papers'
//! open systems are all different ones: so they take turns with many addresses, behind one host of the
//! network.

use std::net::{IpAddr, Ipv4Addr};
use std::time::Duration;

use weir_peers::Result;
use weir_peers::namespace::Namespace;
use weir_peers::tool::run;
use weir_wan::Class;

use crate::cell;

/// The network of all of them.
const NETWORK: Ipv4Addr = Ipv4Addr::new(10, 78, 0, 0);
/// Addresses of a network of 24 bits that are used.
const EACH: u8 = 250;
/// Networks of 24 bits for users without classes: a thousand addresses.
const NETWORKS: u8 = 4;

/// The addresses by class; one class if the cell has none.
pub(super) fn addresses(wanted: &cell::Network) -> Vec<Vec<Ipv4Addr>> {
    let of = |network| (1..=EACH).map(move |user| Ipv4Addr::new(10, 78, network, user));
    match wanted.class_round_trips_ms.len() {
        0 => vec![(0..NETWORKS).flat_map(of).collect()],
        classes => (0..=u8::MAX).take(classes).map(|class| of(class).collect()).collect(),
    }
}

/// How far away they are, for the emulated link.
pub(super) fn distances(wanted: &cell::Network) -> Vec<Class> {
    let class = |network, prefix, ms: f64| Class {
        network: IpAddr::V4(network),
        prefix,
        delay: Duration::from_secs_f64(ms / 2e3),
    };
    let each = &wanted.class_round_trips_ms;
    if each.is_empty() {
        return vec![class(NETWORK, 16, wanted.round_trip_ms)];
    }
    let of = |(index, ms): (u8, &f64)| class(Ipv4Addr::new(10, 78, index, 0), 24, *ms);
    (0..=u8::MAX).zip(each).map(of).collect()
}

/// Lets packets for them go by way of `host`, and `client` have them all. The routes need no address on
/// any device, and no neighbour but the host is asked for.
pub(super) fn route_to(near: &Namespace, host: Ipv4Addr, client: &Namespace) -> Result<()> {
    run(&format!("ip -n {near} route add {NETWORK}/16 via {host}"))?;
    run(&format!("ip -n {client} route add local {NETWORK}/16 dev lo")).map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_class_has_addresses_and_a_distance_of_its_own() {
        let none = cell::Network { round_trip_ms: 50.0, ..cell::Network::default() };
        let all = addresses(&none);
        assert_eq!((all.len(), all[0].len()), (1, 1000));
        assert_eq!(distances(&none)[0].delay, Duration::from_millis(25));
        let two =
            cell::Network { class_round_trips_ms: vec![250.0, 1.0], ..cell::Network::default() };
        let (all, distances) = (addresses(&two), distances(&two));
        assert_eq!(all[1][0], Ipv4Addr::new(10, 78, 1, 1));
        assert!(all[0].iter().all(|address| !all[1].contains(address)));
        assert_eq!(distances[1].network, IpAddr::V4(Ipv4Addr::new(10, 78, 1, 0)));
        assert_eq!(distances[0].delay, Duration::from_millis(125));
    }
}
