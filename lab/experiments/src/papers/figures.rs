//! Every figure and table of the five papers, and which experiment repeats it.

/// A figure or table of a paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Figure {
    /// First author and year.
    pub paper: &'static str,
    /// `Figure 6 (A)`, `Table 1`.
    pub name: &'static str,
    /// What it shows.
    pub shows: &'static str,
    /// Where it is repeated.
    pub state: State,
}

/// Whether something is repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// By these experiments.
    Here(&'static [&'static str]),
    /// A drawing or a definition: there is nothing to measure.
    Nothing,
}

use State::{Here, Nothing};

const SCHROEDER: &str = "Schroeder 2003";
const CROVELLA: &str = "Crovella 1999";
const RUAN: &str = "Ruan 2006";
const RAWAT: &str = "Rawat 2003";
const CARTER: &str = "Carter 1999";

const fn of(paper: &'static str, name: &'static str, shows: &'static str, state: State) -> Figure {
    Figure { paper, name, shows, state }
}

const PROFILE: State = Here(&["ruan-load"]);
const SETS: State = Here(&["ruan-sets"]);
const BURSTS: State = Here(&["ruan-bursts"]);
const GENERATIONS: State = Here(&["ruan-generations"]);
const SWIFT: State = Here(&["rawat", "rawat-wan"]);

