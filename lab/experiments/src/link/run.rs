//! One cell with a link, from beginning to end: documents, network, server, probe, load, figures. What
//! was made is removed on every way out by the values' drops.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::time::{Duration, Instant};

use weir_load::{Body, Live, Plan, Report, Source, Step, Tls};
use weir_peers::{Error, Result, Server, interrupt, probe};
use weir_stand::BeforeOrdinary;
use weir_stats::Record;
use weir_workload::Wire;
use weir_workload::documents::{Content, pool};
use weir_workload::surge::SurgeUsers;

use super::counters::tcp_counters;
use super::demand::{Requests, Workload, duration, wire};
use super::initial_rto;
use super::network::{Bottleneck, Network};
use super::probe::{answers, probe_head};
use super::sampling::{Observations, Sampler, UntilEnd};
use super::secure::Secure;
use super::systems::{self, ADMIN, Place};
use crate::cell::{Cell, Demand};
use crate::outcome::{Outcome, UNKNOWN};
use crate::settings::Settings;
use crate::{figures, kept, machine};
use weir_peers::namespace::within;

/// The start of each period of overload is left out of the link use: the queue fills.
const FILLING: f64 = 5.0;
/// Seconds after the last request at which what is still open counts as unfinished.
const DRAIN: f64 = 120.0;
/// The same for a closed loop, which never drains a backlog.
const DRAIN_CLOSED: f64 = 30.0;
/// Bytes per second of slow readers: 20 kbit/s.
const SLOWLY: u64 = 2500;

/// A server of documents on a network of its own.
pub(crate) fn run(
    cell: &Cell,
    settings: &Settings,
    directory: &Path,
    out: &Path,
) -> Result<Outcome> {
    let workload = Workload::of(cell, settings)?;
    let root = workload.make_documents(out)?;
    // Held until everything that it is for has ended; the threads and processes of this one.
    let _timeout = cell.network.initial_rto_ms.map(initial_rto::set).transpose()?;
    let bottleneck = match systems::has_bands(&cell.system) {
        true => Bottleneck::Bands { weir: &settings.weir, state: directory },
        false => Bottleneck::OneQueue,
    };
    let network = Network::make(&cell.network, cell.seed, &bottleneck)?;
    let secure = cell.users.tls.then(|| Secure::make(directory, network.address)).transpose()?;
    let place = Place {
        address: network.address,
        root: &root,
        directory,
        certificate: secure.as_ref().map(|secure| &secure.certificate),
        backlog: cell.network.backlog,
        rate: cell.network.rate,
    };
    let mut server = start(&cell.system, &place, &network, settings)?;
    let (path, size) = workload.probe().ok_or("the workload has no documents")?;
    let tls = secure.as_ref().map(|secure| &secure.users);
    let head = probe_head(&network, &path, size, tls)?;
    // The probe's last packets are gone before the counters are read.
    std::thread::sleep(Duration::from_millis(200));
    let seen = observe(cell, workload, &network, &server, tls)?;
    interrupt::check()?;
    server.must_run()?;
    // The figures are worth keeping even if the server's own are not to be had.
    if systems::has_metrics(&cell.system) {
        let metrics = within(network.server.name(), || probe::metrics(SocketAddr::from(ADMIN)));
        let text = metrics.unwrap_or_else(|error| format!("# {error}\n"));
        kept::text(&directory.join("metrics.txt"), &text)?;
    }
    for (role, namespace) in [("server", &network.server), ("client", &network.client)] {
        kept::text(&directory.join(format!("tcp-{role}.txt")), &tcp_counters(namespace.name())?)?;
    }
    if let Some(wan) = &seen.wan {
        kept::text(&directory.join("wan.txt"), &format!("{wan}\n"))?;
    }
    drop(server);
    drop(network);
    if settings.keep_records {
        kept::records(&seen.records, &directory.join("records.csv.zst"))?;
    }
    Ok(assess(cell, head, seen))
}

/// Start the system in the server's namespace and wait until it accepts. It runs before all ordinary
/// work on the machine, as the load generator does.
fn start(
    system: &str,
    place: &Place<'_>,
    network: &Network,
    settings: &Settings,
) -> Result<Server> {
    let error_log = place.directory.join("server-error.log");
    let program = systems::program(system, place, &error_log, settings)?;
    let command = program.command(machine::SERVER_PRIORITY);
    let log = place.directory.join("server.log");
    let mut server =
        within(network.server.name(), || Server::spawn(command, log, Some(error_log)))?;
    server.wait_until_ready(&|| answers(network))?;
    Ok(server)
}

