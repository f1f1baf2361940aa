//! Which client class a packet belongs to, and how far away that class is: told by the client's
//! address, for the mover and the lines.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use ipnet::IpNet;

use crate::{Class, Error};

/// Which address of a packet is the client's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Towards {
    /// To the clients (down): the destination.
    Clients,
    /// To the server (up): the source.
    Server,
}

/// The client's address in an IP packet; `None` if this is no IP packet.
pub(crate) fn client(packet: &[u8], towards: Towards) -> Option<IpAddr> {
    // RFC 791, section 3.1; RFC 8200, section 3.
    match packet.first()? >> 4 {
        4 => {
            let at = if towards == Towards::Clients { 16 } else { 12 };
            let address: [u8; 4] = packet.get(at..at + 4)?.try_into().ok()?;
            Some(Ipv4Addr::from(address).into())
        }
        6 => {
            let at = if towards == Towards::Clients { 24 } else { 8 };
            let address: [u8; 16] = packet.get(at..at + 16)?.try_into().ok()?;
            Some(Ipv6Addr::from(address).into())
        }
        _ => None,
    }
}

/// One-way delays by client.
#[derive(Clone, Debug, Default)]
pub struct Delays {
    classes: Vec<(IpNet, Duration)>,
}

impl Delays {
    /// Delays of these classes.
    ///
    /// # Errors
    ///
    /// A prefix that is longer than its address is refused.
    pub fn new(classes: &[Class]) -> Result<Delays, Error> {
        let net = |class: &Class| {
            let net = IpNet::new(class.network, class.prefix).map_err(|_| {
                let most = if class.network.is_ipv4() { 32 } else { 128 };
                Error::new(format!(
                    "the class of clients {}/{} has a prefix longer than {most} bits",
                    class.network, class.prefix
                ))
            })?;
            Ok((net, class.delay))
        };
        Ok(Delays { classes: classes.iter().map(net).collect::<Result<_, Error>>()? })
    }

    /// The one-way delay of this client: the first class that has him, or none.
    pub fn of(&self, client: Option<IpAddr>) -> Duration {
        let Some(client) = client else { return Duration::ZERO };
        let class = self.classes.iter().find(|(net, _)| net.contains(&client));
        class.map_or(Duration::ZERO, |&(_, delay)| delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_client_is_where_the_packet_goes_or_comes_from() {
        let mut packet = [0; 40];
        packet[0] = 0x45;
        packet[12..20].copy_from_slice(&[10, 0, 0, 1, 10, 0, 0, 2]);
        assert_eq!(client(&packet, Towards::Clients), "10.0.0.2".parse().ok());
        assert_eq!(client(&packet, Towards::Server), "10.0.0.1".parse().ok());
        packet[0] = 0x60;
        packet[8..40].fill(0);
        packet[23] = 1;
        packet[39] = 2;
        assert_eq!(client(&packet, Towards::Clients), "::2".parse().ok());
        assert_eq!(client(&packet, Towards::Server), "::1".parse().ok());
    }

    #[test]
    fn what_is_no_packet_has_no_client() {
        for bytes in [&[][..], &[0x45; 15], &[0x60; 23], &[0x10; 60]] {
            assert_eq!(client(bytes, Towards::Clients), None);
        }
    }

    #[test]
    fn the_first_class_counts() {
        let class = |network: &str, prefix, ms| Class {
            network: network.parse().unwrap(),
            prefix,
            delay: Duration::from_millis(ms),
        };
        let classes = [class("10.0.2.9", 32, 5), class("10.0.2.0", 24, 50), class("fd00::", 8, 70)];
        let delays = Delays::new(&classes).unwrap();
        let of = |address: &str| delays.of(address.parse().ok()).as_millis();
        assert_eq!(of("10.0.2.9"), 5);
        assert_eq!(of("10.0.2.10"), 50);
        assert_eq!(of("10.0.3.1"), 0);
        assert_eq!(of("fd12::1"), 70);
        assert_eq!(delays.of(None), Duration::ZERO);
        assert!(Delays::new(&[class("10.0.0.0", 33, 1)]).is_err());
    }
}
