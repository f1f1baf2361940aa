//! How many bytes a stretch of a TCP stream takes on the wire, packet headers included. Used by the
//! gate and the pacer's users, so that pacing counts what the link carries.

/// What a packet costs beside its payload, so that pacing counts what the link carries.
///
/// With 66 bytes for Ethernet the counters of the interface and ours agree (14 Ethernet, 20 IPv4,
/// 20 TCP, 12 timestamps); preamble and checksum are left out, as HTB and interface counters do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WireOverhead {
    /// Bytes a data packet carries beside its payload.
    pub bytes: u32,
}

impl WireOverhead {
    /// TCP with timestamps over IPv4 over Ethernet.
    pub const ETHERNET: WireOverhead = WireOverhead { bytes: 66 };
    /// The same inside PPPoE (8 bytes more).
    pub const PPPOE: WireOverhead = WireOverhead { bytes: 74 };

    /// Wire bytes of `bytes` of stream cut into segments of `mss` bytes.
    pub fn data(self, bytes: u64, mss: u32) -> u64 {
        let segments = bytes.div_ceil(u64::from(mss.max(1)));
        bytes.saturating_add(segments.saturating_mul(u64::from(self.bytes)))
    }

    /// Wire bytes of `packets` packets without payload (SYN-ACK, ACK, FIN).
    pub fn control(self, packets: u64) -> u64 {
        packets.saturating_mul(u64::from(self.bytes))
    }

    /// The same over IPv6, whose header is 20 bytes longer.
    pub fn over_ipv6(self) -> WireOverhead {
        WireOverhead { bytes: self.bytes.saturating_add(20) }
    }
}

/// How a connection's stream is cut into packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packets {
    /// Bytes of stream in a full segment; zero counts as one.
    pub mss: u32,
    /// What each packet costs on the link.
    pub overhead: WireOverhead,
}

impl Packets {
    /// Wire bytes of `bytes` of stream.
    pub fn wire(self, bytes: u64) -> u64 {
        self.overhead.data(bytes, self.mss)
    }

    /// Wire bytes of `bytes` that share segments with other bytes: they have their part of the headers.
    pub fn shared(self, bytes: u64) -> u64 {
        let headers = bytes.saturating_mul(u64::from(self.overhead.bytes));
        bytes.saturating_add(headers / u64::from(self.mss.max(1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_shares_segments_pays_its_part_of_the_headers() {
        let packets = Packets { mss: 1448, overhead: WireOverhead::ETHERNET };
        assert_eq!([0, 24, 724, 1448].map(|bytes| packets.shared(bytes)), [0, 25, 757, 1514]);
    }

    #[test]
    fn every_segment_pays_its_headers() {
        assert_eq!(WireOverhead::ETHERNET.data(1448, 1448), 1514);
        assert_eq!(WireOverhead::ETHERNET.data(1449, 1448), 1449 + 132);
        assert_eq!(WireOverhead::ETHERNET.data(0, 1448), 0);
        assert_eq!(WireOverhead::ETHERNET.over_ipv6().control(2), 172);
    }
}
