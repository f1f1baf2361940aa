//! Who the client is when a balancer stands in front: the PROXY header before the first request, from
//! a balancer that may send one. Used by a connection before anything else.

use std::net::SocketAddr;

use weir_http::proxy_protocol::{self, Parsed};

use crate::client::input::Input;
use crate::client::{Client, Read, Waits};
use crate::connection::context::Context;
use crate::runtime::turn;

/// Bytes of what came instead of a header that are put into the log: of a line as many as the longest
/// of version 1 has, of anything else as many as a header of version 2 with addresses of IPv4.
const SHOWN: (usize, usize) = (107, 28);

/// Reads the header and returns the address it names, or that of the connection if it names none.
/// `None`: there is no valid header, so nobody knows who asks, and the connection is of no use.
pub(super) async fn read(
    context: &Context,
    client: &Client,
    input: &mut Input,
) -> Option<SocketAddr> {
    let refused = |why: &str| {
        context.refusals.tell(client.peer, why);
        None
    };
    if !context.proxy_protocol.admits(client.peer.ip()) {
        return refused("it is in none of the networks of proxy_protocol");
    }
    let begun = turn::began();
    loop {
        match proxy_protocol::parse(input.bytes()) {
            Ok(Parsed::Complete { source, length }) => {
                input.answered(length);
                return Some(source.unwrap_or(client.peer));
            }
            Ok(Parsed::Partial) => {}
            Err(bad) => return refused(&format!("{bad}: \"{}\"", shown(input.bytes()))),
        }
        let left = context.times.head.saturating_sub(turn::began().since(begun));
        match client.read_unless_given_up(input, left, None, Waits::Rest { begun }).await {
            Read::More => {}
            Read::TimedOut => return refused("no whole PROXY header within header_timeout"),
            // A balancer that only looks whether somebody listens.
            Read::End if input.bytes().is_empty() => return None,
            Read::End | Read::Stopped => return refused("it ended within its PROXY header"),
            Read::GivenUp => return refused("descriptors were short before its PROXY header came"),
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
