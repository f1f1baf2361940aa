//! Where to listen, as people write it. Used for the keys `listen` and `admin`.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;

use super::value::value;

/// An address and a port. `localhost` is 127.0.0.1; other names are not looked up, since what they
/// stand for may change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListenAddress(pub SocketAddr);

impl FromStr for ListenAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Ok(address) = text.parse() {
            return Ok(ListenAddress(address));
        }
        let (host, port) = text.rsplit_once(':').unwrap_or(("", text));
        let port: Option<u16> = port.parse().ok();
        if let Some(port) = port.filter(|_| host.eq_ignore_ascii_case("localhost")) {
            return Ok(ListenAddress(SocketAddr::from((Ipv4Addr::LOCALHOST, port))));
        }
        Err(format!("\"{text}\" is not an address and a port; {}", example(text, host, port)))
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

value!(ListenAddress, "ADDRESS", |address| -> SocketAddr { address.0 });

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
        let read = |text: &str| text.parse::<ListenAddress>().map(|address| address.0.to_string());
        for (text, address) in [
            ("127.0.0.1:80", "127.0.0.1:80"),
            (" [::1]:8080 ", "[::1]:8080"),
            ("localhost:8080", "127.0.0.1:8080"),
            ("LocalHost:0", "127.0.0.1:0"),
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

    proptest! {
        #[test]
        fn nothing_that_is_written_panics(text in "[0-9a-f:.*\\[\\]]{0,20}|.{0,9}") {
            let _ = text.parse::<ListenAddress>();
        }
    }
}
