//! Values of the keys about TLS to backends. Used by the table of routes' keys.

use std::convert::Infallible;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::host::{ipv6, is_name};
use crate::config::value::value;

/// A file with certificates or a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PemFile(PathBuf);

impl FromStr for PemFile {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(PemFile(text.into()))
    }
}

impl fmt::Display for PemFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
    }
}

value! {
    PemFile, "FILE", |file| -> PathBuf { file.0 }
    fn move_beside(&mut self, directory: &Path) {
        self.0 = directory.join(&self.0);
    }
}

/// What a certificate is for: a name in lower case or an address, IPv6 without brackets.
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
