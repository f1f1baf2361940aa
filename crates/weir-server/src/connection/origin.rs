//! Who the client is when a balancer stands in front: the PROXY header before the first request. It
//! knows no requests.

use std::net::SocketAddr;

use weir_http::proxy_protocol::{self, Parsed};

use crate::buffers::Input;
use crate::client::{Client, Read};
use crate::context::Context;
use crate::turn;

/// Reads the header and returns the address it names, or that of the connection if it names none.
/// `None`: there is no valid header, so nobody knows who asks, and the connection is of no use.
pub(super) async fn read(
    context: &Context,
    client: &Client,
    input: &mut Input,
) -> Option<SocketAddr> {
    let begun = turn::began();
    loop {
        match proxy_protocol::parse(input.bytes()) {
            Ok(Parsed::Complete { source, length }) => {
                input.answered(length);
                return Some(source.unwrap_or(client.peer));
            }
            Ok(Parsed::Partial) => {}
            Err(bad) => {
                tracing::warn!("{}: no PROXY header: {}", client.peer, bad.reason);
                return None;
            }
        }
        let left = context.times.head.saturating_sub(turn::began().since(begun));
        if client.read(input, left, None).await != Read::More {
            return None;
        }
    }
}
