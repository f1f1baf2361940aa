//! Values of the keys about TLS: files of certificates, the port that clients know, and how long browsers are
//! to insist on TLS (HSTS). Read by the table of the server's keys; `app` reads the files, and heads of
//! responses have the line.

use std::convert::Infallible;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use weir_tls::{ClientCertificates, Preset};
use weir_units::{Invalid, TimeSpan};

use super::value::{choice_value, value};

choice_value!(Preset);
choice_value!(ClientCertificates);

/// The path of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilePath(pub PathBuf);

impl FromStr for FilePath {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(FilePath(text.into()))
    }
}

impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
    }
}

value! {
    FilePath, "FILE", |path| -> PathBuf { path.0 }
    fn move_beside(&mut self, directory: &Path) {
        self.0 = directory.join(&self.0);
    }
}

/// Where a certificate comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CertificateSource {
    /// From an ACME server, for the names of the configuration.
    Auto,
    /// From a file.
    File(PathBuf),
}

const AUTO: &str = "auto";

impl CertificateSource {
    /// The file, if it is one.
    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            CertificateSource::Auto => None,
            CertificateSource::File(path) => Some(path),
        }
    }
}

impl FromStr for CertificateSource {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text {
            AUTO => CertificateSource::Auto,
            path => CertificateSource::File(path.into()),
        })
    }
}

impl fmt::Display for CertificateSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CertificateSource::Auto => f.write_str(AUTO),
            CertificateSource::File(path) => path.display().fmt(f),
        }
    }
}

value! {
    CertificateSource, "FILE", |source| -> CertificateSource { source }
    fn words() -> Vec<(&'static str, &'static str)> {
        vec![
            (AUTO, "weir obtains certificates by ACME, and renews them"),
            ("a file", "a certificate with its chain; one that is called auto is written ./auto"),
        ]
    }
    fn move_beside(&mut self, directory: &Path) {
        if let CertificateSource::File(path) = self {
            *path = directory.join(&*path);
        }
    }
}

/// The port of TLS as clients know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TlsPort(pub u16);

impl FromStr for TlsPort {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text.trim().parse::<u16>() {
            Ok(port @ 1..) => Ok(TlsPort(port)),
            _ => Err(Invalid::new(text, "a port from 1 to 65535", "such as 443")),
        }
    }
}

impl fmt::Display for TlsPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

value! {
    TlsPort, "N", |port| -> u16 { port.0 }
    fn detail() -> String {
        " from 1 to 65535".to_owned()
    }
}

/// How long browsers are to ask this host with TLS only (RFC 6797): the field that tells them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hsts {
    age: Duration,
    subdomains: bool,
    preload: bool,
}

const SUBDOMAINS: &str = "subdomains";
const PRELOAD: &str = "preload";

impl Hsts {
    /// The line of a head, with its end.
    pub(crate) fn line(self) -> String {
        let subdomains = if self.subdomains { "; includeSubDomains" } else { "" };
        let preload = if self.preload { "; preload" } else { "" };
        let age = self.age.as_secs();
        format!("Strict-Transport-Security: max-age={age}{subdomains}{preload}\r\n")
    }
}

impl FromStr for Hsts {
    type Err = String;

    /// A time, and perhaps `subdomains` and `preload`.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut words: Vec<&str> = text.split_whitespace().collect();
        let mut ends_in = |word: &str| words.pop_if(|last| *last == word).is_some();
        let preload = ends_in(PRELOAD);
        let subdomains = ends_in(SUBDOMAINS);
        match words.join(" ").parse::<TimeSpan>() {
            Ok(TimeSpan(age)) => Ok(Hsts { age, subdomains, preload }),
            Err(_) => Err(format!(
                "\"{text}\" is not how long browsers are to insist on TLS; write a time such as 365d, \
                 perhaps followed by {SUBDOMAINS} and then by {PRELOAD}"
            )),
        }
    }
}

impl fmt::Display for Hsts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        TimeSpan(self.age).fmt(f)?;
        let words = [(self.subdomains, SUBDOMAINS), (self.preload, PRELOAD)];
        words.iter().filter(|(is, _)| *is).try_for_each(|(_, word)| write!(f, " {word}"))
    }
}

value! {
    Hsts, "AGE", |hsts| -> Hsts { hsts }
    fn words() -> Vec<(&'static str, &'static str)> {
        vec![
            ("a time", "this host alone"),
            ("a time and `subdomains`", "all hosts below it, too"),
            ("a time, `subdomains` and `preload`", "and browsers may list it"),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_is_one_that_clients_can_connect_to() {
        assert_eq!(" 443 ".parse(), Ok(TlsPort(443)));
        assert_eq!(TlsPort(65_535).to_string().parse(), Ok(TlsPort(65_535)));
        for wrong in ["0", "65536", "-1", "https", ":443", "0.0.0.0:443", ""] {
            let error = wrong.parse::<TlsPort>().unwrap_err().to_string();
            assert_eq!(
                error,
                format!("\"{wrong}\" is not a port from 1 to 65535; write such as 443")
            );
        }
    }

    #[test]
    fn how_long_browsers_insist_is_read_and_written() {
        for (text, line) in [
            ("365d", "max-age=31536000\r\n"),
            ("0s", "max-age=0\r\n"),
            ("730d subdomains", "max-age=63072000; includeSubDomains\r\n"),
            ("730d subdomains preload", "max-age=63072000; includeSubDomains; preload\r\n"),
        ] {
            let hsts: Hsts = text.parse().unwrap();
            assert_eq!(hsts.line(), format!("Strict-Transport-Security: {line}"));
            assert_eq!((hsts.to_string(), hsts.to_string().parse()), (text.to_owned(), Ok(hsts)));
        }
        for wrong in ["", "subdomains", "365d includeSubDomains", "365d preload subdomains"] {
            let error = wrong.parse::<Hsts>().unwrap_err();
            assert!(error.contains("write a time such as 365d"), "{wrong}: {error}");
        }
    }
}