/// What users, network and machine showed.
struct Observed {
    /// Of an open loop, in order of time.
    requests: Option<Vec<weir_workload::Request>>,
    /// In the same order.
    records: Vec<Record>,
    report: Report,
    seen: Observations,
    dropped: u64,
    /// Bytes over the bottleneck.
    link_bytes: u64,
    wan: Option<weir_wan::Statistics>,
}

fn observe(
    cell: &Cell,
    workload: Workload,
    network: &Network,
    server: &Server,
    tls: Option<&Tls>,
) -> Result<Observed> {
    let closed = matches!(workload.requests, Requests::Closed(_));
    let plan = Plan {
        server: SocketAddr::V4(network.address),
        host: network.address.to_string(),
        headers: String::new(),
        tls: tls.cloned(),
        sources: network.users.iter().map(|addresses| source(addresses)).collect(),
        requests_per_connection: cell.users.requests_per_connection,
        abort_after: cell.users.abort_after,
        retries: cell.users.retries,
        drain: if closed { DRAIN_CLOSED } else { DRAIN },
        duration: closed.then(|| duration(cell)),
        slow_readers: (cell.users.slow_readers > 0.0).then_some((cell.users.slow_readers, SLOWLY)),
        body: body(&workload),
        spin: false,
    };
    let (mut requests, demand) = match workload.requests {
        Requests::Open(requests) => {
            let demand = weir_load::Demand::Open(Box::new(requests.clone().into_iter()));
            (Some(requests), demand)
        }
        Requests::Closed(users) => (None, weir_load::Demand::Closed(Box::new(Loop(users)))),
    };
    let mut sampler = Sampler::new(network, server.id())?;
    let before = sampler.sent()?;
    let spans = spans(cell);
    let (live, over) = (Live::default(), AtomicBool::new(false));
    let mut records = Vec::with_capacity(requests.as_ref().map_or(0, Vec::len));
    let (tell, told) = mpsc::channel();
    let meanwhile = || {
        if interrupt::interrupted() {
            live.stop.store(true, Ordering::Relaxed);
        }
    };
    let end = UntilEnd { over: &over, meanwhile: &meanwhile };
    let (report, seen) = std::thread::scope(|scope| {
        let (sampler, spans, end) = (&mut sampler, &spans, &end);
        let watch = scope.spawn(move || match told.recv() {
            Ok(origin) => sampler.run(origin, spans, end),
            // The load did not start.
            Err(_) => Ok(Observations::default()),
        });
        let report = within(network.client.name(), || {
            let _first = BeforeOrdinary::begin()?;
            let tell = tell;
            // The generator's time zero is some milliseconds after its call.
            let _ = tell.send(Instant::now() + Duration::from_millis(5));
            weir_load::run(&plan, demand, &live, &mut |record| records.push(record))
                .map_err(|e| Error(e.to_string()))
        });
        over.store(true, Ordering::Relaxed);
        let seen = watch.join();
        (report, seen.unwrap_or_else(|_| Err("the thread that samples panicked".into())))
    });
    let (report, seen) = (report?, seen?);
    interrupt::check()?;
    if let Some(requests) = &mut requests {
        figures::sort(requests, &mut records);
        let (wanted, ended) = (requests.len(), records.len());
        if wanted != ended {
            return Err(Error(format!("of {wanted} requests only {ended} were recorded")));
        }
    }
    let link_bytes = sampler.sent()? - before;
    let (dropped, wan) = (sampler.dropped()?, network.wan());
    Ok(Observed { requests, records, report, seen, dropped, link_bytes, wan })
}

/// The source addresses of a class of users.
fn source(addresses: &[Ipv4Addr]) -> Source {
    Source { addresses: addresses.iter().copied().map(IpAddr::V4).collect() }
}

