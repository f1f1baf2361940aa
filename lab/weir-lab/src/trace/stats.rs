//! `weir-lab trace stats`: sizes, clients, peaks and offered load of a trace, as text and as JSON.

use serde::Serialize;
use weir_units::BitRate;
use weir_workload::Wire;
use weir_workload::read::{Summary, SummaryBuilder};

use super::input::Input;
use crate::failure::{Failure, failed};
use crate::print;
use crate::values::link_rate;

/// `weir-lab trace stats`.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    input: Input,

    /// Rate of a link, such as 10mbit: says the load that the trace offers to it
    #[arg(long, value_name = "RATE")]
    #[arg(value_parser = link_rate)]
    uplink: Option<BitRate>,

    /// Requests that share a connection, for the wire bytes
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    requests_per_connection: u32,

    /// Write JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Json<'a> {
    format: String,
    records: u64,
    bad_records: u64,
    #[serde(flatten)]
    summary: &'a Summary,
    #[serde(skip_serializing_if = "Option::is_none")]
    offered_load: Option<f64>,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut reading = arguments.input.open()?;
    let wire =
        Wire { requests_per_connection: arguments.requests_per_connection, ..Wire::default() };
    let mut gather = SummaryBuilder::new(wire);
    for request in reading.by_ref() {
        gather.add(&request);
    }
    reading.end()?;
    let summary = gather.summary();
    let offered_load = arguments.uplink.and_then(|rate| summary.load(rate.bits() as f64));
    let text = if arguments.json {
        let json = Json {
            format: reading.format().to_string(),
            records: reading.counts().records,
            bad_records: reading.counts().bad.values().sum(),
            summary: &summary,
            offered_load,
        };
        serde_json::to_string_pretty(&json).map_err(|error| failed(error.to_string()))? + "\n"
    } else {
        let load = match (arguments.uplink, offered_load) {
            (Some(_), Some(load)) => format!("{load:.4} (wire bytes asked / rate of the link)"),
            (Some(_), None) => "none: the trace has no length".into(),
            (None, _) => String::new(),
        };
        text(&reading.format().to_string(), &summary, &load)
    };
    print::print(&text)
}

fn text(format: &str, s: &Summary, load: &str) -> String {
    let percent = |share: f64| format!("{:.1} %", share * 100.0);
    let unknown = match s.unknown_sizes {
        0 => String::new(),
        number => format!(" ({number} of unknown size, not in the sizes)"),
    };
    let rows = [
        ("format", format.to_owned()),
        ("requests", format!("{}{unknown}", s.requests)),
        ("clients", s.clients.to_string()),
        ("distinct objects", s.objects.to_string()),
        ("span", format!("{:.3} s", s.span)),
        ("bytes of bodies", s.bytes.to_string()),
        ("mean size", format!("{:.1} B", s.mean)),
        ("median size", format!("{} B", s.median)),
        ("90th percentile", format!("{} B", s.p90)),
        ("99th percentile", format!("{} B", s.p99)),
        ("largest size", format!("{} B", s.max)),
        ("CV of sizes", format!("{:.2}", s.cv)),
        ("largest 1 % have", format!("{} of the bytes", percent(s.bytes_in_largest_1_percent))),
        ("largest 3 % have", format!("{} of the bytes", percent(s.bytes_in_largest_3_percent))),
        ("peak per second", format!("{} requests", s.peak_per_second)),
        ("peak per minute", format!("{} requests", s.peak_per_minute)),
        ("offered load", load.to_owned()),
    ];
    let shown = rows.iter().filter(|(_, value)| !value.is_empty());
    shown.map(|(name, value)| format!("{name:<18}{value}\n")).collect()
}
