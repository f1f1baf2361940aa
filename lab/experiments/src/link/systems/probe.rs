//! A single request to a server before the run: whether it answers, and how long its heads are.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::link::namespace::within;
use crate::link::network::Network;

/// Whether the server accepts a connection.
pub(crate) fn answers(network: &Network) -> Result<bool> {
    let address = SocketAddr::V4(network.address);
    within(network.client.name(), || Ok(accepts(address)))
}

/// Whether a connection can be made to an address of this namespace.
pub(crate) fn accepts(address: SocketAddr) -> bool {
    TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok()
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

/// The whole answer to a request.
pub(crate) fn get(address: SocketAddr, path: &str) -> Result<Vec<u8>> {
    let patience = Duration::from_secs(20);
    let fetch = || {
        let mut stream = TcpStream::connect_timeout(&address, patience)?;
        stream.set_read_timeout(Some(patience))?;
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes())?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        Ok(answer)
    };
    fetch().map_err(|e: std::io::Error| Error(format!("GET http://{address}{path}: {e}")))
}
