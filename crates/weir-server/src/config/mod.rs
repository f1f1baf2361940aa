//! What the operator asked for: flags over the file over the defaults. It opens no sockets.

mod address;
mod balancers;
mod file;
mod keys;
mod routes;
mod settings;
mod values;

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use weir_sched::{BitRate, Framing, PolicyKind};

pub use address::ListenAddress;
pub use balancers::ProxyProtocol;
pub use file::{parse, read};
pub(crate) use routes::ipv6_literal;
pub use routes::{
    Action, BackendAddress, DeadRequests, FieldEdits, FileRoute, Forwarded, HalfClose, HealthCheck,
    HostHeader, How, Overflow, ProxyConfig, ProxyFlag, RouteConfig, When,
};
pub use settings::Settings;
pub use values::{AccessLog, LogLevel, Overhead, Pace, Prefix, Size, Span, Uplink, Workers};

/// The uplink and how it is shared.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UplinkConfig {
    /// The rate of the link as it was given.
    pub rate: BitRate,
    /// The share of it that is used.
    pub pace: f64,
    /// Which response goes next.
    pub policy: PolicyKind,
    /// What a packet costs.
    pub framing: Framing,
    /// Bytes that may be sent and not acknowledged, over all connections, instead of a pace.
    pub in_kernel: Option<u64>,
}

/// Everything the server needs to know, with the defaults filled in.
#[derive(Clone, Debug)]
pub struct Config {
    /// Directory to serve; `None`: the built-in site.
    pub root: Option<PathBuf>,
    /// Where to listen.
    pub listen: Vec<SocketAddr>,
    /// Another server may listen there, too.
    pub reuse_port: bool,
    /// Worker threads, at least 1.
    pub workers: usize,
    /// `None`: nothing is paced.
    pub uplink: Option<UplinkConfig>,
    /// Clients that do not use the uplink.
    pub uplink_exempt: Vec<Prefix>,
    /// Bytes of small files that are kept in memory.
    pub cache: u64,
    /// While a request waits for the disk.
    pub disk_timeout: Duration,
    /// Which requests are answered how, flags first, then in the order of the file. Empty: all of
    /// them from the root, or from the built-in site. Otherwise what no route matches is answered
    /// with 404; if there is a root, the last route is the root for everything, unless a route for
    /// `/` on every host was given.
    pub routes: Vec<RouteConfig>,
    /// Bytes of memory for bodies on their way between clients and backends, all together. Default
    /// 64 MB.
    pub proxy_memory: u64,
    /// Bytes of temporary files for what memory has no room for, all together; 0: none. Default 1 GB.
    pub proxy_disk: u64,
    /// Where these files are. Default `None`: in `$TMPDIR`, or `/var/tmp`.
    pub proxy_temp_dir: Option<PathBuf>,
    /// Whether every connection begins with a PROXY header, and who may open one.
    pub proxy_protocol: ProxyProtocol,
    /// Where requests are logged.
    pub access_log: AccessLog,
    /// What the server says of itself.
    pub log: LogLevel,
    /// Where metrics are served.
    pub admin: Option<SocketAddr>,
    /// From the first byte of a request head to its last.
    pub header_timeout: Duration,
    /// Between requests.
    pub idle_timeout: Duration,
    /// While the client takes no data.
    pub send_timeout: Duration,
    /// Bytes a second that a client must take, or send in a body; 0: any. Default 100.
    pub min_rate: u64,
    /// The time over which that is averaged, in which only the client is waited for. Default 30 s.
    pub min_rate_period: Duration,
    /// From the signal to stop, when `/readyz` says 503, until nobody new is served.
    pub stop_delay: Option<Duration>,
    /// From then until responses under way are cut.
    pub stop_timeout: Duration,
    /// Settings that were given for nothing, and why.
    without_effect: Vec<String>,
}

