//! Addresses of backends: how they are written. Used by the table of routes' keys and by `--proxy`; the
//! proxy resolves the names.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::host::{ipv6, split_port};
use crate::config::address::{check_socket_path, socket_path};
use crate::config::value::value;

/// The ports of backends that name none, without and with TLS.
const PORT: u16 = 80;
const TLS_PORT: u16 = 443;

/// Where a backend listens. Written `http://name:port`, `http://[address]:port`, the same with
/// `https`, or `unix:path`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum BackendAddress {
    /// On a port.
    Tcp {
        /// A name in lower case or an address; one of IPv6 is without brackets.
        host: String,
        /// Above zero.
        port: u16,
        /// It speaks TLS there.
        tls: bool,
    },
    /// On a Unix socket.
    Unix(PathBuf),
}

impl BackendAddress {
    /// Whether the kernel could connect to it, whatever listens there.
    pub(super) fn check(&self) -> Result<(), String> {
        match self {
            BackendAddress::Unix(path) => check_socket_path(path),
            BackendAddress::Tcp { .. } => Ok(()),
        }
    }

    /// Whether it speaks TLS.
    pub(crate) fn is_tls(&self) -> bool {
        matches!(self, BackendAddress::Tcp { tls: true, .. })
    }

    /// Its name as a `Host` field has it, without the port that its scheme has anyway (RFC 9110,
    /// section 4.2.3).
    pub(crate) fn authority(&self) -> String {
        let BackendAddress::Tcp { host, port, tls } = self else { return "localhost".to_owned() };
        let host = if host.contains(':') { format!("[{host}]") } else { host.clone() };
        match (port, tls) {
            (&PORT, false) | (&TLS_PORT, true) => host,
            _ => format!("{host}:{port}"),
        }
    }
}

impl fmt::Display for BackendAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BackendAddress::Tcp { host, port, tls } => {
                let scheme = if *tls { "https" } else { "http" };
                match host.contains(':') {
                    true => write!(f, "{scheme}://[{host}]:{port}"),
                    false => write!(f, "{scheme}://{host}:{port}"),
                }
            }
            BackendAddress::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl FromStr for BackendAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| Err(format!("\"{text}\": {why}"));
        let address = text.trim();
        if let Some(path) = address.strip_prefix("unix:") {
            return match socket_path(path) {
                Some(path) => Ok(BackendAddress::Unix(path)),
                None => wrong("the path of the socket is missing; write unix:/run/app.sock"),
            };
        }
        let Some((scheme, rest)) = address.split_once("://") else {
            return wrong("not the address of a backend; write http://host:port or unix:/path");
        };
        let tls = match scheme.to_ascii_lowercase().as_str() {
            "http" => false,
            "https" => true,
            _ => {
                return wrong(
                    "not a scheme for backends; write http://host:port, https://host:port or unix:/path",
                );
            }
        };
        if rest.contains('@') {
            return wrong(
                "backends get no name and password; set Authorization in `request_headers`",
            );
        }
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        if authority.contains(['/', '?', '#']) {
            return wrong("a backend is a host and a port; write the path as `rewrite`");
        }
        if authority.matches(':').count() > 1 && !authority.starts_with('[') {
            return wrong("write an IPv6 address in brackets, such as http://[::1]:9000");
        }
        match split_port(authority) {
            Some((host, port)) => Ok(BackendAddress::Tcp {
                host: ipv6(host).unwrap_or_else(|| host.to_ascii_lowercase()),
                port: port.unwrap_or(if tls { TLS_PORT } else { PORT }),
                tls,
            }),
            None => wrong("not a host and a port from 1 to 65535; write http://host:port"),
        }
    }
}

value! {
    BackendAddress, "URL", |address| -> BackendAddress { address }
    fn move_beside(&mut self, directory: &Path) {
        if let BackendAddress::Unix(path) = self {
            *path = directory.join(&*path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn addresses_of_backends() {
        for (text, message) in [
            ("ftp://a", "not a scheme"),
            ("https://a/b", "as `rewrite`"),
            ("a:80", "write http://host:port"),
            ("http://", "not a host and a port"),
            ("http://a/b", "as `rewrite`"),
            ("http://a:0", "from 1 to 65535"),
            ("http://a:65536", "from 1 to 65535"),
            ("http://a:", "from 1 to 65535"),
            ("http://a b", "not a host"),
            ("http://1.2.3.300", "not a host"),
            ("http://::1", "in brackets"),
            ("http://[::1]x", "not a host"),
            ("http://[::g]", "not a host"),
            ("http://u:p@a", "no name and password"),
            ("unix:", "the path of the socket is missing"),
            ("unix:///", "the path of the socket is missing"),
        ] {
            let error = text.parse::<BackendAddress>().unwrap_err();
            assert!(error.starts_with(&format!("\"{text}\": ")), "{error}");
            assert!(error.contains(message), "{text}: {error}");
        }
        for (text, printed, authority) in [
            ("http://A", "http://a:80", "a"),
            ("http://a:443", "http://a:443", "a:443"),
            ("HTTPS://a", "https://a:443", "a"),
            ("https://[::1]:80", "https://[::1]:80", "[::1]:80"),
        ] {
            let address = text.parse::<BackendAddress>().unwrap();
            let got = (address.to_string(), address.authority(), address.is_tls());
            assert_eq!(got, (printed.to_owned(), authority.to_owned(), printed.contains("https")));
        }
        let socket = "unix:///run/a.sock".parse::<BackendAddress>().unwrap();
        assert_eq!(socket.to_string(), "unix:/run/a.sock");
    }

    proptest! {
        #[test]
        fn an_address_that_is_read_prints_and_reads_the_same(
            text in "(https?://([a-z0-9.-]{1,8}|\\[::[0-9a-f]{0,3}\\])(:[0-9]{1,5})?/?|unix:[a-z/.]{1,9})",
        ) {
            if let Ok(address) = text.parse::<BackendAddress>() {
                prop_assert_eq!(address.to_string().parse(), Ok(address));
            }
        }
    }
}
