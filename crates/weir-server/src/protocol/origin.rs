//! The PROXY header: who the client is when a load balancer stands in front, and which balancers may say
//! so. Read before the first request of a connection.

use weir_http::proxy_protocol::{self, Parsed};

use crate::client::input::Input;
use crate::client::{Client, Read, Times, Waits};
use crate::config::ProxyProtocol;
use crate::identity::PeerAddress;
use crate::logs::refusals::Refusals;
use crate::runtime::turn;

/// Bytes of what came instead of a header that are put into the log: of a line as many as the longest
/// of version 1 has, of anything else as many as a header of version 2 with addresses of IPv4.
const SHOWN: (usize, usize) = (107, 28);

/// Whether connections begin with a PROXY header, and what became of those without. By default none
/// does.
#[derive(Debug)]
pub(crate) struct ProxyHeaders {
    mode: ProxyProtocol,
    refusals: Refusals,
}

impl ProxyHeaders {
    /// `mode`: who may open connections.
    pub(crate) fn new(mode: ProxyProtocol) -> ProxyHeaders {
        ProxyHeaders { mode, refusals: Refusals::default() }
    }

    /// Whether no header comes.
    pub(super) fn are_off(&self) -> bool {
        matches!(self.mode, ProxyProtocol::Off)
    }

    /// Tells of the connections that were refused and only counted so far.
    pub(crate) fn flush(&self) {
        self.refusals.flush();
    }
}

/// Reads the header and returns the address it names, or that of the connection if it names none.
/// `None`: there is no valid header, so nobody knows who asks, and the connection is of no use.
pub(super) async fn read(
    headers: &ProxyHeaders,
    times: &Times,
    client: &Client,
    input: &mut Input,
) -> Option<PeerAddress> {
    let refused = |why: &str| {
        headers.refusals.tell(client.peer, why);
        None
    };
    // Who may open a Unix socket, its file's permissions say.
    let admitted = client.peer.known_ip().is_none_or(|address| headers.mode.admits(address));
    if !admitted {
        return refused("its address is in none of the networks of proxy_protocol");
    }
    let begun = turn::began();
    loop {
        match proxy_protocol::parse(input.bytes()) {
            Ok(Parsed::Complete { source, length }) => {
                input.answered(length);
                return Some(source.map_or(client.peer, PeerAddress::Ip));
            }
            Ok(Parsed::Partial) => {}
            Err(bad) => return refused(&format!("{bad}: \"{}\"", shown(input.bytes()))),
        }
        let left = times.head.saturating_sub(turn::began().since(begun));
        match client.read_unless_given_up(input, left, None, Waits::Rest { begun }).await {
            Read::More => {}
            Read::TimedOut => return refused("no whole PROXY header within header_timeout"),
            // A balancer that only looks whether somebody listens.
            Read::End if input.bytes().is_empty() => return None,
            Read::End | Read::Stopped => return refused("it was closed within its PROXY header"),
            Read::GivenUp => {
                return refused("closed for want of file descriptors before its PROXY header came");
            }
        }
    }
}

/// The beginning of what came, readable whatever it is. Of a request it is the first line, since what
/// follows may be secret.
fn shown(bytes: &[u8]) -> String {
    let line = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let (most, shown) = match line {
        b"" | b"\r" => (SHOWN.1, bytes),
        line => (SHOWN.0, line.trim_ascii_end()),
    };
    shown.get(..most).unwrap_or(shown).escape_ascii().to_string()
}
