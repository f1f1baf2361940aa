//! One cell with an application, from beginning to end: application, proxy, probe, load, figures. What
//! was started is stopped on every way out by the values' drops.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use weir_load::{Body, Live, Plan, Report, Source};
use weir_peers::probe::{accepts, get, metrics};
use weir_peers::{Error, Program, Result, Server, interrupt, processes};
use weir_stand::{BeforeOrdinary, address};
use weir_stats::Record;

use super::demand::{Parameters, Workload};
use super::figures::Observation;
use super::service::BODY;
use super::{clock, proxies, service_log};
use crate::cell::Cell;
use crate::outcome::{Outcome, UNKNOWN};
use crate::settings::Settings;
use crate::{figures, kept, machine};

/// The generator sets its time zero so many nanoseconds after it takes its first request.
const LEAD: u64 = 5_000_000;
/// Seconds after the last client's patience at which what is still open counts as unfinished.
const DRAIN: f64 = 5.0;
/// Connections a second that take a seventh of a core, with generator, proxy and application.
const PER_SLOT: f64 = 400.0;
/// Connections at once, of the 20,000 descriptors that the generators of all cells usually share.
const OPEN_PER_SLOT: f64 = 1000.0;
/// Answers that are sent later than this, in milliseconds, are the machine's fault, not the system's.
const MOST_LATE_MS: f64 = 1.0;

/// Of the cells that may run side by side, how many one stands for.
pub(crate) fn slots(cell: &Cell) -> usize {
    let Ok(parameters) = Parameters::of(cell) else { return 1 };
    let attempts = parameters.attempts_per_second();
    // Without patience nobody knows for how long.
    let open = attempts * parameters.patience.min(10.0);
    (attempts / PER_SLOT).max(open / OPEN_PER_SLOT).ceil().clamp(1.0, 1000.0) as usize
}

/// Run a cell; its files go to `directory`.
///
/// # Errors
///
/// When application, proxy or load could not be had, in words for the user.
pub(crate) fn run(cell: &Cell, settings: &Settings, directory: &Path) -> Result<Outcome> {
    let parameters = Parameters::of(cell)?;
    let workload = Workload::of(&parameters, cell.seed)?;
    let host = host();
    let place = proxies::Place {
        front: SocketAddrV4::new(host, 8080),
        admin: SocketAddr::from((host, 9900)),
        application: SocketAddrV4::new(host, 9000),
        directory,
        mean: Duration::from_secs_f64(parameters.service),
    };
    let log = directory.join("served.txt");
    let mut application = start_application(cell, &place, &log, settings)?;
    let error_log = directory.join("server-error.log");
    let mut proxy = match proxies::program(&cell.system, &place, &error_log, settings)? {
        Some(program) => Some(start(
            program,
            machine::SERVER_PRIORITY,
            directory.join("server.log"),
            Some(error_log),
            place.front,
        )?),
        None => None,
    };
    let server = if proxy.is_some() { place.front } else { place.application };
    probe(server)?;
    let cpu = |proxy: &Option<Server>| proxy.as_ref().map_or(0.0, |p| processes::usage(p.id()).cpu);
    let before = cpu(&proxy);
    let observed = observe(&parameters, &workload, server)?;
    let server_cpu = cpu(&proxy) - before;
    interrupt::check()?;
    application.must_run()?;
    if let Some(proxy) = &mut proxy {
        proxy.must_run()?;
    }
    if cell.system.starts_with("weir:") {
        // The figures are worth keeping even if the server's own are not to be had.
        let text = metrics(place.admin).unwrap_or_else(|error| format!("# {error}\n"));
        kept::text(&directory.join("metrics.txt"), &text)?;
    }
    drop(proxy);
    drop(application);
    if settings.keep_records {
        kept::records(&observed.records, &directory.join("records.csv.zst"))?;
    }
    Ok(assess(cell, &parameters, &workload, observed, &service_log::read(&log)?, server_cpu))
}

