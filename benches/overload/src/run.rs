//! One cell from beginning to end: documents, network, server, probe, trace,
//! figures. What was made is removed on every way out by the values' drops.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::client::{self, Plan};
use crate::connection::{Outcome, Record};
use crate::figures::{Ideal, finishes, lateness, percentile, summary};
use crate::network::{self, Network, within};
use crate::options::{RunOptions, Scenario};
use crate::report::{self, Report};
use crate::system::{self, Server};
use crate::trace::{self, Request, wire_bytes};
use crate::{Result, command, docroot, ideal, link, machine};

/// The start of each high period is left out of the link use: the queue fills.
const FILLING: f64 = 5.0;
/// A run counts when requests started on time and nobody took the processor.
const MOST_LAG_MS: f64 = 1.0;
const MOST_STEAL: f64 = 0.01;

/// Run the cell; print the report.
pub(crate) fn run(options: &RunOptions) -> Result<()> {
    options.trace.check()?;
    command::need_root()?;
    machine::raise_open_files()?;
    network::remove_stale();
    let out = options.out.join(options.cell());
    fs::create_dir_all(&out).map_err(|e| format!("cannot make {}: {e}", out.display()))?;
    let report = measure(options, &out)?;
    let json = serde_json::to_string(&report).map_err(|e| format!("the report as JSON: {e}"))?;
    report::write(&out.join("report.json"), &json)?;
    eprint!("{}", report.text());
    println!("{json}");
    Ok(())
}

/// What the network and the machine did during the run.
struct Observed {
    records: Vec<Record>,
    /// Bytes per second in the spans of link use.
    throughput: Vec<f64>,
    bytes: u64,
    dropped: u64,
    head: u64,
    machine: machine::Shares,
}

fn measure(options: &RunOptions, out: &Path) -> Result<Report> {
    let pool = docroot::pool();
    let docroot = docroot::prepare(&options.out, &pool)?;
    let requests = trace::make(options.trace.seed, &options.trace.shape());
    let network = Network::make(options)?;
    let server = Server::start(options, &network, &docroot, out)?;
    let head = system::probe_head(&network)?;
    // The probe's last packets are gone before the counters are read.
    std::thread::sleep(Duration::from_millis(200));
    let observed = observe(options, &network, &requests, &pool, head)?;
    // The figures are worth keeping even if the server's own are not to be had.
    match server.metrics(&network) {
        Ok(Some(text)) => report::write(&out.join("metrics.txt"), &text)?,
        Ok(None) => {}
        Err(error) => eprintln!("overload: no metrics: {error}"),
    }
    for (role, namespace) in [("server", &network.server), ("client", &network.client)] {
        let counters = link::tcp_counters(namespace)?;
        report::write(&out.join(format!("tcp-{role}.txt")), &counters)?;
    }
    drop(server);
    assess(options, out, &requests, &observed)
}

fn observe(
    options: &RunOptions,
    network: &Network,
    requests: &[Request],
    pool: &[u8],
    head: u64,
) -> Result<Observed> {
    let shape = options.trace.shape();
    let plan = Plan {
        address: network.address,
        requests,
        slow_readers: options.scenario == Scenario::SlowReaders,
        deadline: shape.duration() + options.drain,
        pool,
    };
    let spans = link_spans(options);
    let origin = Instant::now() + Duration::from_millis(300);
    let before = machine::ticks()?;
    let first = link::sample(network, origin)?;
    let (records, throughput) = std::thread::scope(|scope| {
        let sampler = scope.spawn(|| link::throughput(network, origin, &spans));
        let records = within(&network.client, || {
            machine::go_first()?;
            client::run(&plan, origin)
        });
        let throughput = sampler
            .join()
            .unwrap_or_else(|_| Err("the thread that reads the link's counter panicked".into()));
        (records, throughput)
    });
    // The last connections still exchange their FINs.
    std::thread::sleep(Duration::from_millis(300));
    let last = link::sample(network, origin)?;
    Ok(Observed {
        records: records?,
        throughput: throughput?,
        bytes: last.bytes - first.bytes,
        dropped: link::dropped(network)?,
        head,
        machine: machine::since(before)?,
    })
}

