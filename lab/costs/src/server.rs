//! The servers under test: what each is told, on which core it runs and as which user. Every measurement starts its servers here; how one is configured, started and stopped is
//! weir-peers'.

use std::ffi::OsString;
use std::net::SocketAddrV4;
use std::path::{Path, PathBuf};
use std::time::Duration;

use weir_peers::nginx::{self, ALL_REQUESTS, FileCache, KeepAlive, Nginx, Proxy};
use weir_peers::probe::accepts;
use weir_peers::{Certificate, Content, Error, Options, Program, Result, Server as Process};
use weir_peers::{caddy, h2o, haproxy, lighttpd, tool, weir};
use weir_stand::{address, cores, root};

use crate::network::Network;
use crate::options::Common;
use crate::system::System;
use crate::variant::Variant;

/// Connections that wait to be accepted.
const BACKLOG: u32 = 16_384;
/// Seconds for which idle connections are kept.
const IDLE: u32 = 600;
/// Requests under way when a server is stopped are of no interest any more.
const STOP: Duration = Duration::from_secs(1);

/// What a server is to the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// It has the files.
    Files,
    /// The same for proxies, on the clients' core.
    Backend,
    /// It passes all requests on to this backend.
    Proxy(SocketAddrV4),
}

/// What a server is started with.
pub(crate) struct Setup<'a> {
    pub(crate) common: &'a Common,
    pub(crate) role: Role,
    /// What it does beside that.
    pub(crate) variant: &'a Variant,
    pub(crate) network: &'a Network,
    /// The files it serves.
    pub(crate) root: &'a Path,
    /// Connections it must hold, and files it may have open.
    pub(crate) connections: usize,
    pub(crate) files: usize,
    /// TLS with this certificate; clear text without.
    pub(crate) tls: Option<&'a Certificate>,
}

/// A running server; stopped when dropped.
pub(crate) struct Server {
    process: Process,
    pub(crate) system: System,
    pub(crate) address: SocketAddrV4,
}

impl Server {
    /// Start it, and return once it accepts connections. Its configuration and what it says are in
    /// `SYSTEM.run`, of a variant with a name in `SYSTEM-NAME.run`.
    pub(crate) fn start(system: System, setup: &Setup<'_>) -> Result<Server> {
        let home = match (setup.role, &setup.variant.name) {
            (Role::Backend, _) => "backend.run".to_owned(),
            (Role::Files | Role::Proxy(_), None) => format!("{system}.run"),
            (Role::Files | Role::Proxy(_), Some(name)) => format!("{system}-{name}.run"),
        };
        let home = setup.common.out.join(home);
        root::open(&home)?;
        let address = SocketAddrV4::new(setup.network.address(), address::free()?.port());
        let command = program(system, setup, &home, address)?.command(before(system, setup)?);
        let process = Process::spawn(command, home.join("log"), None)?;
        let mut process = process.stops_within(STOP);
        process
            .wait_until_ready(&|| Ok(accepts(address.into())))
            .map_err(|why| Error(format!("{system}: {why}")))?;
        Ok(Server { process, system, address })
    }

    /// All its processes.
    pub(crate) fn processes(&self) -> Vec<u32> {
        self.process.processes()
    }
}

/// What runs the server: network, core, user.
fn before(system: System, setup: &Setup<'_>) -> Result<Vec<OsString>> {
    let mut words: Vec<OsString> =
        setup.network.before().into_iter().flatten().map(OsString::from).collect();
    let core = match setup.role {
        Role::Backend => cores::CLIENT,
        Role::Files | Role::Proxy(_) => cores::SERVER,
    };
    words.extend(cores::on(core));
    let user = setup.common.as_user.as_deref();
    if let Some(user) = user
        && !matches!(system, System::Nginx(_))
    {
        words.extend(["--reuid", user, "--regid", &group_of(user)?].map(OsString::from));
        words.push("--clear-groups".into());
    }
    Ok(words)
}