/// An address that no other cell of any process has, so that all may use the same ports, and no
/// connection that goes out is in the way of one that listens.
fn host() -> Ipv4Addr {
    static CELLS: AtomicU32 = AtomicU32::new(0);
    let (process, cell) = (std::process::id(), CELLS.fetch_add(1, Ordering::Relaxed));
    let [high, low] = [process >> 8, process].map(|part| part as u8);
    Ipv4Addr::new(127, 64 + high % 64, low, 1 + (cell % 254) as u8)
}

fn start_application(
    cell: &Cell,
    place: &proxies::Place<'_>,
    log: &Path,
    settings: &Settings,
) -> Result<Server> {
    let mut program = Program::new(&settings.weir_lab).arg("application");
    program = program.arg("--listen").arg(place.application.to_string());
    program = program.arg("--mean").arg(format!("{}us", place.mean.as_micros()));
    program = program.arg("--log").arg(log);
    if proxies::application_checks(&cell.system) {
        program = program.arg("--checks");
    }
    let said = place.directory.join("application.log");
    start(program, machine::APPLICATION_PRIORITY, said, None, place.application)
}

/// Start a program in this namespace and wait until it accepts.
fn start(
    program: Program,
    before: [&str; 3],
    log: PathBuf,
    error_log: Option<PathBuf>,
    address: SocketAddrV4,
) -> Result<Server> {
    let mut server = Server::spawn(program.command(before), log, error_log)?;
    server.wait_until_ready(&|| Ok(accepts(address.into())))?;
    Ok(server)
}

/// One request before all others.
fn probe(server: SocketAddrV4) -> Result<()> {
    let answer = get(server.into(), "/work/100")?;
    if answer.starts_with(b"HTTP/1.1 200") && answer.ends_with(&BODY) {
        return Ok(());
    }
    let start = String::from_utf8_lossy(&answer[..answer.len().min(300)]).into_owned();
    Err(Error(format!("the application is not served: /work/100 was answered: {start}")))
}

/// What clients saw.
struct Observed {
    /// In the order of the requests.
    records: Vec<Record>,
    report: Report,
    /// Their time zero on the machine's clock, in nanoseconds.
    origin: u64,
}

