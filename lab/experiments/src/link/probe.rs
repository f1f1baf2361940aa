//! A single request to the server of a cell before its users come: whether it answers, and how long its
//! heads are.

use std::net::SocketAddr;

use weir_peers::probe::{accepts, get};
use weir_peers::{Error, Result};

use super::network::Network;
use weir_peers::namespace::within;

/// Whether the server accepts a connection.
pub(crate) fn answers(network: &Network) -> Result<bool> {
    let address = SocketAddr::V4(network.address);
    within(network.client.name(), || Ok(accepts(address)))
}

/// Bytes of the head that the system sends with the document of `size` bytes at `path`.
pub(crate) fn probe_head(network: &Network, path: &str, size: u64) -> Result<u64> {
    let answer = within(network.client.name(), || get(SocketAddr::V4(network.address), path))?;
    let head = (answer.len() as u64).saturating_sub(size);
    let begins = answer.starts_with(b"HTTP/1.1 200");
    if !begins || answer.get(..head as usize).is_none_or(|h| !h.ends_with(b"\r\n\r\n")) {
        let start = String::from_utf8_lossy(&answer[..answer.len().min(300)]).into_owned();
        return Err(Error(format!(
            "the server does not serve the documents: {path} of {size} bytes was answered: {start}"
        )));
    }
    Ok(head)
}
