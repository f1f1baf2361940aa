//! Telling the backend the client's address, host and scheme: `X-Forwarded-*` and `Forwarded`
//! (RFC 7239). Used by [`super::request`].

use std::net::IpAddr;

use http::header::Entry;
use http::{HeaderMap, HeaderName, HeaderValue, header};

/// With which fields the backend is told about the client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ForwardedStyle {
    /// `X-Forwarded-For`, `-Proto` and `-Host`, which most applications read.
    #[default]
    XForwarded,
    /// `Forwarded` (RFC 7239).
    Forwarded,
    /// Both.
    Both,
    /// None.
    Off,
}

impl ForwardedStyle {
    /// All styles, so that tests can go through them.
    pub const ALL: [ForwardedStyle; 4] = [
        ForwardedStyle::XForwarded,
        ForwardedStyle::Forwarded,
        ForwardedStyle::Both,
        ForwardedStyle::Off,
    ];
}

const FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const HOST: HeaderName = HeaderName::from_static("x-forwarded-host");

/// Whether a field of this name, in lower case, says who the client is, so that only a trusted proxy
/// may send it.
pub(super) fn is_forwarding_field(name: &str) -> bool {
    matches!(name, "forwarded" | "x-real-ip" | "x-client-certificate-subject")
        || name.starts_with("x-forwarded-")
}

/// What the backend is told about the client.
pub(super) struct ClientInfo<'a> {
    /// `None`: it has no address.
    pub(super) client: Option<IpAddr>,
    pub(super) scheme: &'static str,
    /// The host the client named.
    pub(super) host: Option<&'a str>,
}

impl ClientInfo<'_> {
    /// Adds to `fields`. Those that are there already come from a trusted proxy nearer to the client:
    /// their lists get one more member, and their host and scheme stay.
    pub(super) fn add_to(&self, fields: &mut HeaderMap, style: ForwardedStyle) {
        if matches!(style, ForwardedStyle::XForwarded | ForwardedStyle::Both) {
            append(fields, FOR, self.client.map(format_address));
            let host = self.host.and_then(|host| HeaderValue::from_str(host).ok());
            let scheme = HeaderValue::from_static(self.scheme);
            for (name, value) in [(PROTO, Some(scheme)), (HOST, host)] {
                if let (Entry::Vacant(place), Some(value)) = (fields.entry(name), value) {
                    place.insert(value);
                }
            }
        }
        if matches!(style, ForwardedStyle::Forwarded | ForwardedStyle::Both) {
            append(fields, header::FORWARDED, Some(self.element()));
        }
    }

    /// One element of `Forwarded` (RFC 7239, sections 4 and 6).
    fn element(&self) -> String {
        let mut text = match self.client {
            Some(IpAddr::V4(address)) => format!("for={address}"),
            Some(IpAddr::V6(address)) => format!("for=\"[{address}]\""),
            None => "for=unknown".to_owned(),
        };
        if let Some(host) = self.host {
            let quoted = host.replace('\\', "\\\\").replace('"', "\\\"");
            text.push_str(&format!(";host=\"{quoted}\""));
        }
        text.push_str(";proto=");
        text.push_str(self.scheme);
        text
    }
}

/// An address as `Display` writes it. The formatting of the standard library would take a fortieth of
/// the whole time of a proxied request for an IPv4 address.
fn format_address(address: IpAddr) -> String {
    let IpAddr::V4(address) = address else { return address.to_string() };
    let mut text = String::with_capacity("255.255.255.255".len());
    for (place, octet) in address.octets().into_iter().enumerate() {
        if place > 0 {
            text.push('.');
        }
        text.push_str(itoa::Buffer::new().format(octet));
    }
    text
}

/// Joins all lines of a list and one more member, if there is one, into one line: some readers look at
/// one line only.
fn append(fields: &mut HeaderMap, name: HeaderName, member: Option<String>) {
    match fields.entry(name) {
        Entry::Vacant(place) => {
            if let Some(Ok(value)) = member.map(HeaderValue::try_from) {
                place.insert(value);
            }
        }
        Entry::Occupied(mut place) => {
            let lines = place.iter().map(HeaderValue::as_bytes);
            let list = lines.chain(member.as_deref().map(str::as_bytes)).collect::<Vec<_>>();
            let list = list.join(&b", "[..]);
            if let Ok(value) = HeaderValue::from_bytes(&list) {
                place.insert(value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn an_address_is_written_as_ever(address: IpAddr) {
            proptest::prop_assert_eq!(format_address(address), address.to_string());
        }
    }

    #[test]
    fn elements_as_in_rfc_7239() {
        let element = |client: &str, host| {
            ClientInfo { client: client.parse().ok(), scheme: "http", host }.element()
        };
        assert_eq!(element("unix:", None), "for=unknown;proto=http");
        assert_eq!(element("192.0.2.60", None), "for=192.0.2.60;proto=http");
        assert_eq!(
            element("2001:db8:cafe::17", Some("[::1]:80")),
            "for=\"[2001:db8:cafe::17]\";host=\"[::1]:80\";proto=http"
        );
    }

    #[test]
    fn a_list_stays_one_line() {
        let mut fields = HeaderMap::new();
        fields.append(FOR, HeaderValue::from_static("a, b"));
        fields.append(FOR, HeaderValue::from_static("c"));
        append(&mut fields, FOR, None);
        assert_eq!(fields.get_all(FOR).iter().collect::<Vec<_>>(), ["a, b, c"]);
        append(&mut fields, FOR, Some("d".to_owned()));
        assert_eq!(fields.get_all(FOR).iter().collect::<Vec<_>>(), ["a, b, c, d"]);
    }
}