/// Documents begin with the pool; those that are holes are only counted.
fn body(workload: &Workload) -> Body {
    static POOL: OnceLock<Arc<[u8]>> = OnceLock::new();
    if workload.content != Content::Pool {
        return Body::Any;
    }
    let largest = workload.documents.files().iter().map(|(_, size)| *size).max().unwrap_or(0);
    // The only law with such documents is the World Cup's, whose largest is 2 MB.
    Body::Prefix(POOL.get_or_init(|| pool(largest.min(1 << 24) as usize).into()).clone())
}

/// The users of a closed loop, as the generator knows them.
struct Loop(Box<SurgeUsers>);

impl weir_load::Users for Loop {
    fn count(&self) -> u32 {
        self.0.count()
    }

    fn next(&mut self, user: u32) -> Step {
        let (think, request) = self.0.next(user);
        Step { think, request }
    }
}

/// The periods of overload less their beginnings; half of it where they are short.
fn spans(cell: &Cell) -> Vec<(f64, f64)> {
    let (Demand::Open { periods, duration, .. } | Demand::Trace { periods, duration, .. }) =
        &cell.demand
    else {
        return Vec::new();
    };
    let mut spans = Vec::new();
    let mut start = 0.0;
    for &(seconds, load) in periods.iter().cycle() {
        if start >= *duration || seconds <= 0.0 {
            break;
        }
        let end = (start + seconds).min(*duration);
        if load > 1.0 {
            spans.push((start + FILLING.min((end - start) / 2.0), end));
        }
        start += seconds;
    }
    spans
}

fn assess(cell: &Cell, head: u64, observed: Observed) -> Outcome {
    let Observed { requests, records, report, seen, dropped, link_bytes, wan } = observed;
    let responses = weir_stats::responses(&records);
    let (incomplete, incomplete_largest) = figures::incomplete(&records);
    let (responses_per_second, goodput_bytes) = figures::throughput(&records, duration(cell));
    let rate = cell.network.rate as f64 / 8.0;
    let exact = requests.filter(|_| wan.is_none());
    let (wire, bits) = (wire(cell), cell.network.rate);
    let at_full_rate = exact.as_ref().map(|all| figures::srpt_at_full_rate(all, &wire, bits));
    let exact = exact.map(|all| figures::ideal(&all, &records, &wire, bits));
    let served = || figures::served(&records, &Wire { head, ..wire }, link_bytes);
    let cpu = |sample: Option<&crate::outcome::Sample>| sample.map_or(0.0, |sample| sample.cpu);
    let lags = figures::Lags::of(&report);
    Outcome {
        cell: cell.clone(),
        commit: UNKNOWN.to_owned(),
        requests: records.len(),
        measured: figures::summary(&responses),
        by_class: figures::by_class(&records),
        ideal: exact,
        srpt_at_full_rate: at_full_rate,
        incomplete,
        incomplete_largest,
        outcomes: figures::outcomes(&records),
        link_use: seen.throughput.iter().map(|bytes| bytes / rate).collect(),
        goodput_bytes,
        responses_per_second,
        dropped,
        head_bytes: head,
        series: figures::series(&records),
        small_p95: figures::small_p95(&records),
        distribution: figures::distribution(&responses),
        lag_p99: lags.start,
        read_lag_p99: Some(lags.read),
        steal: report.steal,
        idle: report.idle,
        server_cpu: cpu(seen.samples.last()) - cpu(seen.samples.first()),
        invalid: figures::why_invalid(lags, report.steal, &records, wan.as_ref()),
        samples: seen.samples,
        served: cell.users.abort_after.map(|_| served()),
        application: None,
        files: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::{Law, LoadIs, Network, Users};

    #[test]
    fn link_use_is_of_the_periods_above_one() {
        let spans = |periods: &[(f64, f64)], duration| {
            let (law, periods, load_is) = (Law::WorldCup, periods.into(), LoadIs::Wire);
            let demand = Demand::Open { law, periods, load_is, duration };
            let (network, users) = (Network::default(), Users::default());
            spans(&Cell { system: String::new(), network, users, demand, seed: 1 })
        };
        assert_eq!(spans(&[(25.0, 1.2), (25.0, 0.2)], 80.0), [(5.0, 25.0), (55.0, 75.0)]);
        assert_eq!(spans(&[(3.0, 20.0), (20.0, 0.5)], 24.0), [(1.5, 3.0), (23.5, 24.0)]);
        assert_eq!(spans(&[(10.0, 0.9)], 30.0), []);
    }
}
