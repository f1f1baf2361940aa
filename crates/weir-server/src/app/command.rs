//! `weir reload`, the other end of the control socket: it has the server that runs read its configuration
//! anew, and tells what came of it.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use super::messages::{RELOAD, outcome};
use crate::error::ServeError;

/// How long a server may take: it opens everything that is new, and waits for its workers.
const PATIENCE: Duration = Duration::from_secs(60);

/// Has the server whose control socket is at `control` read its configuration anew. Returns what has
/// changed.
///
/// # Errors
///
/// Why nothing has changed: what is wrong with the configuration, or that no server answers. Or which
/// certificates cannot be used and stay as they were, where all else is taken.
pub fn reload(control: &Path) -> Result<String, ServeError> {
    let answer = ask(control).map_err(|error| {
        let path = control.display();
        ServeError::new(format!("no server answers at the control socket {path}"), &error)
    })?;
    outcome(&answer).map_err(ServeError::told)
}

fn ask(control: &Path) -> io::Result<String> {
    let mut stream = UnixStream::connect(control)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(format!("{RELOAD}\n").as_bytes())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}
