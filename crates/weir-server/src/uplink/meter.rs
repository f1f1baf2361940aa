//! What a connection puts on the wire beside its responses: handshake, acknowledgements, retransmissions.
//! A flow measures it with TCP_INFO and charges it to the pacer, since the link carries it, too.

use weir_sched::WireOverhead;

use crate::sys::TcpInfo;

/// Handshake options make a SYN-ACK longer than a plain acknowledgement with timestamps.
const SYN_OPTIONS: u64 = 8;

/// Remembers what was counted of a connection so far.
#[derive(Debug)]
pub(super) struct Meter {
    overhead: WireOverhead,
    control: u32,
    resent_segments: u32,
    resent_bytes: u64,
}

impl Meter {
    pub(super) fn new(overhead: WireOverhead) -> Meter {
        Meter { overhead, control: 0, resent_segments: 0, resent_bytes: 0 }
    }

    /// Wire bytes of the handshake.
    pub(super) fn handshake(&self) -> u64 {
        self.overhead.control(1) + SYN_OPTIONS
    }

    /// Wire bytes of the end of a connection: the acknowledgement of the client's FIN. Ours goes
    /// with the last data or with that.
    pub(super) fn farewell(&self) -> u64 {
        self.overhead.control(1)
    }

    /// Wire bytes beside responses since the last call.
    pub(super) fn extra(&mut self, info: &TcpInfo) -> u64 {
        let control = info.segs_out.wrapping_sub(info.data_segs_out);
        let new_control = control.saturating_sub(self.control);
        let segments = info.total_retrans.saturating_sub(self.resent_segments);
        let bytes = info.bytes_retrans.saturating_sub(self.resent_bytes);
        self.control = control.max(self.control);
        self.resent_segments = info.total_retrans;
        self.resent_bytes = info.bytes_retrans;
        self.overhead.control(u64::from(new_control) + u64::from(segments)) + bytes
    }
}