/// All of them, paper by paper.
pub const FIGURES: &[Figure] = &[
    of(SCHROEDER, "Figure 1", "server's uplink as bottleneck", Nothing),
    of(SCHROEDER, "Figure 2", "data flow in Linux", Nothing),
    of(SCHROEDER, "Figure 3", "alternating and intermittent overload", Nothing),
    of(SCHROEDER, "Figure 4", "open and closed systems", Nothing),
    of(SCHROEDER, "Table 1", "workloads W1 to W9", Here(&["schroeder-workloads"])),
    of(
        SCHROEDER,
        "Table 2",
        "conditions A to J and their ranges",
        Here(&[
            "schroeder-w1",
            "schroeder-wan",
            "schroeder-wan-range",
            "schroeder-persistent-connections",
            "schroeder-rto",
            "schroeder-syn-cookies",
            "schroeder-aborts",
            "schroeder-packet-length",
            "schroeder-realistic",
        ]),
    ),
    of(SCHROEDER, "Figure 5", "persistent overload", Here(&["schroeder-persistent"])),
    of(SCHROEDER, "Figure 6 (A)", "baseline over time", Here(&["schroeder-w1"])),
    of(SCHROEDER, "Figure 6 (B)", "round-trip times", Here(&["schroeder-wan-range"])),
    of(SCHROEDER, "Figure 6 (C)", "losses", Here(&["schroeder-wan-range"])),
    of(SCHROEDER, "Figure 6 (D)", "round-trip times and losses", Here(&["schroeder-wan"])),
    of(
        SCHROEDER,
        "Figure 6 (E)",
        "persistent connections",
        Here(&["schroeder-persistent-connections"]),
    ),
    of(SCHROEDER, "Figure 6 (F)", "initial RTO", Here(&["schroeder-rto"])),
    of(SCHROEDER, "Section 4.1 (G)", "SYN cookies", Here(&["schroeder-syn-cookies"])),
    of(SCHROEDER, "Figure 6 (H)", "aborts and retries", Here(&["schroeder-aborts"])),
    of(SCHROEDER, "Figure 6 (I)", "packet length", Here(&["schroeder-packet-length"])),
    of(SCHROEDER, "Figure 7", "distribution and by size", Here(&["schroeder-w1"])),
    of(SCHROEDER, "Figure 8", "realistic case over time", Here(&["schroeder-realistic"])),
    of(SCHROEDER, "Figure 9", "workloads, means and largest 1 %", Here(&["schroeder-workloads"])),
    of(SCHROEDER, "Section 5.1", "where the gain comes from", Here(&["schroeder-why"])),
    of(SCHROEDER, "Figure 10", "Theorem 1: on/off overload", Here(&["schroeder-onoff"])),
    of(SCHROEDER, "Figure 11", "conditions on the NASA trace", Here(&["schroeder-nasa"])),
    of(SCHROEDER, "Figure 12", "realistic case on the NASA trace", Here(&["schroeder-nasa"])),
    of(SCHROEDER, "Figure 13", "workloads on the NASA trace", Here(&["schroeder-nasa"])),
    of(CROVELLA, "Figure 1", "organisation of the server", Nothing),
    of(CROVELLA, "Table 1", "sizes of SURGE", Here(&["crovella"])),
    of(CROVELLA, "Figure 2", "Apache by size", Here(&["crovella"])),
    of(CROVELLA, "Figure 3", "response time over load", Here(&["crovella"])),
    of(CROVELLA, "Figure 4", "policies by size", Here(&["crovella"])),
    of(CROVELLA, "Figure 5", "write concurrency, response time", Here(&["crovella-concurrency"])),
    of(CROVELLA, "Figure 6", "write concurrency, throughput", Here(&["crovella-concurrency"])),
    of(CROVELLA, "Figure 7", "slowdown under SRPT", Here(&["crovella-slowdown"])),
    of(
        CROVELLA,
        "Figure 8",
        "slowdown under SRPT by weight of the tail",
        Here(&["crovella-slowdown"]),
    ),
    of(RUAN, "Table 1", "hardware", Nothing),
    of(RUAN, "Table 2", "SPECweb's popularity", Here(&["ruan-set"])),
    of(RUAN, "Figure 1", "ready events", BURSTS),
    of(RUAN, "Figure 2", "scheduler burstiness", BURSTS),
    of(RUAN, "Figure 3", "steps of a request", Nothing),
    of(RUAN, "Figure 4", "latency profile, Apache", PROFILE),
    of(RUAN, "Figure 5", "latency profile, Flash", PROFILE),
    of(RUAN, "Figure 6", "latency distribution, Apache", PROFILE),
    of(RUAN, "Figure 7", "latency distribution, Flash", PROFILE),
    of(RUAN, "Figure 8", "latency over set size", SETS),
    of(RUAN, "Figure 9", "service inversion, example", Nothing),
    of(RUAN, "Table 3", "size classes of deciles", Here(&["ruan-set"])),
    of(RUAN, "Figure 10", "deciles, Apache", PROFILE),
    of(RUAN, "Figure 11", "deciles, Flash", PROFILE),
    of(RUAN, "Table 4", "service inversion over load", PROFILE),
    of(RUAN, "Figure 12", "architecture of Flashpache", Nothing),
    of(RUAN, "Figure 13", "ready events, Flash's variants", BURSTS),
    of(RUAN, "Figure 14", "burstiness, Flashpache", BURSTS),
    of(RUAN, "Figure 15", "latency over set size, New-Flash", SETS),
    of(RUAN, "Figure 16", "latency profile, New-Flash", PROFILE),
    of(RUAN, "Figure 17", "latency profile, Flashpache", PROFILE),
    of(RUAN, "Table 5", "latencies and capacities", Here(&["ruan-steps"])),
    of(RUAN, "Figure 18", "deciles, New-Flash", PROFILE),
    of(RUAN, "Figure 19", "service inversion, original and new", PROFILE),
    of(RUAN, "Figure 20", "deciles, New-Flash in memory", SETS),
    of(RUAN, "Figure 21", "deciles, Flashpache", PROFILE),
    of(RUAN, "Figure 22", "latencies in memory", GENERATIONS),
    of(RUAN, "Figure 23", "latencies from disk", GENERATIONS),
    of(RUAN, "Table 6", "capacities, original and new", GENERATIONS),
    of(RUAN, "Figure 24", "latencies from disk", GENERATIONS),
    of(RAWAT, "Figure 1", "data flow in Linux", Nothing),
    of(RAWAT, "Figure 2", "data flow with SWIFT", Nothing),
    of(RAWAT, "Figure 3", "near client, load 0.5", SWIFT),
    of(RAWAT, "Figure 4", "near client, load 0.7", SWIFT),
    of(RAWAT, "Figure 5", "near client, load 0.8", SWIFT),
    of(RAWAT, "Figure 6", "near client, load 0.9", SWIFT),
    of(RAWAT, "Figure 7", "far client, load 0.5", SWIFT),
    of(RAWAT, "Figure 8", "far client, load 0.7", SWIFT),
    of(RAWAT, "Figure 9", "far client, load 0.8", SWIFT),
    of(RAWAT, "Figure 10", "far client, load 0.9", SWIFT),
    of(CARTER, "Figure 1", "structure of the model", Nothing),
    of(CARTER, "Figure 2", "throughput, regular", Here(&["carter-load", "carter-proxy"])),
    of(CARTER, "Figure 3", "throughput, DTOC", Here(&["carter-load", "carter-proxy"])),
    of(
        CARTER,
        "Figure 4",
        "throughput with a retry, regular",
        Here(&["carter-load", "carter-proxy"]),
    ),
    of(CARTER, "Figure 5", "throughput with a retry, DTOC", Here(&["carter-load", "carter-proxy"])),
    of(CARTER, "Figure 6", "size of what succeeds", Here(&["carter-load"])),
    of(CARTER, "Figure 7", "classes of what succeeds", Here(&["carter-load", "carter-proxy"])),
    of(CARTER, "Figure 8", "accepted, then timed out", Here(&["carter-load"])),
    of(CARTER, "Figure 9", "the normal day", Here(&["carter-days"])),
    of(CARTER, "Figure 10", "the busy day", Here(&["carter-days"])),
    of(CARTER, "Figure 11", "normal day, throughput", Here(&["carter-days"])),
    of(CARTER, "Figure 12", "busy day, throughput", Here(&["carter-days"])),
    of(CARTER, "Figure 13", "normal day, livelock", Here(&["carter-days"])),
    of(CARTER, "Figure 14", "normal day, no livelock", Here(&["carter-days"])),
    of(CARTER, "Figure 15", "busy day, regular", Here(&["carter-days"])),
    of(CARTER, "Figure 16", "busy day, DTOC", Here(&["carter-days"])),
    of(CARTER, "Figure 17", "useful throughput, model", Here(&["carter-model"])),
    of(CARTER, "Figure 18", "density of 1025 service times", Here(&["carter-model"])),
    of(CARTER, "Figure 19", "distribution of 1025 service times", Here(&["carter-model"])),
    of(CARTER, "Figure 20", "the same, more variable", Here(&["carter-model"])),
    of(CARTER, "Figure 21", "sizes of the simulated workload", Nothing),
];
