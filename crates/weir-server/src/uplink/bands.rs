//! The kernel's priority bands as `weir uplink install` makes them and the server uses them: which
//! SO_PRIORITY goes through which band of a device, and how weir's queue is recognised. The server's
//! sockets carry these priorities; the command and its tests build queues by them.

/// Major number of the handle of the queue at a device's root that is weir's: "we" in ASCII, so that
/// `tc qdisc show` says `7765:`. A queue with another handle is somebody else's.
pub const QUEUE_HANDLE: u16 = 0x7765;

/// Bands of a device, the first served first.
pub const BANDS: usize = 7;

/// SO_PRIORITY of handshakes, set on listeners: a SYN-ACK carries its listener's. Interactive packets
/// of other programs (IP_TOS "low delay") have it, too. Band 0.
pub const CONTROL_PRIORITY: u32 = 6;

/// SO_PRIORITY of responses by class, from the least remaining size to the largest: bands 1 to 5. No
/// value above 6 is free of privileges (socket(7)).
pub const RESPONSE_PRIORITIES: [u32; 5] = [5, 4, 3, 2, 1];

/// SO_PRIORITY of whoever sets none, which is nearly every other program. It has the last band, where
/// it cannot hold up responses, and [`OTHERS_SHARE`] of the rate is guaranteed to it, so that responses
/// cannot starve it either.
pub const OTHERS_PRIORITY: u32 = 0;

/// The share of a device's rate that is guaranteed to the last band, even while others wait.
pub const OTHERS_SHARE: f64 = 0.05;

/// The band, from 0, of packets of this priority. The kernel's own control packets (7: ARP, routing)
/// go with the handshakes; priorities that nobody gives without privilege go with other programs'.
pub const fn band_of(priority: u32) -> usize {
    match priority {
        1..=6 => (CONTROL_PRIORITY - priority) as usize,
        7 => 0,
        _ => BANDS - 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handshakes_go_first_then_responses_from_small_to_large_then_others() {
        assert_eq!(band_of(CONTROL_PRIORITY), 0);
        assert_eq!(RESPONSE_PRIORITIES.map(band_of), [1, 2, 3, 4, 5]);
        assert_eq!([0, 8, u32::MAX].map(band_of), [6; 3]);
        assert_eq!(band_of(7), 0);
    }
}