impl Config {
    /// Fills in the defaults.
    ///
    /// # Errors
    ///
    /// What makes no sense together, such as two routes for the same path.
    pub fn from_settings(settings: Settings) -> Result<Config, ConfigError> {
        let routes = routes::assemble(&settings)?;
        let Uplink(rate) = settings.uplink.unwrap_or_default();
        let uplink = rate.map(|rate| UplinkConfig {
            rate,
            pace: settings.uplink_pace.unwrap_or_default().0,
            policy: settings.policy.unwrap_or_default(),
            framing: settings.uplink_overhead.unwrap_or_default().0,
            in_kernel: settings.uplink_in_kernel.map(|size| size.0),
        });
        let default_workers = if uplink.is_some() { 1 } else { cores() };
        let without_effect = without_effect(&settings, &routes);
        let default = || vec![ListenAddress(SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)))];
        let listen = settings.listen.unwrap_or_else(default);
        let listen: Vec<SocketAddr> = listen.into_iter().map(|address| address.0).collect();
        if listen.is_empty() {
            return Err(ConfigError::new("`listen` names no address; give at least one"));
        }
        let span = |span: Option<Span>, seconds| span.map_or(Duration::from_secs(seconds), |s| s.0);
        Ok(Config {
            root: settings.root,
            listen,
            reuse_port: settings.reuse_port.unwrap_or(false),
            workers: settings.workers.map_or(default_workers, |Workers(n)| n),
            uplink,
            uplink_exempt: settings.uplink_exempt.unwrap_or_default(),
            cache: settings.cache.map_or(64_000_000, |Size(bytes)| bytes),
            disk_timeout: span(settings.disk_timeout, 10),
            routes,
            proxy_memory: settings.proxy_memory.map_or(64_000_000, |Size(bytes)| bytes),
            proxy_disk: settings.proxy_disk.map_or(1_000_000_000, |Size(bytes)| bytes),
            proxy_temp_dir: settings.proxy_temp_dir,
            proxy_protocol: settings.proxy_protocol.unwrap_or_default(),
            access_log: settings.access_log.unwrap_or_default(),
            log: settings.log.unwrap_or_default(),
            admin: settings.admin.map(|address| address.0),
            header_timeout: span(settings.header_timeout, 30),
            idle_timeout: span(settings.idle_timeout, 75),
            send_timeout: span(settings.send_timeout, 60),
            stop_delay: settings.stop_delay.map(|span| span.0),
            min_rate: settings.min_rate.map_or(100, |Size(bytes)| bytes),
            min_rate_period: span(settings.min_rate_period, 30),
            stop_timeout: span(settings.stop_timeout, 30),
            without_effect,
        })
    }

    /// What is allowed and yet probably not meant.
    pub fn warnings(&self) -> Vec<String> {
        let mut warnings = self.without_effect.clone();
        if !self.routes.is_empty() && !self.routes.iter().any(routes::is_of_everything) {
            warnings.push(
                "requests that no route matches are answered with 404, as there is neither a root \
                 nor a route for \"/\" on every host"
                    .to_owned(),
            );
        }
        warnings
    }
}

/// Settings that were given and change nothing, with what they would need.
fn without_effect(settings: &Settings, routes: &[RouteConfig]) -> Vec<String> {
    let mut warnings = Vec::new();
    let mut given = |name: &str, is_given: bool, why: &str| {
        if is_given {
            warnings.push(format!("`{name}` has no effect: {why}"));
        }
    };
    // Who turned the uplink off knows.
    if settings.uplink.is_none() {
        let why = "there is no `uplink`, so everything is sent as fast as the kernel takes it";
        given("policy", settings.policy.is_some(), why);
        given("uplink_pace", settings.uplink_pace.is_some(), why);
        given("uplink_overhead", settings.uplink_overhead.is_some(), why);
        given("uplink_in_kernel", settings.uplink_in_kernel.is_some(), why);
        given("uplink_exempt", settings.uplink_exempt.is_some(), why);
    }
    if !routes.iter().any(|route| matches!(route.action, Action::Proxy(_))) {
        let why = "no route has backends";
        given("backend_limit", settings.backend_limit.is_some(), why);
        given("backend_order", settings.backend_order.is_some(), why);
        given("proxy_memory", settings.proxy_memory.is_some(), why);
    }
    warnings
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// What is wrong with the configuration, where, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError(String);

impl ConfigError {
    pub(crate) fn new(message: impl Into<String>) -> ConfigError {
        ConfigError(message.into())
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConfigError {}