/// The server itself, as someone who knows it would tune it for static files on one core, or nginx for
/// passing requests on.
fn program(
    system: System,
    setup: &Setup<'_>,
    home: &Path,
    address: SocketAddrV4,
) -> Result<Program> {
    let user = setup.common.as_user.as_deref();
    let options = Options {
        listen: address,
        tls: setup.tls.filter(|_| setup.role != Role::Backend),
        backlog: BACKLOG,
        content: match setup.role {
            Role::Proxy(backend) => Content::Proxy(backend),
            Role::Files | Role::Backend => Content::Files(setup.root),
        },
        directory: home,
        error_log: None,
        critical_only: true,
        user: None,
        connections: setup.connections + 100,
        open_files: Some(setup.files),
        idle_timeout: Some(IDLE),
        requests_per_connection: None,
    };
    match (system, setup.role) {
        (System::Weir, _) => weir_program(setup, address),
        (System::Nginx(reading), _) => {
            // Its workers become the user; the others are started as the user.
            let worker = match user {
                Some(user) => format!("{user} {}", group_of(user)?),
                None => "root".into(),
            };
            let options = Options {
                user: Some(&worker),
                connections: nginx::worker_connections(setup.connections),
                requests_per_connection: Some(ALL_REQUESTS),
                ..options
            };
            let nginx = Nginx {
                reading,
                file_cache: Some(FileCache::within(setup.files, setup.connections)),
                mime_types: true,
                multi_accept: true,
                send_timeout: None,
                proxy: Proxy {
                    keep_alive: Some(KeepAlive::AllRequests),
                    most_requests: None,
                    forwarded_fields: true,
                },
                ..Nginx::default()
            };
            nginx::program(&options, &setup.variant.nginx(nginx))
        }
        (System::Haproxy, Role::Proxy(backend)) => haproxy::program(&options, backend, None),
        (System::Haproxy, _) => {
            Err("haproxy has no files: it is measured passing requests on".into())
        }
        (other, Role::Proxy(_)) => {
            Err(Error(format!("{other} is measured with files only: --systems weir,nginx,haproxy")))
        }
        (System::Lighttpd, _) => {
            let requests_per_connection = Some(lighttpd::MOST_REQUESTS);
            lighttpd::program(&Options { requests_per_connection, ..options })
        }
        // Started as root it would become nobody by itself.
        (System::H2o, _) => {
            let user = if user.is_none() { Some("root") } else { None };
            h2o::program_compressing(&Options { user, ..options }, setup.variant.compression)
        }
        // One processor, as all have, so that its collector of garbage takes no other.
        (System::Caddy, _) => Ok(caddy::program(&options)?.env("GOMAXPROCS", "1")),
    }
}

/// The name of a user's group.
fn group_of(user: &str) -> Result<String> {
    tool::output("id", &["-gn", user]).map(|name| name.trim().to_owned())
}

fn weir_program(setup: &Setup<'_>, address: SocketAddrV4) -> Result<Program> {
    let mut defaults = vec![
        ("--listen", address.to_string()),
        ("--workers", "1".into()),
        ("--log", "warn".into()),
        ("--idle-timeout", format!("{IDLE}s")),
        ("--admin", address::free()?.to_string()),
    ];
    if let Role::Proxy(backend) = setup.role {
        defaults.push(("--proxy", format!("/=http://{backend}")));
    }
    defaults.extend(setup.variant.weir_flags());
    defaults.extend(setup.tls.into_iter().flat_map(weir::tls));
    let flags: Vec<&str> = setup.common.weir_options.split_ascii_whitespace().collect();
    let program = weir::program(&weir_binary(setup.common)?, &defaults, &flags)?
        .args(setup.variant.weir_switches());
    Ok(match setup.role {
        Role::Files | Role::Backend => program.arg(setup.root),
        Role::Proxy(_) => program,
    })
}

fn weir_binary(common: &Common) -> Result<PathBuf> {
    let path = match &common.weir {
        Some(path) => path.clone(),
        None => std::env::current_exe()
            .map_err(|e| Error(format!("cannot tell where this program is: {e}; use --weir")))?
            .with_file_name("weir"),
    };
    // Absolute, since a server may change its directory.
    path.canonicalize().map_err(|e| {
        let path = path.display();
        Error(format!("{path}: {e}; build weir, or say where it is: --weir"))
    })
}
