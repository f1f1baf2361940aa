//! What a response costs on the link: the wire bytes of its head, body, packets and connection.
//! Offered load is counted in them.

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
    /// What TLS adds; nothing in clear text.
    pub tls: Option<TlsBytes>,
}

/// What TLS adds to a response.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TlsBytes {
    /// Bytes of a record beside its payload.
    pub record: u64,
    /// Payload after which records are long. Before, a record fills a segment, so that the client can
    /// open each segment that it has.
    pub short: u64,
    /// Payload of a long record.
    pub long_record: u64,
    /// Bytes that the server sends beside responses on a connection, for the handshake, tickets and the
    /// last word.
    pub handshake: u64,
}

impl Default for TlsBytes {
    /// TLS 1.3 with AES-GCM, whose records have a head of 5 bytes, a type of 1 and a tag of 16 (RFC 8446,
    /// section 5.2), as weir cuts them: of a segment for 64 KB, then of 16 KB. Handshakes are full.
    fn default() -> TlsBytes {
        TlsBytes {
            record: 22,
            short: 65_536,
            long_record: 16_384,
            handshake: TlsBytes::FULL_HANDSHAKE,
        }
    }
}

impl TlsBytes {
    /// What weir sends for a full handshake with a self-signed certificate of P-256 (338 bytes),
    /// tickets and the last word of the connection included: what comes from it on a connection with
    /// one response (`weir-lab load --tls 1.3`), less the response and its record.
    pub const FULL_HANDSHAKE: u64 = 1074;
    /// The same where a session is resumed (`--resume`).
    pub const RESUMED_HANDSHAKE: u64 = 650;

    /// Bytes of stream that carry so much payload.
    fn stream(&self, payload: u64, segment: u64) -> u64 {
        let short_record = segment.saturating_sub(self.record).max(1);
        let short = payload.min(self.short);
        let long = (payload - short).div_ceil(self.long_record.max(1));
        let records = short.div_ceil(short_record).saturating_add(long);
        payload.saturating_add(records.saturating_mul(self.record))
    }
}

impl Default for Wire {
    /// Ethernet, heads of 200 bytes, a connection per request, clear text.
    fn default() -> Wire {
        Wire { head: 200, segment: 1448, connection: 206, requests_per_connection: 1, tls: None }
    }
}

impl Wire {
    /// Wire bytes of a response with a body of `size` bytes, its share of the connection included;
    /// `u64::MAX` if they are more.
    pub fn bytes(&self, size: u64) -> u64 {
        let payload = self.head.saturating_add(size);
        let (stream, handshake) = match &self.tls {
            None => (payload, 0),
            Some(tls) => (tls.stream(payload, self.segment), self.on_the_link(tls.handshake)),
        };
        let connection = self.connection.saturating_add(handshake)
            / u64::from(self.requests_per_connection.max(1));
        self.on_the_link(stream).saturating_add(connection)
    }

    /// Bytes of a stream with the headers of its packets.
    fn on_the_link(&self, stream: u64) -> u64 {
        let headers = stream.div_ceil(self.segment.max(1)).saturating_mul(PER_SEGMENT);
        stream.saturating_add(headers)
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
    fn records_are_short_at_first_and_each_has_its_head_and_tag() {
        let tls = TlsBytes { handshake: 0, ..TlsBytes::default() };
        let wire = Wire { head: 0, connection: 0, tls: Some(tls), ..Wire::default() };
        // A record of 1426 bytes fills a segment.
        assert_eq!(wire.bytes(1426), 1448 + 66);
        assert_eq!(wire.bytes(1427), 1427 + 2 * 22 + 2 * 66);
        // 46 short records carry 64 KB, and 3 long ones what is left.
        let stream = 100_000_u64 + (46 + 3) * 22;
        assert_eq!(wire.bytes(100_000), stream + stream.div_ceil(1448) * 66);
        let odd = TlsBytes { long_record: 0, record: 9999, ..tls };
        assert!(Wire { tls: Some(odd), ..wire }.bytes(u64::MAX) == u64::MAX, "no overflow");
    }

    #[test]
    fn a_handshake_is_shared_like_its_connection() {
        let tls = Some(TlsBytes { handshake: 1448 * 2, ..TlsBytes::default() });
        let alone = Wire { tls, ..Wire::default() };
        let shared = Wire { requests_per_connection: 2, ..alone };
        let connection = 206 + 2 * (1448 + 66);
        assert_eq!(alone.bytes(1) - shared.bytes(1), connection / 2);
        let none = Wire { tls: Some(TlsBytes { handshake: 0, ..TlsBytes::default() }), ..alone };
        assert_eq!(alone.bytes(1) - none.bytes(1), 2 * (1448 + 66));
    }

    #[test]
    fn requests_share_their_connection() {
        let wire = Wire { requests_per_connection: 2, ..Wire::default() };
        assert_eq!(wire.bytes(1248), 1448 + 66 + 103);
        let none = Wire { requests_per_connection: 0, segment: 0, ..Wire::default() };
        assert!(none.bytes(1) > 0, "no division by zero");
    }
}
