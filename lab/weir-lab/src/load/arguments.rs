//! The flags of `weir-lab load` and its help. [`demand`](super::demand) makes the demand of them,
//! the command the rest of the plan.

use std::path::PathBuf;

use weir_units::{BitRate, Count, Positive, RequestRate, Share};

use super::secure::SecureArguments;
use super::values::{Arrivals, Class, Header, SlowReaders};
use crate::values::{LoadIs, link_rate, wait_seconds};

/// A number of users, connections or requests.
pub(crate) type AtLeastOne = Count<1, { u32::MAX }>;

/// Which server, what is requested, when, and how users behave.
#[derive(Debug, clap::Args)]
#[command(after_help = HELP_EXIT, after_long_help = HELP_LONG)]
pub(crate) struct Arguments {
    /// URL to request, such as http://127.0.0.1:8080/index.html, or an https one; with --law or --trace, the URL
    /// below which the workload's paths are
    #[arg(value_name = "URL")]
    pub(crate) url: String,

    /// Open loop: requests a second, whether earlier ones were answered or not, such as 500/s or 30000/m
    /// [default: 50/s]
    #[arg(long, value_name = "RATE", help_heading = "When", group = "when")]
    pub(crate) rate: Option<RequestRate>,

    /// Open loop: offered load as a share of --uplink, such as 1.2; needs --law, or --trace whose
    /// interarrivals are then scaled
    #[arg(long, value_name = "LOAD", help_heading = "When", requires = "uplink",
        conflicts_with_all = ["rate", "closed", "saturate"])]
    pub(crate) load: Option<Positive>,

    /// Open loop: load that changes: W1 to W9 of Schroeder, or periods such as 25s@1.2,25s@0.2,
    /// again and again; with --load, scaled to that mean
    #[arg(long, value_name = "SHAPE", help_heading = "When", requires = "uplink",
        conflicts_with_all = ["rate", "closed", "saturate"])]
    pub(crate) shape: Option<String>,

    /// Closed loop: number of users, who request, wait, think and request again; with --law surge they
    /// are SURGE's user equivalents
    #[arg(long, value_name = "USERS", help_heading = "When", group = "when")]
    pub(crate) closed: Option<AtLeastOne>,

    /// Mean think time of a --closed user, exponentially distributed [default: 1s]
    #[arg(long, value_name = "TIME", help_heading = "When", requires = "closed")]
    #[arg(value_parser = wait_seconds)]
    pub(crate) think: Option<f64>,

    /// Infinite demand: number of requests under way at all times
    #[arg(long, value_name = "N", help_heading = "When", group = "when")]
    pub(crate) saturate: Option<AtLeastOne>,

    /// How --rate spaces requests: poisson or even
    #[arg(long, value_name = "LAW", help_heading = "When", default_value = "poisson")]
    pub(crate) arrivals: Arrivals,

    /// How long requests are sent [default: 30s; once through a shape or a trace]
    #[arg(long, value_name = "TIME", help_heading = "When")]
    #[arg(value_parser = wait_seconds)]
    pub(crate) duration: Option<f64>,

    /// How long to wait for what is still open at the end; the rest counts as unfinished
    #[arg(long, value_name = "TIME", help_heading = "When", default_value = "10s")]
    #[arg(value_parser = wait_seconds)]
    pub(crate) drain: f64,

    /// Law of sizes: a response of N bytes is requested as /N.bin below the URL
    /// (`weir-lab trace files` makes such a directory)
    #[arg(long, value_name = "NAME", help_heading = "What", conflicts_with = "trace")]
    pub(crate) law: Option<String>,

    /// Replay a trace with its paths and its own interarrivals
    #[arg(long, value_name = "FILE", help_heading = "What",
        conflicts_with_all = ["rate", "closed", "saturate"])]
    pub(crate) trace: Option<PathBuf>,

    /// Replay the trace faster by this factor
    #[arg(long, value_name = "FACTOR", help_heading = "What", requires = "trace",
        conflicts_with_all = ["load", "shape"])]
    pub(crate) speed: Option<Positive>,

    /// Skip lines of the trace that cannot be read, and count them
    #[arg(long, help_heading = "What", requires = "trace")]
    pub(crate) skip_bad: bool,

    /// Sort requests that are late in the trace by at most this time: servers log a request when it
    /// ends
    #[arg(long, value_name = "TIME", help_heading = "What", requires = "trace")]
    #[arg(value_parser = wait_seconds)]
    pub(crate) reorder: Option<f64>,

    /// Seed of everything random
    #[arg(long, value_name = "N", help_heading = "What", default_value_t = 1)]
    pub(crate) seed: u64,

    /// Header field of every request; may be given several times
    #[arg(long, value_name = "NAME: VALUE", help_heading = "What")]
    pub(crate) header: Vec<Header>,

    /// The Host header, if not the URL's
    #[arg(long, value_name = "NAME", help_heading = "What")]
    pub(crate) host: Option<String>,

    /// Rate of the server's link: what --load is a share of, and what slowdown is measured by
    #[arg(long, value_name = "RATE", help_heading = "Link")]
    #[arg(value_parser = link_rate)]
    pub(crate) uplink: Option<BitRate>,

    /// What counts as load: wire (heads, packets, connections and TLS too) or file (bodies only, as in
    /// Schroeder's tables)
    #[arg(long, value_name = "BYTES", help_heading = "Link", default_value = "wire")]
    pub(crate) load_is: LoadIs,

    /// Bytes of a response's head, for the load and for slowdown
    #[arg(long, value_name = "BYTES", help_heading = "Link", default_value_t = 200)]
    pub(crate) head_bytes: u64,

    #[command(flatten)]
    pub(crate) secure: SecureArguments,

    /// Requests that share a connection; 1 closes it after each
    #[arg(long, value_name = "N", help_heading = "Users", default_value = "1")]
    pub(crate) requests_per_connection: AtLeastOne,

    /// How long a user waits before giving up an attempt [default: for ever]
    #[arg(long, value_name = "TIME", help_heading = "Users")]
    #[arg(value_parser = wait_seconds)]
    pub(crate) abort_after: Option<f64>,

    /// How often a user who gave up, was refused or reset tries again, at once
    #[arg(long, value_name = "N", help_heading = "Users", default_value_t = 0)]
    pub(crate) retries: u32,

    /// A class of clients, such as near=10.0.0.2,weight=3: name, source addresses (each has about
    /// 28,000 ports) and its share of the clients; may be given several times
    #[arg(long, value_name = "CLASS", help_heading = "Users")]
    pub(crate) class: Vec<Class>,

    /// Share of the clients that read slowly, such as 5% (20 kbit/s) or 5%@64kbit
    #[arg(long, value_name = "SHARE", help_heading = "Users")]
    pub(crate) slow_readers: Option<SlowReaders>,

    /// Write every request: CSV compressed with zstd, as `out.csv.zst`
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) records: Option<PathBuf>,

    /// Write the figures as JSON; `-` is standard output, in place of the summary
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) json: Option<PathBuf>,

    /// Write a page with plots that needs nothing else
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) html: Option<PathBuf>,

    /// A line of progress a second instead of the live view, also on a terminal
    #[arg(long, help_heading = "Output")]
    pub(crate) plain: bool,

    /// Print neither plan nor progress
    #[arg(long, help_heading = "Output")]
    pub(crate) quiet: bool,

    /// Share of the requests that may fail before the exit status says so, such as 1%
    #[arg(long, value_name = "SHARE", help_heading = "Output", default_value = "0%")]
    pub(crate) allow_failed: Share,

    /// Exit status 0 although figures are not valid; they stay marked
    #[arg(long, help_heading = "Output")]
    pub(crate) allow_invalid: bool,

    /// Do not spin between requests that are close together: less exact, for a machine with one core
    #[arg(long, help_heading = "Output")]
    pub(crate) no_spin: bool,
}

