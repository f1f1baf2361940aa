//! What a response costs on the link: the wire bytes of its head, body, packets and connection.

/// Frame, IP and TCP headers with timestamps, of one segment on Ethernet.
const PER_SEGMENT: u64 = 66;

/// How a link counts a response.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wire {
    /// Bytes of a response's head.
    pub head: u64,
    /// Payload bytes of a full segment.
    pub segment: u64,
    /// Wire bytes beside the responses, for each connection: SYN-ACK, ACKs, FIN.
    pub connection: u64,
    /// Requests that share a connection, at least 1.
    pub requests_per_connection: u32,
}

impl Default for Wire {
    /// Ethernet, heads of 200 bytes, a connection per request.
    fn default() -> Wire {
        Wire { head: 200, segment: 1448, connection: 206, requests_per_connection: 1 }
    }
}

impl Wire {
    /// Wire bytes of a response with a body of `size` bytes, its share of the connection included;
    /// `u64::MAX` if they are more.
    pub fn bytes(&self, size: u64) -> u64 {
        let payload = self.head.saturating_add(size);
        let connection = self.connection / u64::from(self.requests_per_connection.max(1));
        let headers = payload.div_ceil(self.segment.max(1)).saturating_mul(PER_SEGMENT);
        payload.saturating_add(headers).saturating_add(connection)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_segment_is_one_packet() {
        let wire = Wire::default();
        assert_eq!(wire.bytes(1248), 1448 + 66 + 206);
        assert_eq!(wire.bytes(1249), 1449 + 132 + 206);
    }

    #[test]
    fn what_no_number_can_hold_is_the_largest_number() {
        let wire = Wire::default();
        for size in [u64::MAX, u64::MAX - 200, u64::MAX / 67 * 66] {
            assert_eq!(wire.bytes(size), u64::MAX, "{size}");
        }
        let heavy = Wire { head: u64::MAX, segment: 1, connection: u64::MAX, ..wire };
        assert_eq!(heavy.bytes(0), u64::MAX);
    }

    #[test]
    fn requests_share_their_connection() {
        let wire = Wire { requests_per_connection: 2, ..Wire::default() };
        assert_eq!(wire.bytes(1248), 1448 + 66 + 103);
        let none = Wire { requests_per_connection: 0, segment: 0, ..Wire::default() };
        assert!(none.bytes(1) > 0, "no division by zero");
    }
}
