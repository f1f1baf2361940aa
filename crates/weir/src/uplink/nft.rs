//! The rules of nftables that bring packets to their classes of HTB, which `prio` and `ets` do by
//! themselves: SO_PRIORITY becomes the number of a class. Used by `plan`.

use std::fmt::Write;

use weir_server::bands::{BANDS, band_of};

use super::device::Device;
use super::mechanism::class;

/// The longest packet of TCP over IPv6 without payload, with all options: 40 + 60 bytes.
const LONGEST_BARE_PACKET: u32 = 100;

/// The table of a device.
pub(super) fn table(device: &Device) -> String {
    format!("weir-uplink-{device}")
}

/// Makes the table, or replaces it by the same one.
///
/// Control packets of TCP go first whatever their socket's priority is, since some have none: RST for
/// what is no connection has priority 0, and the acknowledgement of a request that of the response
/// before it. PSH sets the end of a short response apart from a bare acknowledgement; a segment of a
/// few bytes without PSH may overtake others of its connection, which TCP puts in order. FIN stays
/// with the data that it ends.
pub(super) fn install(device: &Device) -> String {
    let first = class(0);
    let mut classes = String::new();
    for priority in 0..16 {
        let band = band_of(priority);
        // The last band is HTB's default.
        if band < BANDS - 1 {
            let comma = if classes.is_empty() { "" } else { ", " };
            let _ = write!(classes, "{comma}0:{priority:x} : {}", class(band));
        }
    }
    format!(
        "{}table inet {} {{
\tchain bands {{
\t\ttype filter hook postrouting priority 300; policy accept;
\t\toifname != \"{device}\" accept
\t\ttcp flags & (syn | rst) != 0 meta priority set {first} accept
\t\ttcp flags == ack meta length <= {LONGEST_BARE_PACKET} meta priority set {first} accept
\t\tmeta priority set meta priority map {{ {classes} }}
\t}}
}}
",
        remove(device),
        table(device)
    )
}

/// Removes the table, or nothing if there is none.
pub(super) fn remove(device: &Device) -> String {
    let table = table(device);
    format!("add table inet {table}\ndelete table inet {table}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_priority_leads_to_the_class_of_its_band() {
        let rules = install(&"eth0".parse().expect("a device"));
        let map = "map { 0:1 : 7765:15, 0:2 : 7765:14, 0:3 : 7765:13, 0:4 : 7765:12, \
                   0:5 : 7765:11, 0:6 : 7765:10, 0:7 : 7765:10 }";
        assert!(rules.contains(map), "{rules}");
        assert!(rules.contains("oifname != \"eth0\" accept"), "{rules}");
        assert!(rules.starts_with("add table inet weir-uplink-eth0\ndelete table"), "{rules}");
    }
}
