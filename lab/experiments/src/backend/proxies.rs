//! What stands in front of the application, by name: what each is told for a cell. The run of a cell
//! starts one of them.
//!
//! No access log, and otherwise every server's own defaults, with one worker and room for all
//! connections where that is a matter of a setting. `nginx-expert` and `haproxy-expert` are what
//! somebody sets who knows the application: at most a second's worth of requests wait, others get 503.

use std::net::{SocketAddr, SocketAddrV4};
use std::path::Path;
use std::time::Duration;

use weir_peers::haproxy::Limit;
use weir_peers::nginx::{KeepAlive, Nginx, Proxy};
use weir_peers::{Content, Error, Options, Program, Result};
use weir_peers::{apache, caddy, h2o, haproxy, lighttpd, nginx, varnish, weir};

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
const MOST_WAITING: u32 = 100;

/// Connections to the application at once, where HAProxy limits them: enough that it never waits for
/// the next, few enough that the queue is in HAProxy.
const LIMIT: u32 = 4;
/// The longest that a request waits there: as long as a client of Debian's own configuration.
const LONGEST_WAIT: Duration = Duration::from_secs(50);

/// Connections at once; of nginx, connections of its worker, in which those to the application are
/// counted too.
const CONNECTIONS: usize = 8192;
const NGINX_CONNECTIONS: usize = 16_384;

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

/// Whether the application itself looks who has left.
pub(crate) fn application_checks(system: &str) -> bool {
    system == "checking"
}

/// The proxy, to be started in the foreground; none where clients ask the application. Errors go to
/// `error_log`.
///
/// # Errors
///
/// A system that nobody knows, or whose program is not installed (with the Debian package).
pub(crate) fn program(
    system: &str,
    place: &Place<'_>,
    error_log: &Path,
    settings: &Settings,
) -> Result<Option<Program>> {
    if let Some(("weir", options)) = system.split_once(':') {
        return weir_program(options, place, settings).map(Some);
    }
    let application = place.application;
    let options = Options {
        listen: place.front,
        tls: None,
        backlog: BACKLOG,
        content: Content::Proxy(application),
        directory: place.directory,
        error_log: Some(error_log),
        critical_only: true,
        user: Some("root"),
        connections: CONNECTIONS,
        open_files: None,
        idle_timeout: None,
        requests_per_connection: None,
    };
    let nginx = |proxy| {
        let options = Options { connections: NGINX_CONNECTIONS, ..options };
        nginx::program(&options, &Nginx { proxy, ..Nginx::default() })
    };
    let limit = |longest_wait| Some(Limit { connections: LIMIT, longest_wait });
    let program = match system {
        "direct" | "checking" => return Ok(None),
        "nginx" => nginx(Proxy::default())?,
        "nginx-expert" => nginx(Proxy {
            keep_alive: Some(KeepAlive::OwnRequests),
            most_requests: Some(MOST_WAITING),
            forwarded_fields: false,
        })?,
        "haproxy" => haproxy::program(&options, application, None)?,
        "haproxy-limit" => haproxy::program(&options, application, limit(LONGEST_WAIT))?,
        "haproxy-expert" => {
            haproxy::program(&options, application, limit(place.mean * MOST_WAITING))?
        }
        // One worker, as the others have.
        "caddy" => caddy::program(&options)?.env("GOMAXPROCS", "1"),
        "apache-event" => apache::program(&options, apache::Workers::Event)?,
        "lighttpd" => lighttpd::program(&Options { open_files: Some(16_384), ..options })?,
        "h2o" => h2o::program(&options)?,
        "varnish" => varnish::program(&options, application)?,
        _ => {
            return Err(Error(format!(
                "no system {system} in front of an application: use weir:proxy with flags, {}",
                peers().join(", ")
            )));
        }
    };
    Ok(Some(program))
}

/// `options` are `proxy`, or a policy of the uplink, and then flags of `weir serve`.
fn weir_program(options: &str, place: &Place<'_>, settings: &Settings) -> Result<Program> {
    let (policy, flags) = weir::words(options);
    let policy = policy.unwrap_or("proxy");
    let mut defaults = vec![
        ("--listen", place.front.to_string()),
        ("--admin", place.admin.to_string()),
        ("--access-log", "off".into()),
        ("--workers", "1".into()),
        ("--proxy", format!("/=http://{}", place.application)),
    ];
    if policy != "proxy" {
        defaults.push(("--policy", policy.into()));
    }
    weir::program(&settings.weir, &defaults, &flags)
}

fn peers() -> Vec<&'static str> {
    SYSTEMS.into_iter().filter(|system| !system.starts_with("weir:")).collect()
}

#[cfg(test)]
mod tests;
