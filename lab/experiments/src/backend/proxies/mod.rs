//! What stands in front of the application, by name: how each is configured and started. It does not
//! know what is asked.
//!
//! No access log, and otherwise every server's own defaults, with one worker and room for all
//! connections where that is a matter of a setting. `nginx-expert` and `haproxy-expert` are what
//! somebody sets who knows the application: at most a second's worth of requests wait, others get 503.

mod haproxy;
mod nginx;
mod others;
mod weir;

use std::fs;
use std::net::{SocketAddr, SocketAddrV4};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::command::must_exist;
use crate::error::{Error, Result};
use crate::link::systems::first;
use crate::settings::Settings;

/// The systems that are known. `direct` is nothing at all; `checking` is the application that itself
/// drops a request whose client has left when its turn comes (the paper's server); `weir:proxy` takes
/// further flags of `weir serve` after spaces, and another word than `proxy` is its policy;
/// `haproxy-limit` has a connection limit and `abortonclose`, but no short time in the queue.
pub const SYSTEMS: [&str; 13] = [
    "direct",
    "checking",
    "weir:proxy",
    "nginx",
    "nginx-expert",
    "haproxy",
    "haproxy-limit",
    "haproxy-expert",
    "caddy",
    "apache-event",
    "lighttpd",
    "h2o",
    "varnish",
];

/// Connections that wait to be accepted.
const BACKLOG: u32 = 4096;

/// Requests that an expert lets wait: a second's worth where the mean service time is 10 ms.
const FEW: u32 = 100;

/// What a proxy is told.
pub(crate) struct Place<'a> {
    /// Where it listens.
    pub(crate) front: SocketAddrV4,
    /// Where weir's figures are.
    pub(crate) admin: SocketAddr,
    /// Where the application listens.
    pub(crate) application: SocketAddrV4,
    /// Where its configuration, its log and its temporary files go.
    pub(crate) directory: &'a Path,
    /// The application's mean service time.
    pub(crate) mean: Duration,
}

impl Place<'_> {
    /// The longest that an expert lets a request wait.
    fn short(&self) -> Duration {
        self.mean * FEW
    }

    fn file(&self, name: &str, text: &str) -> Result<std::path::PathBuf> {
        let file = self.directory.join(name);
        fs::write(&file, text).map_err(|e| Error::file("write", &file, &e))?;
        Ok(file)
    }

    /// Where errors are written.
    fn log(&self) -> std::path::PathBuf {
        self.directory.join("server-error.log")
    }
}

/// Whether the application itself looks who has left.
pub(crate) fn application_checks(system: &str) -> bool {
    system == "checking"
}

/// The command that starts a proxy in the foreground; none where clients ask the application.
///
/// # Errors
///
/// A system that nobody knows, or whose program is not installed (with the Debian package).
pub(crate) fn command(
    system: &str,
    place: &Place<'_>,
    settings: &Settings,
) -> Result<Option<Command>> {
    if let Some(("weir", options)) = system.split_once(':') {
        return weir::command(options, place, settings).map(Some);
    }
    let command = match system {
        "direct" | "checking" => return Ok(None),
        "nginx" => nginx::command(place, false)?,
        "nginx-expert" => nginx::command(place, true)?,
        "haproxy" => haproxy::command(place, "")?,
        "haproxy-limit" => haproxy::command(place, haproxy::LIMIT)?,
        "haproxy-expert" => haproxy::command(place, &haproxy::expert(place))?,
        "caddy" => others::caddy(place)?,
        "apache-event" => others::apache(place)?,
        "lighttpd" => others::lighttpd(place)?,
        "h2o" => others::h2o(place)?,
        "varnish" => others::varnish(place)?,
        _ => {
            return Err(Error(format!(
                "no system {system} in front of an application: use weir:proxy with flags, {}",
                known().join(", ")
            )));
        }
    };
    Ok(Some(command))
}

fn known() -> Vec<&'static str> {
    SYSTEMS.into_iter().filter(|system| !system.starts_with("weir:")).collect()
}

/// A program of Debian's, before all ordinary work; for a missing one the error names its package.
fn program(name: &str, version: &str) -> Result<Command> {
    must_exist(name, version)?;
    Ok(first(Path::new(name)))
}

#[cfg(test)]
mod tests;
