//! What the bottleneck sent: the byte counter of its interface (whole frames) at
//! given times, and the packets its queue dropped.

use std::time::{Duration, Instant};

use crate::network::Network;
use crate::{Result, command, interrupt, network};

/// The counter at a time, in seconds from the start of the run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) at: f64,
    pub(crate) bytes: u64,
}

/// Read the counter now.
pub(crate) fn sample(network: &Network, origin: Instant) -> Result<Sample> {
    let (namespace, device) = &network.bottleneck;
    network::within(namespace, || read(device, origin))
}

/// Bytes per second within each span of time, read from a thread in the
/// bottleneck's namespace while the run goes on.
pub(crate) fn throughput(
    network: &Network,
    origin: Instant,
    spans: &[(f64, f64)],
) -> Result<Vec<f64>> {
    let (namespace, device) = &network.bottleneck;
    network::within(namespace, || {
        let mut throughput = Vec::new();
        for &(from, to) in spans {
            interrupt::sleep_until(origin + Duration::from_secs_f64(from))?;
            let start = read(device, origin)?;
            interrupt::sleep_until(origin + Duration::from_secs_f64(to))?;
            let end = read(device, origin)?;
            throughput.push((end.bytes - start.bytes) as f64 / (end.at - start.at));
        }
        Ok(throughput)
    })
}

/// Packets that the queue of the bottleneck has dropped so far.
pub(crate) fn dropped(network: &Network) -> Result<u64> {
    let (namespace, device) = &network.bottleneck;
    let text = command::run(&format!("tc -n {namespace} -s qdisc show dev {device}"))?;
    let words: Vec<&str> = text.split([' ', ',']).collect();
    let count =
        words.windows(2).find(|pair| pair[0] == "(dropped").and_then(|pair| pair[1].parse().ok());
    count.ok_or_else(|| format!("tc shows no count of drops on {device}: {text}"))
}

/// The kernel's TCP counters of a namespace that are not zero, one a line: resets,
/// aborts and retransmissions explain odd outcomes.
pub(crate) fn tcp_counters(namespace: &str) -> Result<String> {
    network::within(namespace, || {
        let mut text = String::new();
        for table in ["snmp", "netstat"] {
            let path = format!("/proc/thread-self/net/{table}");
            let read = std::fs::read_to_string(&path);
            text.push_str(&named(&read.map_err(|e| format!("cannot read {path}: {e}"))?));
        }
        Ok(text)
    })
}

/// The kernel's pairs of lines, names and numbers, as one line for each number.
fn named(table: &str) -> String {
    let lines: Vec<&str> = table.lines().collect();
    let pairs = lines.chunks_exact(2).filter(|pair| pair[0].starts_with("Tcp"));
    let counters = pairs.flat_map(|pair| pair[0].split(' ').zip(pair[1].split(' ')).skip(1));
    counters
        .filter(|(_, number)| *number != "0")
        .map(|(name, number)| format!("{name} {number}\n"))
        .collect()
}

fn read(device: &str, origin: Instant) -> Result<Sample> {
    // The table of the thread's own namespace.
    let text = std::fs::read_to_string("/proc/thread-self/net/dev")
        .map_err(|e| format!("cannot read the interface counters: {e}"))?;
    let at = origin.elapsed().as_secs_f64();
    let bytes = parse(&text, device)
        .ok_or_else(|| format!("no interface {device} in /proc/thread-self/net/dev"))?;
    Ok(Sample { at, bytes })
}

/// Bytes sent are the ninth number after the name.
fn parse(text: &str, device: &str) -> Option<u64> {
    text.lines()
        .filter_map(|line| line.trim().split_once(':'))
        .find(|(name, _)| *name == device)
        .and_then(|(_, counters)| counters.split_whitespace().nth(8)?.parse().ok())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_ninth_counter_is_bytes_sent() {
        let text = "Inter-| Receive\n face |bytes\n    lo: 0 0 0 0 0 0 0 0 5 0\n  down: 1 2 3 4 5 6 7 8 99 10\n";
        assert_eq!(super::parse(text, "down"), Some(99));
        assert_eq!(super::parse(text, "eth0"), None);
    }

    #[test]
    fn counters_are_named_and_zeros_left_out() {
        let text = "Ip: A\nIp: 3\nTcp: OutSegs OutRsts InErrs\nTcp: 7 0 1\n";
        assert_eq!(super::named(text), "OutSegs 7\nInErrs 1\n");
    }
}
