//! The names that certificates are ordered for. Used by the settings; the storage calls its files so.

use std::fmt;
use std::str::FromStr;

use crate::invalid::InvalidSetting;

/// Bytes in a name at most (RFC 1035 section 2.3.4, without the final dot).
const LONGEST: usize = 253;
/// Bytes between two dots at most (RFC 1035 section 2.3.4).
const LONGEST_LABEL: usize = 63;

/// An exact DNS name in lower case, such as `www.example.org`.
///
/// There are no wildcards: only dns-01 proves those (RFC 8555 section 8.3, RFC 8737 section 3), which
/// weir does not speak.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostName(String);

impl HostName {
    /// The name, in lower case and without a final dot.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for HostName {
    type Err = InvalidSetting;

    fn from_str(text: &str) -> Result<Self, InvalidSetting> {
        let name = text.trim();
        let name = name.strip_suffix('.').unwrap_or(name).to_ascii_lowercase();
        match problem(&name) {
            None => Ok(HostName(name)),
            Some(problem) => Err(InvalidSetting::new(format!("\"{text}\" {problem}"))),
        }
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why no certificate can be ordered for `name`.
fn problem(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        return Some("is no name; write one such as www.example.org");
    }
    if name.starts_with("*.") {
        return Some(
            "is a wildcard, which cannot be proved by http-01 or tls-alpn-01; \
             list the exact names, or give a certificate by `tls` and `tls_key`",
        );
    }
    if !name.is_ascii() {
        return Some(
            "has letters outside ASCII; write the name as DNS has it, such as xn--bcher-kva.example",
        );
    }
    if name.parse::<std::net::IpAddr>().is_ok() {
        return Some("is an address; certificates are ordered for names");
    }
    if name.len() > LONGEST {
        return Some("is longer than the 253 bytes of a DNS name");
    }
    let is_label = |label: &str| {
        (1..=LONGEST_LABEL).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    if !name.split('.').all(is_label) {
        return Some(
            "is no DNS name: letters, digits and hyphens between dots, such as www.example.org",
        );
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_read_as_dns_has_them() {
        let name = |text: &str| text.parse::<HostName>().unwrap().to_string();
        assert_eq!(name("www.example.org"), "www.example.org");
        assert_eq!(name(" WWW.Example.ORG. "), "www.example.org");
        assert_eq!(name("xn--bcher-kva.example"), "xn--bcher-kva.example");
    }

    #[test]
    fn what_cannot_be_ordered_is_refused_with_a_reason() {
        let longest = format!("{}.org", "a.".repeat(125));
        for (text, reason) in [
            ("", "is no name"),
            ("*.example.org", "wildcard"),
            ("bücher.example", "outside ASCII"),
            ("192.0.2.1", "address"),
            ("2001:db8::1", "address"),
            ("a..b", "no DNS name"),
            ("-a.org", "no DNS name"),
            ("a_b.org", "no DNS name"),
            ("../etc/passwd", "no DNS name"),
            (longest.as_str(), "253"),
        ] {
            let error = text.parse::<HostName>().unwrap_err().to_string();
            assert!(error.contains(reason), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn every_name_is_a_safe_file_name(text in "\\PC{0,80}") {
            if let Ok(name) = text.parse::<HostName>() {
                prop_assert!(!name.as_str().contains(['/', '\0']));
                prop_assert!(!name.as_str().starts_with('.'));
                prop_assert_eq!(name.to_string().parse::<HostName>().unwrap(), name);
            }
        }
    }
}
