//! A single connection or request to a server: whether it accepts, and what it answers.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::error::{Error, Result};

/// The longest that an answer may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Whether a connection can be made, within a second, to an address of this thread's namespace.
pub fn accepts(address: SocketAddr) -> bool {
    TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok()
}

/// The whole answer to a request, head and body.
///
/// # Errors
///
/// When there is no connection, or no whole answer within 20 s.
pub fn get(address: SocketAddr, path: &str) -> Result<Vec<u8>> {
    let fetch = || {
        let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes())?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        Ok(answer)
    };
    fetch().map_err(|e: std::io::Error| Error(format!("GET http://{address}{path}: {e}")))
}

/// What the admin address of a weir says of itself: its metrics, as text.
///
/// # Errors
///
/// As [`get`], and when the answer is no success.
pub fn metrics(admin: SocketAddr) -> Result<String> {
    let answer = get(admin, "/metrics")?;
    let text = String::from_utf8_lossy(&answer);
    match text.split_once("\r\n\r\n") {
        Some((head, body)) if head.starts_with("HTTP/1.1 200") => Ok(body.to_owned()),
        _ => Err(Error(format!("/metrics was answered: {}", text.trim()))),
    }
}
