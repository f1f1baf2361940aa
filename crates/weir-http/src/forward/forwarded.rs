//! Telling the backend who asked, for which host, and how: `X-Forwarded-*` and `Forwarded`
//! (RFC 7239). It does not know whom to trust.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use http::header::Entry;
use http::{HeaderMap, HeaderName, HeaderValue, header};

/// How the backend is told who asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ForwardedStyle {
    /// `X-Forwarded-For`, `-Proto` and `-Host`, which most applications read.
    #[default]
    XForwarded,
    /// `Forwarded` (RFC 7239).
    Forwarded,
    /// Both.
    Both,
    /// Not at all.
    Off,
}

impl ForwardedStyle {
    /// All styles.
    pub const ALL: [ForwardedStyle; 4] = [
        ForwardedStyle::XForwarded,
        ForwardedStyle::Forwarded,
        ForwardedStyle::Both,
        ForwardedStyle::Off,
    ];

    /// The name in a configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            ForwardedStyle::XForwarded => "x-forwarded",
            ForwardedStyle::Forwarded => "forwarded",
            ForwardedStyle::Both => "both",
            ForwardedStyle::Off => "off",
        }
    }
}

impl fmt::Display for ForwardedStyle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ForwardedStyle {
    type Err = String;

    fn from_str(text: &str) -> Result<ForwardedStyle, String> {
        let found = ForwardedStyle::ALL.into_iter().find(|style| style.as_str() == text);
        found
            .ok_or_else(|| format!("\"{text}\" is not one of x-forwarded, forwarded, both and off"))
    }
}

const FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const HOST: HeaderName = HeaderName::from_static("x-forwarded-host");

/// Whether a field of this name, in lower case, says who asked, so that only a trusted proxy may
/// send it.
pub(super) fn tells_who_asked(name: &str) -> bool {
    matches!(name, "forwarded" | "x-real-ip") || name.starts_with("x-forwarded-")
}

/// What is known of who asked.
pub(super) struct Asked<'a> {
    pub(super) client: IpAddr,
    pub(super) scheme: &'static str,
    /// The host the client named.
    pub(super) host: Option<&'a str>,
}

impl Asked<'_> {
    /// Adds to `fields`. What stands there already comes from a trusted proxy nearer to the client:
    /// its lists get one more member, and what it says of host and scheme holds.
    pub(super) fn tell(&self, fields: &mut HeaderMap, style: ForwardedStyle) {
        if matches!(style, ForwardedStyle::XForwarded | ForwardedStyle::Both) {
            append(fields, FOR, written(self.client));
            let host = self.host.and_then(|host| HeaderValue::from_str(host).ok());
            let scheme = HeaderValue::from_static(self.scheme);
            for (name, value) in [(PROTO, Some(scheme)), (HOST, host)] {
                if let (Entry::Vacant(place), Some(value)) = (fields.entry(name), value) {
                    place.insert(value);
                }
            }
        }
        if matches!(style, ForwardedStyle::Forwarded | ForwardedStyle::Both) {
            append(fields, header::FORWARDED, self.element());
        }
    }

    /// One element of `Forwarded` (RFC 7239, sections 4 and 6).
    fn element(&self) -> String {
        let mut text = match self.client {
            IpAddr::V4(address) => format!("for={address}"),
            IpAddr::V6(address) => format!("for=\"[{address}]\""),
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

/// An address as `Display` has it. That of IPv4 takes a fortieth of what a proxied request takes in
/// all if the formatting of the standard library writes it.
fn written(address: IpAddr) -> String {
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

/// Makes one line of all lines of a list and one more member: some readers look at one line only.
fn append(fields: &mut HeaderMap, name: HeaderName, member: String) {
    match fields.entry(name) {
        Entry::Vacant(place) => {
            if let Ok(value) = HeaderValue::try_from(member) {
                place.insert(value);
            }
        }
        Entry::Occupied(mut place) => {
            let mut list = Vec::new();
            for value in place.iter() {
                list.extend_from_slice(value.as_bytes());
                list.extend_from_slice(b", ");
            }
            list.extend_from_slice(member.as_bytes());
            if let Ok(value) = HeaderValue::from_bytes(&list) {
                place.insert(value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_have_names() {
        for style in ForwardedStyle::ALL {
            assert_eq!(style.to_string().parse(), Ok(style));
        }
        assert!("X-Forwarded".parse::<ForwardedStyle>().is_err());
    }

    proptest::proptest! {
        #[test]
        fn an_address_is_written_as_ever(address: IpAddr) {
            proptest::prop_assert_eq!(written(address), address.to_string());
        }
    }

    #[test]
    fn elements_as_in_rfc_7239() {
        let element = |client: &str, host| {
            Asked { client: client.parse().unwrap(), scheme: "http", host }.element()
        };
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
        append(&mut fields, FOR, "d".to_owned());
        assert_eq!(fields.get_all(FOR).iter().collect::<Vec<_>>(), ["a, b, c, d"]);
    }
}
