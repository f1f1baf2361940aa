//! What the operator asked for: flags over the file over the defaults. It opens no sockets.
//!
//! Flags and keys of the file are the same struct, so every flag has a key of the same name.

mod file;
mod routes;
mod values;

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use weir_sched::{BitRate, Framing, PolicyKind};

pub use file::{parse, read};
pub use values::{AccessLog, LogLevel, Overhead, Pace, Prefix, Size, Span, Uplink, Workers};

/// Flags of `weir serve` and keys of `weir.toml`; what is absent falls back to the default.
#[derive(Clone, Debug, Default, PartialEq, clap::Args, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Directory to serve [default: a small built-in site]
    #[arg(value_name = "DIR")]
    pub root: Option<PathBuf>,

    /// Address to listen on; may be given several times [default: 127.0.0.1:8080]
    #[arg(long, value_name = "ADDRESS")]
    #[serde(default, deserialize_with = "values::list_from_text")]
    pub listen: Option<Vec<SocketAddr>>,

    /// Worker threads [default: 1 with an uplink, else one per core]
    #[arg(long, value_name = "N")]
    #[serde(default, deserialize_with = "values::from_text")]
    pub workers: Option<Workers>,

    /// Rate of the uplink, such as 300mbit; `off`: send as fast as the kernel takes it [default: off]
    #[arg(long, value_name = "RATE")]
    #[serde(default, deserialize_with = "values::from_text")]
    pub uplink: Option<Uplink>,

    /// Which response goes next: fair, fifo, srpt, psjf, las, fsp, protective, bands, ageing [default: protective]
    #[arg(long, value_name = "NAME")]
    #[serde(default, deserialize_with = "values::from_text")]
    pub policy: Option<PolicyKind>,

    /// Share of the uplink's rate to send at, 0.5 to 1 [default: 0.99]
    #[arg(long, value_name = "SHARE")]
    #[serde(default, alias = "uplink-pace", deserialize_with = "values::from_text")]
    pub uplink_pace: Option<Pace>,

    /// What a packet costs beside its payload: ethernet, pppoe or a number of bytes [default: ethernet]
    #[arg(long, value_name = "KIND")]
    #[serde(default, alias = "uplink-overhead", deserialize_with = "values::from_text")]
    pub uplink_overhead: Option<Overhead>,

    /// Instead of pacing, keep at most so many bytes in the kernel, over all connections; for study [default: off]
    #[arg(long, value_name = "SIZE")]
    #[serde(default, alias = "uplink-in-kernel", deserialize_with = "values::from_text")]
    pub uplink_in_kernel: Option<Size>,

    /// Client address or network that does not use the uplink, such as 192.168.0.0/16; may be given several times
    #[arg(long, value_name = "NETWORK")]
    #[serde(default, alias = "uplink-exempt", deserialize_with = "values::list_from_text")]
    pub uplink_exempt: Option<Vec<Prefix>>,

    /// Memory for small files that are asked for often [default: 64MB]
    #[arg(long, value_name = "SIZE")]
    #[serde(default, deserialize_with = "values::from_text")]
    pub cache: Option<Size>,

    /// Longest time a request may wait for the disk; then it is answered with 503 [default: 10s]
    #[arg(long, value_name = "TIME")]
    #[serde(default, alias = "disk-timeout", deserialize_with = "values::from_text")]
    pub disk_timeout: Option<Span>,

    /// Where to log requests: off, stderr or a file [default: stderr]
    #[arg(long, value_name = "TARGET")]
    #[serde(default, alias = "access-log", deserialize_with = "values::from_text")]
    pub access_log: Option<AccessLog>,

    /// What the server says of itself: error, warn, info, debug or trace [default: info]
    #[arg(long, value_name = "LEVEL")]
    #[serde(default, deserialize_with = "values::from_text")]
    pub log: Option<LogLevel>,

    /// Address for /metrics, /healthz and /readyz [default: none]
    #[arg(long, value_name = "ADDRESS")]
    #[serde(default, deserialize_with = "values::from_text")]
    pub admin: Option<SocketAddr>,

    /// Longest time from the first byte of a request head to its last [default: 30s]
    #[arg(long, value_name = "TIME")]
    #[serde(default, alias = "header-timeout", deserialize_with = "values::from_text")]
    pub header_timeout: Option<Span>,

    /// Longest time a connection may wait for its next request [default: 75s]
    #[arg(long, value_name = "TIME")]
    #[serde(default, alias = "idle-timeout", deserialize_with = "values::from_text")]
    pub idle_timeout: Option<Span>,

    /// Longest time a client may take no data while a response is ready for it [default: 60s]
    #[arg(long, value_name = "TIME")]
    #[serde(default, alias = "send-timeout", deserialize_with = "values::from_text")]
    pub send_timeout: Option<Span>,

    /// Longest time responses under way may take after a signal to stop [default: 30s]
    #[arg(long, value_name = "TIME")]
    #[serde(default, alias = "stop-timeout", deserialize_with = "values::from_text")]
    pub stop_timeout: Option<Span>,
}

impl Settings {
    /// These settings where they say something, else those of `below`.
    pub fn over(self, below: Settings) -> Settings {
        Settings {
            root: self.root.or(below.root),
            listen: self.listen.or(below.listen),
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
            log: self.log.or(below.log),
            admin: self.admin.or(below.admin),
            header_timeout: self.header_timeout.or(below.header_timeout),
            idle_timeout: self.idle_timeout.or(below.idle_timeout),
            send_timeout: self.send_timeout.or(below.send_timeout),
            stop_timeout: self.stop_timeout.or(below.stop_timeout),
        }
    }
}

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
    /// From the signal to stop until responses under way are cut.
    pub stop_timeout: Duration,
}

impl Config {
    /// Fills in the defaults.
    pub fn from_settings(settings: Settings) -> Result<Config, ConfigError> {
        let Uplink(rate) = settings.uplink.unwrap_or_default();
        let uplink = rate.map(|rate| UplinkConfig {
            rate,
            pace: settings.uplink_pace.unwrap_or_default().0,
            policy: settings.policy.unwrap_or_default(),
            framing: settings.uplink_overhead.unwrap_or_default().0,
            in_kernel: settings.uplink_in_kernel.map(|size| size.0),
        });
        let default_workers = if uplink.is_some() { 1 } else { cores() };
        let listen =
            settings.listen.unwrap_or_else(|| vec![SocketAddr::from((Ipv4Addr::LOCALHOST, 8080))]);
        if listen.is_empty() {
            return Err(ConfigError::new("`listen` names no address; give at least one"));
        }
        let span = |span: Option<Span>, seconds| span.map_or(Duration::from_secs(seconds), |s| s.0);
        Ok(Config {
            root: settings.root,
            listen,
            workers: settings.workers.map_or(default_workers, |Workers(n)| n),
            uplink,
            uplink_exempt: settings.uplink_exempt.unwrap_or_default(),
            cache: settings.cache.unwrap_or_default().0,
            disk_timeout: span(settings.disk_timeout, 10),
            access_log: settings.access_log.unwrap_or_default(),
            log: settings.log.unwrap_or_default(),
            admin: settings.admin,
            header_timeout: span(settings.header_timeout, 30),
            idle_timeout: span(settings.idle_timeout, 75),
            send_timeout: span(settings.send_timeout, 60),
            stop_timeout: span(settings.stop_timeout, 30),
        })
    }
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
