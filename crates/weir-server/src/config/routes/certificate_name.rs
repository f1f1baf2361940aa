//! What a backend's certificate must be for, as it is written. Used by the table of routes' keys.

use std::fmt;
use std::str::FromStr;

use super::host::{ipv6, is_name};
use crate::config::value::value;

/// A name in lower case or an address, IPv6 without brackets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateName(String);

impl FromStr for CertificateName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match ipv6(text.trim_matches(['[', ']'])) {
            Some(address) => Ok(CertificateName(address)),
            None if is_name(text) => Ok(CertificateName(text.to_ascii_lowercase())),
            None => Err(format!(
                "\"{text}\" is not what a certificate is for; write a name or an address without scheme \
                 and port, such as app.internal"
            )),
        }
    }
}

impl fmt::Display for CertificateName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

value!(CertificateName, "HOST", |name| -> String { name.0 });