const HELP_EXIT: &str = "\
Exit status: 0 all complete and valid; 1 could not run; 2 invalid usage;
3 requests failed; 4 figures are not valid. --help says more.";

const HELP_LONG: &str = "\
Response times count from the moment a request should have started, so a request that the server
or the network held up is not left out. Only complete responses of status 200 and the right
length have one; the others are counted by what became of them: status, wrong (not HTTP, another
length), short (closed early), reset, refused, abandoned (the user gave up), unfinished (at the
end of --drain), unsent (no descriptor or port of our own). A run of which everything is refused
for a second ends, unless --allow-failed is 100%: nothing listens there.

Over TLS, AES-128-GCM and x25519 are offered and nothing else, so that all servers do the same work.
Connecting takes until TCP's handshake is complete; that of TLS is counted apart: from there until
the server's last message of it has come. A request whose handshake fails is refused.

Figures are not valid, and marked so, where
  - more than 1 % of a response time, and more than 10 µs, may be that the generator started late
    or read late what had come, also of a class of sizes or clients;
  - no response was complete, or a request was unsent: then none is valid;
  - the hypervisor took more than 1 % of the machine's processor time: then none is valid.

Exit status:
  0  all requests complete (but for --allow-failed), all figures valid (or --allow-invalid)
  1  could not run, or could not write a file
  2  invalid usage: flags, URL, a trace with errors
  3  more requests failed than --allow-failed
  4  figures are not valid

Examples:
  weir-lab load http://127.0.0.1:8080/files/1kb.bin --rate 2000/s --duration 10s
  weir-lab load http://10.0.0.1/ --law worldcup --uplink 10mbit --shape W1 --html w1.html
  weir-lab load http://10.0.0.1/ --trace access.log --uplink 10mbit --load 1.1
  weir-lab load http://10.0.0.1/ --law surge --closed 200 --requests-per-connection 8
  weir-lab load https://example.org/ --rate 50/s --resume
  weir-lab load https://127.0.0.1:8443/x --ca root.pem --closed 20 --requests-per-connection 8
  weir-lab load http://10.0.0.1/x --saturate 100 --abort-after 7s --retries 3 --json -";
