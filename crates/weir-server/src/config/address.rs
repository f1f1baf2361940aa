//! Where to listen, as people write it, and the paths of Unix sockets. Used for the keys `listen` and
//! `admin`; addresses of backends share the paths.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::value::value;

/// Bytes that fit into `sockaddr_un` with the NUL at their end, or at the beginning of an abstract name
/// (unix(7)).
const LONGEST_SOCKET: usize = 107;

/// Where to listen: `ADDRESS:PORT`, `unix:PATH` or `unix:@NAME`. `localhost` is 127.0.0.1; other names
/// are not looked up, since what they stand for may change.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ListenAddress {
    /// On a port.
    Tcp(SocketAddr),
    /// On a Unix socket with a file.
    Unix(PathBuf),
    /// On a Unix socket with an abstract name (unix(7)), which stands here without the `@`.
    Abstract(String),
}

impl ListenAddress {
    /// Whether the kernel chooses the port.
    pub(crate) fn is_any_port(&self) -> bool {
        matches!(self, ListenAddress::Tcp(address) if address.port() == 0)
    }

    /// Whether the kernel could listen on it, whoever else does.
    pub(super) fn check(&self) -> Result<(), String> {
        match self {
            ListenAddress::Tcp(_) => Ok(()),
            ListenAddress::Unix(path) => check_socket_path(path),
            ListenAddress::Abstract(name) => check_socket_path(Path::new(name)),
        }
    }
}

impl FromStr for ListenAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Some(path) = text.strip_prefix("unix:") {
            let name = path.strip_prefix('@').filter(|name| !name.is_empty());
            return match (socket_path(path), name) {
                (Some(_), Some(name)) => Ok(ListenAddress::Abstract(name.to_owned())),
                (Some(path), None) if path != Path::new("@") => Ok(ListenAddress::Unix(path)),
                _ => Err(format!(
                    "\"{text}\": the path of the socket is missing; write unix:/run/weir.sock"
                )),
            };
        }
        if let Ok(address) = text.parse() {
            return Ok(ListenAddress::Tcp(address));
        }
        let (host, port) = text.rsplit_once(':').unwrap_or(("", text));
        let port: Option<u16> = port.parse().ok();
        if let Some(port) = port.filter(|_| host.eq_ignore_ascii_case("localhost")) {
            return Ok(ListenAddress::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, port))));
        }
        Err(format!("\"{text}\" is not an address and a port; {}", example(text, host, port)))
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ListenAddress::Tcp(address) => address.fmt(f),
            ListenAddress::Unix(path) => write!(f, "unix:{}", path.display()),
            ListenAddress::Abstract(name) => write!(f, "unix:@{name}"),
        }
    }
}

value! {
    ListenAddress, "ADDRESS", |address| -> ListenAddress { address }
    fn move_beside(&mut self, directory: &Path) {
        if let ListenAddress::Unix(path) = self {
            *path = directory.join(&*path);
        }
    }
}

/// The path of a Unix socket as it is written after `unix:`; `None`: it is missing. As in a URL, slashes
/// at the beginning are one.
pub(in crate::config) fn socket_path(text: &str) -> Option<PathBuf> {
    let name = text.trim_start_matches('/');
    let root = if name.len() < text.len() { "/" } else { "" };
    (!name.is_empty() && !name.contains('\0')).then(|| Path::new(root).join(name))
}

/// Whether a socket can have this path.
pub(in crate::config) fn check_socket_path(path: &Path) -> Result<(), String> {
    if path.as_os_str().len() <= LONGEST_SOCKET {
        return Ok(());
    }
    Err(format!(
        "the path of the socket {} is longer than {LONGEST_SOCKET} bytes, which no socket can have; \
         put it elsewhere",
        path.display()
    ))
}

