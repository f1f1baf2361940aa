//! The fields of a backend's response on their way to a client. Used by the proxy of `weir-server`,
//! written by the protocol of the client's connection.

use std::collections::HashSet;

use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};

use super::edits::FieldEdits;
use super::framing::content_length;
use super::hop_by_hop;
use crate::message::FieldSink;

/// The fields of a response, of which those are passed on that concern more than the backend's
/// connection, changed by the route's edits.
#[derive(Debug, Clone, Copy)]
pub struct RelayedFields<'a> {
    /// As the backend sent them.
    pub received: &'a HeaderMap,
    /// Fields to set and remove, after everything else.
    pub edits: &'a FieldEdits,
}

impl RelayedFields<'_> {
    /// Gives `sink` the fields of a final response, but for those that frame it and for its date if it
    /// has none. `trailers`: whether trailers can follow, so that `Trailer` means something.
    pub fn write_to(&self, trailers: bool, sink: &mut impl FieldSink) {
        self.write_received(trailers, sink);
        for (name, value) in self.edits.fields_to_set() {
            field(sink, name, value);
        }
    }

    /// Gives `sink` the fields of an interim response. Those that the edits set or remove are left out:
    /// they are set in the final response alone.
    pub fn write_interim_to(&self, sink: &mut impl FieldSink) {
        self.write_received(false, sink);
    }

    /// Gives `sink` the protocols to which the backend switches, as 101 names them.
    pub fn write_upgrade_to(&self, sink: &mut impl FieldSink) {
        for value in self.received.get_all(header::UPGRADE) {
            field(sink, &header::UPGRADE, value);
        }
    }

    /// Whether the backend has dated it, or the edits do.
    pub fn is_dated(&self) -> bool {
        self.received.contains_key(header::DATE)
            || self.edits.fields_to_set().any(|(name, _)| *name == header::DATE)
    }

    /// For a response without a body: the length of another one that it tells (HEAD, 304). Not with 1xx
    /// and 204 (RFC 9110, section 8.6).
    pub fn length_told(&self, status: StatusCode) -> Option<u64> {
        let informs = !status.is_informational() && status != StatusCode::NO_CONTENT;
        content_length(self.received).ok().flatten().filter(|_| informs)
    }

    fn write_received(&self, trailers: bool, sink: &mut impl FieldSink) {
        let named: HashSet<HeaderName> = hop_by_hop::named_in_connection(self.received);
        for (name, value) in self.received {
            let left_out = hop_by_hop::is_hop_by_hop(name.as_str())
                || named.contains(name)
                || self.edits.changes(name)
                || (*name == header::TRAILER && !trailers);
            if !left_out {
                field(sink, name, value);
            }
        }
    }
}

/// A value that could end its line cannot be made without unsafe code; it would be left out.
fn field(sink: &mut impl FieldSink, name: &HeaderName, value: &HeaderValue) {
    if !value.as_bytes().iter().any(|byte| matches!(byte, b'\r' | b'\n' | 0)) {
        sink.field(name.as_str(), value.as_bytes());
    }
}