/// The high periods less their beginnings; half of it where they are short.
fn link_spans(options: &RunOptions) -> Vec<(f64, f64)> {
    let filling = FILLING.min(options.trace.period / 2.0);
    let spans = options.trace.shape().high_periods();
    spans.iter().map(|&(from, to)| (from + filling, to)).collect()
}

fn assess(
    options: &RunOptions,
    out: &Path,
    requests: &[Request],
    observed: &Observed,
) -> Result<Report> {
    let records = &observed.records;
    let slow_readers = options.scenario == Scenario::SlowReaders;
    // Where some clients are slow on purpose, the figures are the others'.
    let counts = |request: &Request| !(slow_readers && request.slow);
    let ideal = Ideal::of(requests, &options.trace);
    let finish = finishes(records);
    let late = lateness(requests, &finish, &ideal.sharing, counts);
    report::write_requests(out, requests, records, &ideal, &late.late)?;

    let counted = requests.iter().filter(|request| counts(request)).count();
    let measured = summary(requests, &finish, counts);
    let mut outcomes = BTreeMap::new();
    for outcome in Outcome::ALL {
        let pairs = requests.iter().zip(records);
        let same = pairs.filter(|(q, r)| counts(q) && r.outcome == outcome);
        outcomes.insert(outcome.name().to_owned(), same.count());
    }
    let mut lags: Vec<f64> = requests
        .iter()
        .zip(records)
        .filter(|(_, record)| !record.started.is_nan())
        .map(|(request, record)| (record.started - request.at) * 1e3)
        .collect();
    lags.sort_by(f64::total_cmp);
    let rate = options.trace.rate as f64 / 8.0;
    let shape = options.trace.shape();
    let idle_less = |&(from, to): &(f64, f64)| {
        options.trace.pace * ideal::busy_share(&ideal.jobs, ideal.speed, from, to)
    };
    let mut report = Report {
        cell: options.cell(),
        system: options.system.clone(),
        scenario: options.scenario.name().into(),
        seed: options.trace.seed,
        requests: requests.len(),
        high_load: trace::offered_load(requests, &shape, &shape.high_periods()),
        ideal_srpt: summary(requests, &ideal.srpt, counts),
        ideal_sharing: summary(requests, &ideal.sharing, counts),
        ordinary_mean: summary(requests, &finish, |request| !request.slow).mean,
        slow_readers: slow_readers.then(|| summary(requests, &finish, |request| request.slow)),
        incomplete_share: 1.0 - measured.count as f64 / counted as f64,
        measured,
        outcomes,
        late_share: late.late.len() as f64 / counted as f64,
        worst_lateness: late.worst,
        link_use: observed.throughput.iter().map(|bytes| bytes / rate).collect(),
        ideal_link_use: link_spans(options).iter().map(idle_less).collect(),
        bytes_over_model: observed.bytes as f64 / model_bytes(requests, records),
        dropped_packets: observed.dropped,
        head_bytes: observed.head,
        start_lag_p99: percentile(&lags, 0.99),
        start_lag_max: lags.last().copied().unwrap_or(f64::NAN),
        steal_share: observed.machine.steal,
        idle_share: observed.machine.idle,
        invalid: Vec::new(),
    };
    report.invalid = why_invalid(&report);
    Ok(report)
}

/// Bytes the model expects for the complete responses, with their real heads.
fn model_bytes(requests: &[Request], records: &[Record]) -> f64 {
    let complete = |(_, record): &(&Request, &Record)| record.outcome == Outcome::Ok;
    let pairs = requests.iter().zip(records).filter(complete);
    pairs.map(|(q, r)| wire_bytes(r.head, q.size) as f64).sum()
}

fn why_invalid(report: &Report) -> Vec<String> {
    let mut reasons = Vec::new();
    let lag = report.start_lag_p99;
    if lag.is_nan() || lag > MOST_LAG_MS {
        reasons.push(format!("requests started late: p99 {lag:.2} ms"));
    }
    if report.steal_share > MOST_STEAL {
        let percent = report.steal_share * 100.0;
        reasons.push(format!("{percent:.1} % of the processor was stolen"));
    }
    if report.measured.count == 0 {
        reasons.push("no response was complete".into());
    }
    reasons
}
