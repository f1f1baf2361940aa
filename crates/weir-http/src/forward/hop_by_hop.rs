//! Fields that concern one connection only and are not passed on (RFC 9110, section 7.6.1). Used by
//! [`super::request`], [`super::response`] and [`super::edits`].

use std::collections::HashSet;

use http::{HeaderMap, HeaderName, header};

use crate::message::fields::members;

/// Whether a field of this name, in lower case, is never passed on as it came. The proxy writes some
/// of them anew: the framing, `Connection`, `Upgrade`, `TE`.
///
/// `Trailer` is passed on: the trailers are. The fields for authentication to a proxy are dropped
/// both ways, as this proxy asks for none and stands in for the server.
pub(super) fn is_hop_by_hop(name: &str) -> bool {
    matches!(
        name,
        "connection"
            | "content-length"
            | "http2-settings"
            | "keep-alive"
            | "proxy-authenticate"
            | "proxy-authentication-info"
            | "proxy-authorization"
            | "proxy-connection"
            | "te"
            | "transfer-encoding"
            | "upgrade"
    )
}

/// The names in `Connection`, without those of fields that are dropped or written anew anyway.
pub(super) fn named_in_connection(fields: &HeaderMap) -> HashSet<HeaderName> {
    fields
        .get_all(header::CONNECTION)
        .iter()
        .flat_map(|value| members(value.as_bytes()))
        .filter_map(field_to_drop)
        .collect()
}

/// The field that a member of `Connection` names, if it would otherwise be passed on.
pub(super) fn field_to_drop(member: &[u8]) -> Option<HeaderName> {
    // The two usual members name no field; this saves looking.
    if [&b"close"[..], b"keep-alive"].iter().any(|usual| member.eq_ignore_ascii_case(usual)) {
        return None;
    }
    HeaderName::from_bytes(member).ok().filter(|name| !is_hop_by_hop(name.as_str()))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn connection_names_fields_over_several_lines() {
        let mut fields = HeaderMap::new();
        for value in ["close, X-A,, x-b ", "Upgrade, keep-alive", "bad name, X-A"] {
            fields.append(header::CONNECTION, HeaderValue::from_static(value));
        }
        let expected = ["x-a", "x-b"].map(HeaderName::from_static);
        assert_eq!(named_in_connection(&fields), HashSet::from(expected));
    }
}
