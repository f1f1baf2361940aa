//! Flags of `weir serve` and keys of `weir.toml` as one struct. It fills in no defaults.
//!
//! Every flag has a key of the same name; only routes with many settings are tables of the file.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use weir_sched::{BackendOrder, CallLimit, PolicyKind};

use super::address::ListenAddress;
use super::balancers::ProxyProtocol;
use super::routes::{FileRoute, ProxyFlag};
use super::values::{
    self, AccessLog, LogLevel, Overhead, Pace, Prefix, Size, Span, Uplink, Workers,
};

/// Flags of `weir serve` and keys of `weir.toml`; what is absent falls back to the default.
#[derive(Clone, Debug, Default, clap::Args, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Directory to serve [default: a small built-in site]
    #[arg(value_name = "DIR")]
    pub root: Option<PathBuf>,

    /// Address to listen on; may be given several times [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS")]
    #[serde(default, deserialize_with = "values::list_from_text")]
    pub listen: Option<Vec<ListenAddress>>,

    /// Listen, also for --admin, where another server of the same user does, such as a predecessor that
    /// is told to stop then; both must be started with this [default: off]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub reuse_port: Option<bool>,

    /// Worker threads [default: 1 with an uplink, else one per core]
    #[arg(long, value_name = "N")]
    #[serde(default, deserialize_with = "values::from_text")]
    pub workers: Option<Workers>,

    /// Rate of the uplink, such as 300mbit; `off`: send as fast as the kernel takes it [default: off]
    #[arg(long, value_name = "RATE")]
    #[serde(default, deserialize_with = "values::from_text")]
    pub uplink: Option<Uplink>,

    /// Which response goes next.
    #[arg(long, value_name = "NAME", help = policy_help())]
    #[serde(default, deserialize_with = "values::from_text")]
    pub policy: Option<PolicyKind>,

    /// Share of the uplink's rate to send at, 0.5 to 1 [default: 0.99]
    #[arg(long, value_name = "SHARE")]
    #[serde(default, deserialize_with = "values::from_text")]
    pub uplink_pace: Option<Pace>,

    /// What a packet costs beside its payload: ethernet, pppoe or a number of bytes [default: ethernet]
    #[arg(long, value_name = "KIND")]
    #[serde(default, deserialize_with = "values::from_text")]
    pub uplink_overhead: Option<Overhead>,

    /// Instead of pacing, keep at most so many bytes in the kernel, over all connections; for study [default: off]
    #[arg(long, value_name = "SIZE")]
    #[serde(default, deserialize_with = "values::from_text")]
    pub uplink_in_kernel: Option<Size>,

    /// Client address or network that does not use the uplink, such as 192.168.0.0/16; may be given several times
    #[arg(long, value_name = "NETWORK")]
    #[serde(default, deserialize_with = "values::list_from_text")]
    pub uplink_exempt: Option<Vec<Prefix>>,

    /// Memory for small files that are asked for often [default: 64MB]
    #[arg(long, value_name = "SIZE")]
    #[serde(default, deserialize_with = "values::from_text")]
    pub cache: Option<Size>,

    /// Longest time a request may wait for the disk; then it is answered with 503 [default: 10s]
    #[arg(long, value_name = "TIME")]
    #[serde(default, deserialize_with = "values::from_text")]
    pub disk_timeout: Option<Span>,

    /// Where to log requests: off, stderr, stdout or a file [default: stderr]
    #[arg(long, value_name = "TARGET")]
    #[serde(default, deserialize_with = "values::from_text")]
    pub access_log: Option<AccessLog>,

    /// Answer requests for PATH and what is below by backends, such as /=http://127.0.0.1:9000 or
    /// /app=unix:/run/app.sock; may be given several times
    #[arg(long, value_name = "PATH=URL[,URL]")]
    #[serde(default, deserialize_with = "values::list_from_text")]
    pub proxy: Option<Vec<ProxyFlag>>,

    /// Most calls to a backend at once, a number or `auto`: learned from how long they take [default: auto]
    #[arg(long, value_name = "N")]
    #[serde(default, deserialize_with = "values::from_text")]
    pub backend_limit: Option<CallLimit>,

    /// Which waiting call goes to a backend next: adaptive, newest-first, fifo, shortest-expected, edf [default: adaptive]
    #[arg(long, value_name = "NAME")]
    #[serde(default, deserialize_with = "values::from_text")]
    pub backend_order: Option<BackendOrder>,

    /// Memory for bodies on their way between clients and backends, all together [default: 64MB]
    #[arg(long, value_name = "SIZE")]
    #[serde(default, deserialize_with = "values::from_text")]
    pub proxy_memory: Option<Size>,

    /// Temporary files for bodies that memory has no room for, all together; 0: none [default: 1GB]
    #[arg(long, value_name = "SIZE")]
    #[serde(default, deserialize_with = "values::from_text")]
    pub proxy_disk: Option<Size>,

    /// Directory of these files, which have no names [default: $TMPDIR, or /var/tmp]
    #[arg(long, value_name = "DIR")]
    pub proxy_temp_dir: Option<PathBuf>,

    /// Every connection begins with a PROXY header (version 1 or 2) that tells who the client is, and
    /// is opened from one of these networks, if any are named; others are refused [default: false]
    #[arg(long, value_name = "NETWORK,...", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub proxy_protocol: Option<ProxyProtocol>,

    /// What the server says of itself: error, warn, info, debug or trace [default: info]
    #[arg(long, value_name = "LEVEL")]
    #[serde(default, deserialize_with = "values::from_text")]
    pub log: Option<LogLevel>,

    /// Address for /metrics, /healthz, /readyz and a page that shows the effect [default: none]
    #[arg(long, value_name = "ADDRESS")]
    #[serde(default, deserialize_with = "values::from_text")]
    pub admin: Option<ListenAddress>,

    /// Longest time from the first byte of a request head to its last [default: 30s]
    #[arg(long, value_name = "TIME")]
    #[serde(default, deserialize_with = "values::from_text")]
    pub header_timeout: Option<Span>,

    /// Longest time a connection may wait for its next request [default: 75s]
    #[arg(long, value_name = "TIME")]
    #[serde(default, deserialize_with = "values::from_text")]
    pub idle_timeout: Option<Span>,

    /// Longest time a client may take no data while a response is ready for it [default: 60s]
    #[arg(long, value_name = "TIME")]
    #[serde(default, deserialize_with = "values::from_text")]
    pub send_timeout: Option<Span>,

    /// Bytes a second that a client must take of a response, or send of a body; 0: any [default: 100]
    #[arg(long, value_name = "SIZE")]
    #[serde(default, deserialize_with = "values::from_text")]
    pub min_rate: Option<Size>,

    /// The time over which that is averaged, while only the client is waited for [default: 30s]
    #[arg(long, value_name = "TIME")]
    #[serde(default, deserialize_with = "values::from_text")]
    pub min_rate_period: Option<Span>,

    /// Time between a signal to stop, when /readyz says 503, and the end of listening [default: none]
    #[arg(long, value_name = "TIME")]
    #[serde(default, deserialize_with = "values::from_text")]
    pub stop_delay: Option<Span>,

    /// Longest time responses under way may take after the end of listening [default: 30s]
    #[arg(long, value_name = "TIME")]
    #[serde(default, deserialize_with = "values::from_text")]
    pub stop_timeout: Option<Span>,

    /// The `[[route]]` tables of the file; no flag has their key.
    #[arg(skip)]
    #[serde(skip)]
    pub routes: Vec<FileRoute>,
}

