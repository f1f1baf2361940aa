//! Who may ask by the network of an address: the keys `allow` and `deny`, of the server or of a route. Used
//! by [`super::Access`] and [`super::Guard`] for each request.

use std::net::IpAddr;

use ipnet::IpNet;

use super::refusal::Refusal;
use crate::config::Prefix;

/// Networks that may ask, and networks that may not.
#[derive(Debug)]
pub(super) struct Rules {
    allow: Vec<IpNet>,
    deny: Vec<IpNet>,
}

impl Rules {
    /// `None` if there are neither.
    pub(super) fn new(allow: &[Prefix], deny: &[Prefix]) -> Option<Rules> {
        let networks = |prefixes: &[Prefix]| prefixes.iter().map(|prefix| prefix.0).collect();
        let rules = Rules { allow: networks(allow), deny: networks(deny) };
        (!rules.allow.is_empty() || !rules.deny.is_empty()).then_some(rules)
    }

    /// Whether `address` may ask. The smallest network that has it decides, and of equal ones `deny`. What
    /// is in none may ask unless some are allowed.
    ///
    /// # Errors
    ///
    /// It may not.
    pub(super) fn admit(&self, address: IpAddr) -> Result<(), Refusal> {
        let address = address.to_canonical();
        let is_allowed = match (smallest(&self.deny, address), smallest(&self.allow, address)) {
            (Some(denied), Some(allowed)) => allowed > denied,
            (Some(_), None) => false,
            (None, Some(_)) => true,
            (None, None) => self.allow.is_empty(),
        };
        if is_allowed { Ok(()) } else { Err(Refusal::Forbidden) }
    }
}

/// The length of the longest prefix that the address has.
fn smallest(networks: &[IpNet], address: IpAddr) -> Option<u8> {
    networks.iter().filter(|network| network.contains(&address)).map(IpNet::prefix_len).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_network_decides_and_deny_among_equals() {
        let prefixes = |text: &str| -> Vec<Prefix> {
            text.split_whitespace().map(|network| network.parse().unwrap()).collect()
        };
        for (allow, deny, address, may) in [
            ("", "10.0.0.0/8", "10.1.2.3", false),
            ("", "10.0.0.0/8", "192.0.2.1", true),
            ("10.0.0.0/8", "", "10.1.2.3", true),
            ("10.0.0.0/8", "", "192.0.2.1", false),
            ("10.0.0.0/8", "", "2001:db8::1", false),
            // Smaller than what allows it, and the other way round.
            ("10.0.0.0/8", "10.1.0.0/16", "10.1.2.3", false),
            ("10.0.0.0/8", "10.1.0.0/16", "10.2.2.3", true),
            ("10.1.2.3", "10.0.0.0/8 10.1.0.0/16", "10.1.2.3", true),
            ("10.1.2.3", "10.0.0.0/8", "10.1.2.4", false),
            ("10.0.0.0/8", "10.0.0.0/8", "10.1.2.3", false),
            ("0.0.0.0/0 ::/0", "192.0.2.0/24", "2001:db8::1", true),
            // As a socket for both families names it.
            ("", "10.0.0.0/8", "::ffff:10.1.2.3", false),
            ("", "::ffff:10.0.0.0/104", "10.1.2.3", false),
            ("10.1.2.3", "::ffff:10.0.0.0/104", "10.1.2.3", true),
            ("", "::ffff:10.0.0.0/104", "11.1.2.3", true),
        ] {
            let rules = Rules::new(&prefixes(allow), &prefixes(deny)).unwrap();
            let admitted = rules.admit(address.parse().unwrap());
            assert_eq!(admitted.is_ok(), may, "allow {allow}, deny {deny}: {address}");
        }
        assert!(Rules::new(&[], &[]).is_none());
    }
}
