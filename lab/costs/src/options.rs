//! The command lines of the commands, and how numbers of bytes are written in them.

use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use weir_units::{Invalid, Positive, Size};

use crate::contender::{Coding, Contender};
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

/// Options of `weir-costs compression`.
#[derive(Args, Debug)]
pub(crate) struct CompressionOptions {
    #[command(flatten)]
    pub(crate) common: Common,
    /// What is measured
    #[arg(long, value_enum, value_delimiter = ',', default_value = "results,first")]
    pub(crate) parts: Vec<CompressionPart>,
    /// Rounds; a median needs several
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) rounds: u64,
    /// Seconds of load in each round of results
    #[arg(long, default_value_t = 2.0, value_parser = positive)]
    pub(crate) seconds: f64,
    /// Content codings; those that a system has not are left out
    #[arg(long, value_enum, value_delimiter = ',', default_value = "gzip,br,zstd")]
    pub(crate) codings: Vec<Coding>,
    /// Bytes of a text, 2 KB to 1 MB
    #[arg(long, default_value = "100KB", value_parser = bytes)]
    pub(crate) size: u64,
    /// Connections, each with one request at a time
    #[arg(long, default_value_t = 64)]
    pub(crate) connections: usize,
    /// Different texts that are each asked for the first time
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) files: u32,
    /// First requests a second beside hot requests
    #[arg(long, default_value_t = 100.0, value_parser = positive)]
    pub(crate) file_rate: f64,
    /// Hot requests a second
    #[arg(long, default_value_t = 2000.0, value_parser = positive)]
    pub(crate) hot_rate: f64,
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "weir,weir-siblings,nginx-1,nginx-6,nginx-siblings,h2o,h2o-siblings"
    )]
    pub(crate) systems: Vec<Contender>,
}

/// A part of `weir-costs compression`.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CompressionPart {
    /// Processor time per request of one text, asked for again and again
    Results,
    /// Processor time per text that is asked for first, and response times of hot requests meanwhile
    First,
}

/// Options of `weir-costs logs`.
#[derive(Args, Debug)]
pub(crate) struct LogsOptions {
    #[command(flatten)]
    pub(crate) common: Common,
    /// How requests are logged
    #[arg(long, value_enum, value_delimiter = ',', default_value = "off,combined,json")]
    pub(crate) formats: Vec<Logging>,
    /// Rounds; a median needs several
    #[arg(long, default_value_t = 9, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) rounds: u64,
    /// Seconds of load in each round
    #[arg(long, default_value_t = 2.0, value_parser = positive)]
    pub(crate) seconds: f64,
    /// Connections, each with one request at a time
    #[arg(long, default_value_t = 64)]
    pub(crate) connections: usize,
    #[arg(long, value_delimiter = ',', default_value = "weir,nginx")]
    pub(crate) systems: Vec<System>,
}

/// How requests are logged.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Logging {
    Off,
    /// The Combined format, to a file
    Combined,
    /// Objects of JSON, to a file
    Json,
}

/// Options of `weir-costs slow-clients`.
#[derive(Args, Debug)]
pub(crate) struct SlowClientsOptions {
    #[command(flatten)]
    pub(crate) common: Common,
    /// Who is beside the normal clients
    #[arg(long, value_enum, value_delimiter = ',', default_value = "heads,uploads,readers,all")]
    pub(crate) crowds: Vec<CrowdKind>,
    /// Rounds; a median needs several
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) rounds: u64,
    /// Seconds of normal requests in each round, alone and beside slow clients of either server
    #[arg(long, default_value_t = 10.0, value_parser = positive)]
    pub(crate) seconds: f64,
    /// Clients that send a byte a second of a head
    #[arg(long, default_value_t = 10_000)]
    pub(crate) heads: usize,
    /// Clients that send 200 bytes a second of a body to a backend
    #[arg(long, default_value_t = 4000)]
    pub(crate) uploads: usize,
    /// Clients that read 1 KB a second of a file of 10 MB
    #[arg(long, default_value_t = 8000)]
    pub(crate) readers: usize,
    /// Normal requests a second
    #[arg(long, default_value_t = 2000.0, value_parser = positive)]
    pub(crate) rate: f64,
    #[arg(long, value_delimiter = ',', default_value = "weir,nginx")]
    pub(crate) systems: Vec<System>,
}

/// Who is beside the normal clients.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CrowdKind {
    /// Slow heads
    Heads,
    /// Slow uploads
    Uploads,
    /// Slow readers
    Readers,
    /// All of them at once
    All,
}

/// The servers run elsewhere: a relative path would mean another place to them.
fn absolute(path: &str) -> Result<PathBuf, String> {
    std::path::absolute(path).map_err(|error| format!("{path:?} is not a path: {error}"))
}

/// A number above 0, of seconds or a second.
fn positive(text: &str) -> Result<f64, String> {
    text.parse::<Positive>().map(Positive::get).map_err(|error| error.to_string())
}

/// A number of bytes, as `3G` or `60MB`.
pub(crate) fn bytes(text: &str) -> Result<u64, String> {
    text.parse().map(|Size(bytes)| bytes).map_err(|error: Invalid| error.to_string())
}