/// The policies, a line each, from their own descriptions.
fn policy_help() -> String {
    let mut help = String::from("Which response goes next [default: protective]:");
    for &policy in PolicyKind::ALL {
        help += &format!("\n- {policy}: {}", policy.help());
    }
    help
}

impl Settings {
    /// These settings where they say something, else those of `below`.
    ///
    /// A `proxy` replaces the routes of the tables below that have its path and no host.
    pub fn over(self, below: Settings) -> Settings {
        let mut routes = self.routes;
        let replaced = |route: &FileRoute| {
            let mut proxies = self.proxy.iter().flatten();
            proxies.any(|proxy| route.is_for(None, &proxy.path))
        };
        routes.extend(below.routes.into_iter().filter(|route| !replaced(route)));
        Settings {
            root: self.root.or(below.root),
            listen: self.listen.or(below.listen),
            reuse_port: self.reuse_port.or(below.reuse_port),
            workers: self.workers.or(below.workers),
            uplink: self.uplink.or(below.uplink),
            policy: self.policy.or(below.policy),
            uplink_pace: self.uplink_pace.or(below.uplink_pace),
            uplink_overhead: self.uplink_overhead.or(below.uplink_overhead),
            uplink_in_kernel: self.uplink_in_kernel.or(below.uplink_in_kernel),
            uplink_exempt: self.uplink_exempt.or(below.uplink_exempt),
            cache: self.cache.or(below.cache),
            disk_timeout: self.disk_timeout.or(below.disk_timeout),
            access_log: self.access_log.or(below.access_log),
            proxy: self.proxy.or(below.proxy),
            backend_limit: self.backend_limit.or(below.backend_limit),
            backend_order: self.backend_order.or(below.backend_order),
            proxy_memory: self.proxy_memory.or(below.proxy_memory),
            proxy_disk: self.proxy_disk.or(below.proxy_disk),
            proxy_temp_dir: self.proxy_temp_dir.or(below.proxy_temp_dir),
            proxy_protocol: self.proxy_protocol.or(below.proxy_protocol),
            log: self.log.or(below.log),
            admin: self.admin.or(below.admin),
            header_timeout: self.header_timeout.or(below.header_timeout),
            idle_timeout: self.idle_timeout.or(below.idle_timeout),
            send_timeout: self.send_timeout.or(below.send_timeout),
            stop_delay: self.stop_delay.or(below.stop_delay),
            min_rate: self.min_rate.or(below.min_rate),
            min_rate_period: self.min_rate_period.or(below.min_rate_period),
            stop_timeout: self.stop_timeout.or(below.stop_timeout),
            routes,
        }
    }

    /// Takes the sockets of backends to be named relative to `directory`.
    pub(super) fn move_sockets_beside(&mut self, directory: &Path) {
        let of_flags = self.proxy.iter_mut().flatten().map(|proxy| &mut proxy.backends);
        let of_tables = self.routes.iter_mut().filter_map(FileRoute::backends_mut);
        for backend in of_flags.chain(of_tables).flatten() {
            backend.move_beside(directory);
        }
    }
}
