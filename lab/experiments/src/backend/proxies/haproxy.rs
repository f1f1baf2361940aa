//! HAProxy's configuration.

use std::process::Command;

use super::{BACKLOG, Place, program};
use crate::error::Result;

/// Connections to the application at once, where they are limited: enough that it never waits for the
/// next, few enough that the queue is here.
const CONNECTIONS: u32 = 4;

/// A connection limit, and requests whose clients have left are dropped from the queue and from the
/// application alike; they may wait as long as a client of Debian's own configuration.
pub(super) const LIMIT: &str = "    option abortonclose\n    timeout queue 50s\n";

/// The same, and nobody waits for more than a second.
pub(super) fn expert(place: &Place<'_>) -> String {
    format!("    option abortonclose\n    timeout queue {}ms\n", place.short().as_millis().max(1))
}

/// `backend` are further lines of the section; with any, connections are limited.
pub(super) fn command(place: &Place<'_>, backend: &str) -> Result<Command> {
    let mut command = program("haproxy", "-v")?;
    let file = place.file("haproxy.cfg", &text(place, backend))?;
    command.arg("-db").arg("-f").arg(file);
    Ok(command)
}

/// Time limits as in Debian's own configuration; HAProxy has none by default, and warns of that.
pub(super) fn text(place: &Place<'_>, backend: &str) -> String {
    let Place { front, application, .. } = place;
    let limit = match backend.is_empty() {
        true => String::new(),
        false => format!(" maxconn {CONNECTIONS}"),
    };
    format!(
        "# Made by weir-lab.
global
    maxconn 8192
    nbthread 1
defaults
    mode http
    timeout connect 5000
    timeout client 50000
    timeout server 50000
frontend clients
    bind {front} backlog {BACKLOG}
    maxconn 8192
    default_backend application
backend application
{backend}    server one {application}{limit}
"
    )
}
