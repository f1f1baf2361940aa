//! How much of an address tells clients apart where they are limited. Part of the configuration of the
//! server's limits and of those of routes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The bits at the beginning of an address that tell clients apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientWidth {
    /// Of an IPv4 address, 1 to 32.
    pub ipv4: u32,
    /// Of an IPv6 address, 1 to 128.
    pub ipv6: u32,
}

impl Default for ClientWidth {
    /// An IPv4 address, and of IPv6 what one subscriber is given at least (RFC 6177).
    fn default() -> ClientWidth {
        ClientWidth { ipv4: 32, ipv6: 64 }
    }
}

impl ClientWidth {
    /// The address that stands for the client at `address`; the other bits are zero.
    pub(crate) fn network(self, address: IpAddr) -> IpAddr {
        match address.to_canonical() {
            IpAddr::V4(address) => {
                let mask = u32::MAX.checked_shl(32_u32.saturating_sub(self.ipv4)).unwrap_or(0);
                Ipv4Addr::from_bits(address.to_bits() & mask).into()
            }
            IpAddr::V6(address) => {
                let mask = u128::MAX.checked_shl(128_u32.saturating_sub(self.ipv6)).unwrap_or(0);
                Ipv6Addr::from_bits(address.to_bits() & mask).into()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_the_beginning_of_its_address() {
        let network = |ipv4, ipv6, address: &str| {
            let network = ClientWidth { ipv4, ipv6 }.network(address.parse().unwrap());
            network.to_string()
        };
        let usual = ClientWidth::default();
        for (address, expected) in [
            ("192.0.2.129", "192.0.2.129"),
            ("::ffff:192.0.2.129", "192.0.2.129"),
            ("2001:db8:1:2:3::4", "2001:db8:1:2::"),
        ] {
            assert_eq!(network(usual.ipv4, usual.ipv6, address), expected);
        }
        assert_eq!(network(24, 48, "192.0.2.129"), "192.0.2.0");
        assert_eq!(network(24, 48, "2001:db8:1:2:3::4"), "2001:db8:1::");
        assert_eq!(network(1, 1, "192.0.2.129"), "128.0.0.0");
        assert_eq!(network(32, 128, "2001:db8::4"), "2001:db8::4");
        assert_eq!(network(0, 0, "192.0.2.129"), "0.0.0.0");
        assert_eq!(network(99, 999, "192.0.2.129"), "192.0.2.129");
    }
}