fn observe(parameters: &Parameters, workload: &Workload, server: SocketAddrV4) -> Result<Observed> {
    let plan = plan(parameters, server);
    let (origin, first) = (Arc::new(AtomicU64::new(0)), AtomicBool::new(true));
    let time_zero = origin.clone();
    // The generator takes its first request when it sets its clock.
    let requests = workload.requests.clone().into_iter().inspect(move |_| {
        if first.swap(false, Ordering::Relaxed) {
            time_zero.store(clock::now() + LEAD, Ordering::Relaxed);
        }
    });
    let demand = weir_load::Demand::Open(Box::new(requests));
    let live = Live::default();
    let mut records = Vec::with_capacity(workload.requests.len());
    let report = std::thread::scope(|scope| {
        let (plan, live, records) = (&plan, &live, &mut records);
        let load = scope.spawn(move || {
            let _first = BeforeOrdinary::begin()?;
            weir_load::run(plan, demand, live, &mut |record| records.push(record))
                .map_err(|e| Error(e.to_string()))
        });
        while !load.is_finished() {
            if interrupt::interrupted() {
                live.stop.store(true, Ordering::Relaxed);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        load.join().unwrap_or_else(|_| Err("the load generator panicked".into()))
    })?;
    interrupt::check()?;
    records.sort_by(|a, b| a.scheduled.total_cmp(&b.scheduled));
    let (wanted, ended) = (workload.requests.len(), records.len());
    if wanted != ended {
        return Err(Error(format!("of {wanted} requests only {ended} were recorded")));
    }
    Ok(Observed { records, report, origin: origin.load(Ordering::Relaxed) })
}

fn plan(parameters: &Parameters, server: SocketAddrV4) -> Plan {
    let longest = if parameters.longest().is_finite() { parameters.longest() } else { 120.0 };
    Plan {
        server: server.into(),
        host: server.to_string(),
        headers: String::new(),
        tls: None,
        sources: vec![Source { addresses: address::clients(0) }],
        requests_per_connection: 1,
        abort_after: parameters.patience.is_finite().then_some(parameters.patience),
        retries: parameters.retries,
        drain: longest + DRAIN,
        duration: None,
        slow_readers: None,
        body: Body::Prefix(BODY.as_slice().into()),
        spin: false,
    }
}

fn assess(
    cell: &Cell,
    parameters: &Parameters,
    workload: &Workload,
    observed: Observed,
    served: &[service_log::ServedRequest],
    server_cpu: f64,
) -> Outcome {
    let Observed { records, report, origin } = observed;
    let observation = Observation {
        parameters: *parameters,
        sizes: &workload.sizes,
        records: &records,
        served,
        origin,
    };
    let found = observation.figures();
    let pairs = records.iter().zip(&workload.sizes);
    let responses: Vec<_> =
        pairs.filter_map(|(record, &size)| Some((size, record.response_time()?))).collect();
    let (incomplete, incomplete_largest) = figures::incomplete(&records);
    let seconds = parameters.end() + parameters.after;
    let (responses_per_second, goodput_bytes) = figures::throughput(&records, seconds);
    let lags = figures::Lags::of(&report);
    let mut invalid = figures::why_invalid(lags, report.steal, &records, None);
    if found.late_p99_ms > MOST_LATE_MS {
        let late = found.late_p99_ms;
        invalid.push(format!("the application answered late: p99 {late:.2} ms"));
    }
    Outcome {
        cell: cell.clone(),
        commit: UNKNOWN.to_owned(),
        requests: records.len(),
        measured: figures::summary(&responses),
        by_class: Vec::new(),
        ideal: None,
        srpt_at_full_rate: None,
        incomplete,
        incomplete_largest,
        outcomes: figures::outcomes(&records),
        link_use: Vec::new(),
        goodput_bytes,
        responses_per_second,
        dropped: 0,
        head_bytes: 0,
        samples: Vec::new(),
        series: figures::series(&records),
        small_p95: Vec::new(),
        distribution: figures::distribution(&responses),
        lag_p99: lags.start,
        read_lag_p99: Some(lags.read),
        steal: report.steal,
        idle: report.idle,
        server_cpu,
        invalid,
        served: None,
        application: Some(found),
        files: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::{Demand, Network, Users};

    #[test]
    fn busy_cells_stand_for_several() {
        let cell = |service: f64, retries: u32| Cell {
            system: "direct".into(),
            network: Network::default(),
            users: Users { abort_after: Some(5.0), retries, ..Users::default() },
            demand: Demand::Application {
                service,
                load: 3.0,
                warm_up: 1.0,
                window: 1.0,
                after: 1.0,
            },
            seed: 1,
        };
        // 1500 and 3000 connections at once.
        assert_eq!([slots(&cell(0.01, 0)), slots(&cell(0.01, 1))], [2, 3]);
        assert_eq!([slots(&cell(0.001, 0)), slots(&cell(0.0, 0))], [15, 1]);
        let elsewhere =
            Cell { demand: Demand::Closed { users: 1000, duration: 1.0 }, ..cell(0.01, 0) };
        assert_eq!(slots(&elsewhere), 1);
    }

    #[test]
    fn every_cell_has_an_address_of_its_own_on_the_loopback_interface() {
        let hosts: std::collections::HashSet<Ipv4Addr> = (0..200).map(|_| host()).collect();
        assert!(hosts.len() == 200 && hosts.iter().all(Ipv4Addr::is_loopback));
        let parameters = Parameters {
            service: 0.01,
            load: 1.0,
            warm_up: 0.0,
            window: 1.0,
            after: 0.0,
            patience: 5.0,
            retries: 1,
        };
        let plan = plan(&parameters, SocketAddrV4::new(host(), 80));
        assert_eq!((plan.sources[0].addresses.len(), plan.drain), (1000, 15.0));
    }
}