/// What was probably meant.
fn example(text: &str, host: &str, port: Option<u16>) -> String {
    let bare = |address: &str| address.trim_matches(['[', ']']).parse::<IpAddr>().ok();
    match (bare(text), bare(host), port) {
        // A port that is part of an IPv6 address as it is written.
        (Some(address), ..) => {
            format!("write it with a port, such as {}", SocketAddr::new(address, 8080))
        }
        (None, Some(address), Some(port)) => format!("write {}", SocketAddr::new(address, port)),
        (None, None, Some(port)) if host.is_empty() || host == "*" => format!(
            "write 127.0.0.1:{port} for this machine only, or 0.0.0.0:{port} and [::]:{port} for \
             everybody"
        ),
        (None, None, Some(port)) => {
            format!("names are not looked up, so write such as 127.0.0.1:{port}")
        }
        (None, _, None) => "write such as 127.0.0.1:8080 or [::1]:8080".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn addresses_are_read_or_refused_with_an_example() {
        let read = |text: &str| text.parse::<ListenAddress>().map(|address| address.to_string());
        for (text, address) in [
            ("127.0.0.1:80", "127.0.0.1:80"),
            (" [::1]:8080 ", "[::1]:8080"),
            ("localhost:8080", "127.0.0.1:8080"),
            ("LocalHost:0", "127.0.0.1:0"),
            ("unix:/run/weir.sock", "unix:/run/weir.sock"),
            ("unix:///run/weir.sock", "unix:/run/weir.sock"),
            ("unix:weir.sock", "unix:weir.sock"),
            ("unix:./@weir", "unix:./@weir"),
            ("unix:@weir", "unix:@weir"),
        ] {
            assert_eq!(read(text).as_deref(), Ok(address), "{text}");
        }
        for (text, example) in [
            (":8080", "write 127.0.0.1:8080 for this machine only, or 0.0.0.0:8080 and [::]:8080"),
            ("*:80", "or 0.0.0.0:80 and [::]:80 for everybody"),
            ("8080", "write 127.0.0.1:8080 for this machine only"),
            ("127.0.0.1", "write it with a port, such as 127.0.0.1:8080"),
            ("::1", "write it with a port, such as [::1]:8080"),
            ("[::1]", "write it with a port, such as [::1]:8080"),
            ("::1:8080", "write it with a port, such as [::1:8080]:8080"),
            ("example.org:80", "names are not looked up, so write such as 127.0.0.1:80"),
            ("here", "write such as 127.0.0.1:8080 or [::1]:8080"),
            ("127.0.0.1:99999", "write such as 127.0.0.1:8080"),
            ("", "write such as"),
        ] {
            let wrong = read(text).unwrap_err();
            assert!(wrong.starts_with(&format!("\"{text}\" is not an address")), "{wrong}");
            assert!(wrong.contains(example), "{text}: {wrong}");
        }
    }

    #[test]
    fn a_socket_has_a_path_that_is_not_too_long() {
        for text in ["unix:", "unix:/", "unix:@", "unix:a\0b", "unix:@a\0b"] {
            let wrong = text.parse::<ListenAddress>().unwrap_err();
            assert!(wrong.contains("the path of the socket is missing"), "{wrong}");
        }
        for prefix in ["/", "@"] {
            let longest = format!("unix:{prefix}{}", "a".repeat(106));
            let check = |text: &str| text.parse::<ListenAddress>().unwrap().check();
            assert_eq!(check(&longest), Ok(()));
            let wrong = check(&format!("{longest}{}", if prefix == "@" { "aa" } else { "a" }));
            assert!(wrong.unwrap_err().contains("is longer than 107 bytes"));
        }
        let mut beside: ListenAddress = "unix:weir.sock".parse().unwrap();
        crate::config::value::Value::move_beside(&mut beside, Path::new("/etc/weir"));
        assert_eq!(beside.to_string(), "unix:/etc/weir/weir.sock");
    }

    proptest! {
        #[test]
        fn what_is_read_prints_and_reads_the_same(
            text in "[0-9a-f:.*\\[\\]]{0,20}|.{0,9}|unix:[@/.a\\x00]{0,4}",
        ) {
            if let Ok(address) = text.parse::<ListenAddress>() {
                prop_assert_eq!(address.to_string().parse(), Ok(address));
            }
        }
    }
}
