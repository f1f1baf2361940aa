//! How much longer a download takes beside a client that asks on and on, than alone: the bars are
//! 1.1 (k + 1) times beside k connections, and 1.3 (k + 1) beside heads, whose packets are small.
//! `cargo bench -p weir --bench closed_loops -- [RATE] [POLICY]` (2mbit, protective)

#[path = "../tests/support/mod.rs"]
mod support;

use std::time::Duration;

use support::Server;
use support::loops::{Again, Loops, download, write_site};

/// Name, who is beside, bytes of the download, how many times its part it may take.
const CASES: [(&str, Again, usize, f64); 5] = [
    ("16 KB ranges", Again::Ranges, 1_000_000, 1.1),
    ("16 KB ranges, new connections", Again::RangesAnew, 1_000_000, 1.1),
    ("HEADs ahead, 5 connections", Again::Heads, 100_000, 1.3),
    ("300 KB files, 10 connections", Again::Files, 1_000_000, 1.1),
    ("16 KB ranges after 100 GB left", Again::RangesAfterLeaving, 1_000_000, 1.1),
];

/// Nobody waits longer, in times of what is tolerated.
const WAITED: f64 = 1.5;

fn main() {
    let words: Vec<String> =
        std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let rate = words.first().map_or("2mbit", String::as_str);
    let policy = words.get(1).map_or("protective", String::as_str);
    println!("uplink {rate}, {policy}: response times of a download alone and beside others");
    println!(
        "{:32} {:>2} {:>8} {:>8} {:>6} {:>6}",
        "beside", "k", "alone s", "beside s", "ratio", "most"
    );
    for (name, again, bytes, tolerated) in CASES {
        let site = tempfile::tempdir().expect("a directory");
        write_site(site.path(), bytes);
        let server = Server::of(site.path(), &["--uplink", rate, "--policy", policy]);
        let address = server.address();
        let alone = download(address, Duration::from_secs(600)).took;
        let loops = Loops::begin(address, again);
        let others = again.connections();
        let most = tolerated * (others + 1) as f64;
        let beside = download(address, alone.mul_f64(WAITED * most));
        drop(loops);
        let ratio = beside.took.as_secs_f64() / alone.as_secs_f64();
        let at_least = if beside.whole { "" } else { ">" };
        println!(
            "{name:32} {others:2} {:8.3} {at_least:>1}{:7.3} {at_least:>1}{ratio:5.2} {most:6.1}",
            alone.as_secs_f64(),
            beside.took.as_secs_f64(),
        );
    }
}
