//! The servers of files under test, by name: what each is told when it has one core and little memory.
//! The bench starts one of them.

use std::path::Path;

use weir_peers::nginx::{FileCache, Nginx, Reading};
use weir_peers::{Content, Error, Options, Program, Result};
use weir_peers::{h2o, lighttpd, nginx, weir};

use super::apache::Apache;
use super::programs::{Place, Programs};
use crate::settings::Settings;

/// The systems that are known. `weir:files` takes further flags of `weir serve` after spaces
/// (`weir:files --disk-work blocks`), and another word than `files` is the policy of its uplink;
/// `nginx-aio` reads on threads. Apache prefork has 256 processes, or 1024. Apache opens files by itself, or
/// has them from `mod_file_cache` (`-file-cache`) or from `weir-lab opener`: those that are not in memory
/// (`-opener`), or all (`-opener-always`).
pub const SYSTEMS: [&str; 18] = [
    "weir:files",
    "nginx",
    "nginx-aio",
    "apache-prefork",
    "apache-prefork-1024",
    "apache-prefork-opener",
    "apache-prefork-opener-always",
    "apache-prefork-file-cache",
    "apache-worker",
    "apache-worker-opener",
    "apache-worker-opener-always",
    "apache-worker-file-cache",
    "apache-event",
    "apache-event-opener",
    "apache-event-opener-always",
    "apache-event-file-cache",
    "lighttpd",
    "h2o",
];

/// Connections that wait to be accepted, and those that a server has room for.
const BACKLOG: u32 = 16_384;
const ROOM: usize = 4000;
/// Seconds after which idle connections are closed: few, since after a crowd has gone they keep those
/// who still wait from a server that has a process or a place for so many connections only.
const IDLE: u32 = 1;

/// The programs, without an access log. Errors go to `error_log`.
///
/// # Errors
///
/// A system that nobody knows, or whose program is not installed (with the Debian package).
pub(super) fn programs(
    system: &str,
    place: &Place<'_>,
    error_log: &Path,
    settings: &Settings,
) -> Result<Programs> {
    let options = options(place, error_log);
    if let Some(apache) = Apache::named(system) {
        return apache.programs(place, &options, settings);
    }
    let server = program(system, place, options, settings)?;
    Ok(Programs { server, opener: None })
}

fn options<'a>(place: &Place<'a>, error_log: &'a Path) -> Options<'a> {
    Options {
        listen: place.address,
        tls: None,
        backlog: BACKLOG,
        content: Content::Files(place.root),
        directory: place.directory,
        error_log: Some(error_log),
        critical_only: true,
        user: Some("root"),
        connections: ROOM,
        open_files: Some(place.open_files),
        idle_timeout: Some(IDLE),
        requests_per_connection: None,
    }
}

fn program(
    system: &str,
    place: &Place<'_>,
    options: Options<'_>,
    settings: &Settings,
) -> Result<Program> {
    if let Some(("weir", options)) = system.split_once(':') {
        return weir_program(options, place, settings);
    }
    let nginx = |reading| {
        let own = Nginx {
            reading,
            file_cache: Some(FileCache::within(place.open_files, ROOM)),
            multi_accept: true,
            ..Nginx::default()
        };
        let connections = nginx::worker_connections(ROOM);
        nginx::program(&Options { connections, ..options }, &own)
    };
    match system {
        "nginx" => nginx(Reading::Sendfile),
        "nginx-aio" => nginx(Reading::Threads),
        "lighttpd" => lighttpd::program(&options),
        "h2o" => h2o::program(&options),
        _ => {
            let known = SYSTEMS.join(", ");
            Err(Error(format!("no system {system} with files on a slow disk: use {known}")))
        }
    }
}

/// `options` are `files`, or a policy of the uplink, and then flags of `weir serve`.
fn weir_program(options: &str, place: &Place<'_>, settings: &Settings) -> Result<Program> {
    let (policy, flags) = weir::words(options);
    let mut defaults = vec![
        ("--listen", place.address.to_string()),
        ("--admin", place.admin.to_string()),
        ("--access-log", "off".into()),
        ("--log", "warn".into()),
        ("--workers", "1".into()),
        ("--idle-timeout", format!("{IDLE}s")),
    ];
    if let Some(policy) = policy.filter(|policy| *policy != "files") {
        defaults.push(("--policy", policy.into()));
    }
    Ok(weir::program(&settings.weir, &defaults, &flags)?.arg(place.root))
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddrV4};

    use super::*;

    fn place(root: &Path) -> Place<'_> {
        let address = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 8080);
        let admin = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 9900);
        let directory = Path::new("/nowhere");
        Place { address, admin, root, directory, memory: 1 << 30, open_files: 20_000 }
    }

    fn settings() -> Settings {
        Settings {
            out: "/tmp".into(),
            data: None,
            weir: "/bin/sh".into(),
            weir_lab: "/nowhere/weir-lab".into(),
            side_by_side: 1,
            keep_records: false,
        }
    }

    #[test]
    fn weir_without_an_uplink_has_no_policy_and_its_flags_are_the_users() {
        let place = place(Path::new("/srv/x"));
        let words = |system: &str| {
            let programs = programs(system, &place, Path::new("/x"), &settings());
            programs.expect("it is known").server.words()
        };
        let plain = words("weir:files --disk-work blocks");
        assert!(!plain.contains(&"--policy".to_owned()), "{plain:?}");
        assert!(plain.join(" ").ends_with("--disk-work blocks /srv/x"), "{plain:?}");
        let paced = words("weir:fair --uplink 200mbit").join(" ");
        assert!(paced.contains("--policy fair --uplink 200mbit"), "{paced}");
    }

    #[test]
    fn strangers_are_refused() {
        let place = place(Path::new("/srv/x"));
        let error = programs("iis", &place, Path::new("/x"), &settings()).err().expect("unknown");
        assert!(error.to_string().contains("nginx-aio"), "{error}");
    }
}
