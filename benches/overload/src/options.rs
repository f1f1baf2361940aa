//! What can be set on the command line, and how a run is named after it.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use crate::Result;
use crate::trace::Shape;

/// The trace and the ideal server it is compared with.
#[derive(Args, Clone, Debug)]
pub(crate) struct TraceOptions {
    /// Seed of sizes and arrivals; equal seeds give equal traces
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Cycles of one period of high and one of low load
    #[arg(long, default_value_t = 3)]
    pub(crate) cycles: u32,
    /// Rate of the uplink: a number and bit, kbit, mbit or gbit
    #[arg(long, default_value = "10mbit", value_parser = parse_rate)]
    pub(crate) rate: u64,
    /// Length of a period of high load, and of one of low load, in seconds
    #[arg(long, default_value_t = 25.0)]
    pub(crate) period: f64,
    /// Offered load in the high periods (wire bytes asked / link rate)
    #[arg(long, default_value_t = 1.2)]
    pub(crate) high: f64,
    /// Offered load in the low periods
    #[arg(long, default_value_t = 0.2)]
    pub(crate) low: f64,
    /// Bytes of a response head in the trace's load and in the ideal servers
    #[arg(long, default_value_t = 200)]
    pub(crate) head: u64,
    /// Speed of the ideal servers as a share of the rate
    #[arg(long, default_value_t = 0.985)]
    pub(crate) pace: f64,
}

impl TraceOptions {
    /// The load over time that these options describe.
    pub(crate) fn shape(&self) -> Shape {
        Shape {
            cycles: self.cycles,
            period: self.period,
            high: self.high,
            low: self.low,
            bytes_per_second: self.rate as f64 / 8.0,
            head: self.head,
        }
    }

    /// Refuse what cannot be run.
    pub(crate) fn check(&self) -> Result<()> {
        let positive = [
            ("--period", self.period),
            ("--high", self.high),
            ("--low", self.low),
            ("--pace", self.pace),
        ];
        for (name, value) in positive {
            if !value.is_finite() || value <= 0.0 {
                return Err(format!("{name} is {value}: give a number above 0"));
            }
        }
        if self.cycles == 0 {
            return Err("--cycles is 0: give at least 1".into());
        }
        Ok(())
    }
}

/// Where the bottleneck is and how the clients behave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scenario {
    /// The bottleneck is the server's own interface; all clients read at once
    Plain,
    /// The bottleneck is a router between server and client
    Router,
    /// 5 % of the clients read at 20 kbit/s
    SlowReaders,
}

impl Scenario {
    /// The name used on the command line and in file names.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Scenario::Plain => "plain",
            Scenario::Router => "router",
            Scenario::SlowReaders => "slow-readers",
        }
    }
}

/// One cell: a system, a network, a trace.
#[derive(Args, Clone, Debug)]
pub(crate) struct RunOptions {
    #[command(flatten)]
    pub(crate) trace: TraceOptions,
    /// nginx, or weir:POLICY such as weir:srpt, weir:fair, weir:protective
    #[arg(long)]
    pub(crate) system: String,
    /// The network and the clients
    #[arg(long, value_enum, default_value_t = Scenario::Plain)]
    pub(crate) scenario: Scenario,
    /// The weir binary (default: beside this one)
    #[arg(long)]
    pub(crate) weir: Option<PathBuf>,
    /// Worker threads or processes of the server
    #[arg(long, default_value_t = 1)]
    pub(crate) workers: u32,
    /// Packets that the queue of the bottleneck holds
    #[arg(long, default_value_t = 1000)]
    pub(crate) queue: u32,
    /// Congestion control (default: the machine's)
    #[arg(long)]
    pub(crate) cc: Option<String>,
    /// How long clients still wait after the last cycle, in seconds
    #[arg(long, default_value_t = 120.0)]
    pub(crate) drain: f64,
    /// Where documents, configurations and results go
    #[arg(long, default_value = "/tmp/overload")]
    pub(crate) out: PathBuf,
}

impl RunOptions {
    /// A name for the cell's own directory; cells that differ get different names.
    pub(crate) fn cell(&self) -> String {
        let trace = &self.trace;
        let mut name = format!(
            "{}_{}_w{}_q{}_{}x{}s_{}-{}_{}k_s{}",
            self.system.replace([':', '/'], "-"),
            self.scenario.name(),
            self.workers,
            self.queue,
            trace.cycles,
            trace.period,
            trace.high,
            trace.low,
            trace.rate / 1000,
            trace.seed,
        );
        if let Some(cc) = &self.cc {
            name.push('_');
            name.push_str(cc);
        }
        name
    }
}

/// The whole matrix.
#[derive(Args, Clone, Debug)]
pub(crate) struct TableOptions {
    /// Where documents, configurations and results go
    #[arg(long, default_value = "/tmp/overload")]
    pub(crate) out: PathBuf,
    /// Cells side by side
    #[arg(long, default_value_t = 3)]
    pub(crate) jobs: usize,
    /// One seed and one cycle of 10 s + 10 s: a check that all works, not a result
    #[arg(long)]
    pub(crate) quick: bool,
    /// The weir binary (default: beside this one)
    #[arg(long)]
    pub(crate) weir: Option<PathBuf>,
    /// Bytes of a response head in the trace's load and in the ideal servers
    #[arg(long, default_value_t = 200)]
    pub(crate) head: u64,
}

fn parse_rate(text: &str) -> Result<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "bit" => 1.0,
        "kbit" => 1e3,
        "mbit" => 1e6,
        "gbit" => 1e9,
        other => {
            return Err(format!("unit {other:?} is unknown: write bit, kbit, mbit or gbit"));
        }
    };
    match digits.parse::<f64>() {
        Ok(number) if number > 0.0 => Ok((number * unit) as u64),
        _ => Err(format!("{digits:?} is no rate: write for example 10mbit")),
    }
}

#[cfg(test)]
mod tests {
    use super::parse_rate;

    #[test]
    fn rates_have_a_number_and_a_unit() {
        assert_eq!(parse_rate("10mbit"), Ok(10_000_000));
        assert_eq!(parse_rate("1.5gbit"), Ok(1_500_000_000));
        assert!(parse_rate("10").is_err());
        assert!(parse_rate("mbit").is_err());
    }
}
