//! The command lines of the commands, and how numbers of bytes are written in them.

use std::path::PathBuf;

use clap::Args;
use weir_units::{Invalid, Size};

use crate::network::Link;
use crate::system::System;

/// Options of `weir-costs set`.
#[derive(Args, Debug)]
pub(crate) struct SetOptions {
    /// Directory to fill
    #[arg(long, value_name = "DIR")]
    pub(crate) at: PathBuf,
    /// Bytes of all files, to the nearest 5 MB below
    #[arg(long, default_value = "3G", value_parser = bytes)]
    pub(crate) size: u64,
}

/// What every measurement takes.
#[derive(Args, Debug, Clone)]
pub(crate) struct Common {
    /// The weir to measure [default: beside this program]
    #[arg(long, value_name = "FILE")]
    pub(crate) weir: Option<PathBuf>,
    /// More options for weir, in one word: --weir-options='--log info'
    #[arg(long, value_name = "OPTIONS", default_value = "", allow_hyphen_values = true)]
    pub(crate) weir_options: String,
    /// Run the servers as this user, who does not own the files [default: root]
    #[arg(long, value_name = "USER")]
    pub(crate) as_user: Option<String>,
    /// Where files, configurations and results go
    #[arg(long, value_name = "DIR", default_value = "/var/tmp/weir-costs", value_parser = absolute)]
    pub(crate) out: PathBuf,
    /// Seed of the requests
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}

/// Options of `weir-costs cpu`.
#[derive(Args, Debug)]
pub(crate) struct CpuOptions {
    #[command(flatten)]
    pub(crate) common: Common,
    /// Rounds; a median needs several
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) rounds: u64,
    /// Seconds of load in each round
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) seconds: u64,
    /// Bytes per file; `mix`: the law of `weir-costs set`; `close`: 1 KB, a connection each
    #[arg(long, value_delimiter = ',', default_value = "1k,10k,100k,1m,10m,mix,close")]
    pub(crate) sizes: Vec<String>,
    /// Bytes of the set of `mix`; it should fit memory
    #[arg(long, default_value = "200M", value_parser = bytes)]
    pub(crate) mix_size: u64,
    /// Connections, each with one request at a time
    #[arg(long, default_value_t = 64)]
    pub(crate) connections: usize,
    /// Which client; auto: wrk below 1 MB, the own one where wrk is imprecise
    #[arg(long, value_enum, default_value_t = ClientKind::Auto)]
    pub(crate) client: ClientKind,
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "weir,nginx-sendfile,nginx-copy,lighttpd,h2o"
    )]
    pub(crate) systems: Vec<System>,
    /// Congestion control of both sides, in a network namespace of its own: reno, cubic, bbr [default:
    /// the machine's, in its own network]
    #[arg(long, value_name = "NAME")]
    pub(crate) congestion: Option<String>,
    /// What connects clients and servers
    #[arg(long, value_enum, default_value_t = Link::Lo)]
    pub(crate) link: Link,
    /// Measure passing requests on: to an nginx with the files, on the clients' core (weir, nginx)
    #[arg(long)]
    pub(crate) proxied: bool,
    /// Also count system calls per request (perf), in runs of their own
    #[arg(long)]
    pub(crate) syscalls: bool,
}

#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientKind {
    Auto,
    Wrk,
    Own,
}

/// Options of `weir-costs connections`.
#[derive(Args, Debug)]
pub(crate) struct ConnectionsOptions {
    #[command(flatten)]
    pub(crate) common: Common,
    /// How many connections, at most 65536
    #[arg(long, value_delimiter = ',', default_value = "10,100,1000,10000,50000")]
    pub(crate) counts: Vec<usize>,
    /// Seconds of load for each figure
    #[arg(long, default_value_t = 2)]
    pub(crate) seconds: u64,
    /// Rounds; the table shows medians
    #[arg(long, default_value_t = 3)]
    pub(crate) rounds: u64,
    #[arg(long, value_delimiter = ',', default_value = "weir,nginx,lighttpd,h2o")]
    pub(crate) systems: Vec<System>,
}

/// Options of `weir-costs tls`.
#[derive(Args, Debug)]
pub(crate) struct TlsOptions {
    #[command(flatten)]
    pub(crate) common: Common,
    /// What is measured
    #[arg(long, value_enum, value_delimiter = ',', default_value = "sizes,handshakes,hot,idle")]
    pub(crate) parts: Vec<TlsPart>,
    /// Rounds; a median needs several
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) rounds: u64,
    /// Seconds of load in each round of sizes and handshakes
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) seconds: u64,
    /// Bytes per file
    #[arg(long, value_delimiter = ',', default_value = "1k,10k,100k,1m,10m")]
    pub(crate) sizes: Vec<String>,
    /// Connections, each with one request at a time
    #[arg(long, default_value_t = 64)]
    pub(crate) connections: usize,
    /// Hot requests a second
    #[arg(long, default_value_t = 2000.0)]
    pub(crate) hot_rate: f64,
    /// Full handshakes a second beside them
    #[arg(long, default_value_t = 200.0)]
    pub(crate) handshake_rate: f64,
    /// Seconds of hot requests in each round, with and without handshakes
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) hot_seconds: u64,
    /// Idle connections, at least 1 and at most 65536
    #[arg(long, default_value_t = 2000)]
    pub(crate) idle: usize,
    /// Rounds of idle connections
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) idle_rounds: u64,
    #[arg(long, value_delimiter = ',', default_value = "weir,nginx,h2o,haproxy,caddy")]
    pub(crate) systems: Vec<System>,
}

/// A part of `weir-costs tls`.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TlsPart {
    /// Processor time per request on kept connections
    Sizes,
    /// Full and resumed handshakes a second
    Handshakes,
    /// Response times of hot requests beside handshakes
    Hot,
    /// Memory of idle connections
    Idle,
}

/// The servers run elsewhere: a relative path would mean another place to them.
fn absolute(path: &str) -> Result<PathBuf, String> {
    std::path::absolute(path).map_err(|error| format!("{path:?} is not a path: {error}"))
}

/// A number of bytes, as `3G` or `60MB`.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    text.parse().map(|Size(bytes)| bytes).map_err(|error: Invalid| error.to_string())
}
