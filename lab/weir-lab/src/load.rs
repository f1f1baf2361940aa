//! `weir-lab load`: makes a plan of the flags, runs it, shows the figures, and turns them into an
//! exit status.

mod arguments;
mod demand;
mod describe;
mod figures;
mod output;
mod page;
mod planned;
mod progress;
mod replay;
mod secure;
mod session;
mod tally;
mod target;
mod text;
mod thinkers;
mod values;
mod view;

use std::io::IsTerminal;
use std::net::IpAddr;
use std::sync::PoisonError;
use std::time::SystemTime;

use weir_load::{Body, Plan, Source, Tls};

use crate::failure::{Failure, failed, invalid_usage};
use crate::print;
use crate::words;
pub(crate) use arguments::Arguments;
use figures::{FORMAT, Figures, TlsFigures};
use planned::{Open, Planned, link_bytes_per_second, wire};
use session::{Display, Ended, Session};
use tally::{Link, Tally};
use target::Target;
use view::View;

/// Exit status when more requests failed than may.
const FAILED: u8 = 3;
/// Exit status when figures are not valid.
const INVALID: u8 = 4;

pub(crate) fn run(arguments: Arguments) -> Result<(), Failure> {
    let sources: Vec<IpAddr> =
        arguments.class.iter().flat_map(|class| class.addresses.clone()).collect();
    let target = Target::of(&arguments.url, arguments.host.as_deref(), &sources)?;
    let mut names: Vec<String> = arguments.class.iter().map(|class| class.name.clone()).collect();
    names.sort_unstable();
    if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(invalid_usage(format!("two classes are called {}", twice[0])));
    }
    output::check(&arguments)?;
    let tls = arguments.secure.tls(&target)?;
    let planned = demand::plan(&arguments, &target)?;
    let link = link_bytes_per_second(&arguments);
    let link = link.map(|rate| Link { bytes_per_second: rate, wire: wire(&arguments) });
    let mut words = words(&arguments, &target, &planned);
    check_limits(&planned, sources.len(), &mut words)?;
    if !arguments.quiet {
        print::tell(&text::plan(&words));
    }

    let names: Vec<String> = arguments.class.iter().map(|class| class.name.clone()).collect();
    let mut tally = Tally::new(&names, link);
    let started_at = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let session = Session {
        plan: plan(&arguments, &target, &planned, tls),
        demand: planned.demand,
        scheduled: planned.scheduled,
        duration: planned.duration,
        ends_if_refused: arguments.allow_failed.fraction() < 1.0,
        records: arguments.records.as_deref(),
    };
    let display = display(&arguments, &target);
    let ended = session.run(&mut tally, display)?;

    let mut figures = Figures {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION"),
        started_at,
        url: arguments.url.clone(),
        server: target.server.to_string(),
        seed: arguments.seed,
        plan: words,
        trace_lines_skipped: planned.skipped,
        ..Figures::default()
    };
    fill_in(&mut figures, &ended, &tally);
    output::write(&arguments, &figures)?;
    let broken = planned
        .broken
        .and_then(|broken| broken.lock().unwrap_or_else(PoisonError::into_inner).take());
    if let Some(message) = broken {
        return Err(failed(message));
    }
    if let Err(error) = ended.records {
        return Err(failed(error));
    }
    if let Some(number) = ended.refused {
        let number = words::count(number);
        let message = match figures.tls.and_then(|tls| tls.failure) {
            Some(why) => format!(
                "ended early: all {number} requests were refused; TLS with {}: {why}; --ca or \
                 --insecure says whose certificates are taken",
                target.server
            ),
            None => format!(
                "ended early: all {number} requests were refused, so nothing listens at {}",
                target.server
            ),
        };
        return Err(Failure { message, code: FAILED });
    }
    verdict(&arguments, &figures)
}

/// What the generator is to do beside the demand.
fn plan(arguments: &Arguments, target: &Target, planned: &Planned, tls: Option<Tls>) -> Plan {
    let source = |class: &values::Class| Source { addresses: class.addresses.clone() };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    Plan {
        server: target.server,
        host: target.host.clone(),
        headers: arguments.header.iter().map(|header| header.0.as_str()).collect(),
        tls,
        sources: arguments.class.iter().map(source).collect(),
        requests_per_connection: arguments.requests_per_connection.get(),
        abort_after: arguments.abort_after,
        retries: arguments.retries,
        drain: arguments.drain,
        duration: planned.duration,
        slow_readers: arguments.slow_readers.map(|slow| (slow.share, slow.bytes_per_second)),
        body: Body::Any,
        // On a single core the server could not answer meanwhile.
        spin: !arguments.no_spin && cores > 1,
    }
}

/// The plan in words: the demand's and the users'.
fn words(arguments: &Arguments, target: &Target, planned: &Planned) -> Vec<(String, String)> {
    let mut words = vec![("server".to_owned(), format!("{} as {}", target.server, target.host))];
    if target.certificate_name.is_some() {
        words.push(("TLS".to_owned(), arguments.secure.words()));
    }
    words.extend(planned.words.iter().cloned());
    if let Some(duration) = planned.duration {
        let drain = arguments.drain;
        let wait =
            format!("{}, then up to {}", words::time(duration * 1e3), words::time(drain * 1e3));
        words.push(("duration".into(), format!("{wait} for what is still open")));
    }
    let connection = match arguments.requests_per_connection.get() {
        1 => "a connection per request".to_owned(),
        number => format!("up to {number} requests per connection"),
    };
    let patience = arguments.abort_after.map_or("wait for ever".to_owned(), |seconds| {
        format!("give up after {}", words::time(seconds * 1e3))
    });
    let retries = match arguments.retries {
        0 => String::new(),
        1 => ", try again once".to_owned(),
        number => format!(", try again up to {number} times"),
    };
    words.push(("users".into(), format!("{connection}; {patience}{retries}")));
    if let Some(slow) = arguments.slow_readers {
        let rate = words::bits(slow.bytes_per_second as f64 * 8.0);
        words.push((
            "slow".into(),
            format!("{} of the clients read {rate}", words::percent(slow.share)),
        ));
    }
    let all: f64 = arguments.class.iter().map(|class| class.weight).sum();
    for class in &arguments.class {
        let from: Vec<String> = class.addresses.iter().map(ToString::to_string).collect();
        let from = if from.is_empty() { "any address".to_owned() } else { from.join(", ") };
        let share = words::percent(class.weight / all);
        words.push((
            format!("class {}", class.name),
            format!("{share} of the requests, from {from}"),
        ));
    }
    words.push(("seed".into(), arguments.seed.to_string()));
    words
}

/// Refuses what this machine cannot open, before anything is sent.
fn check_limits(
    planned: &Planned,
    sources: usize,
    words: &mut Vec<(String, String)>,
) -> Result<(), Failure> {
    match planned.open {
        Open::Exactly(number) => weir_load::check_limits(number, sources).map_err(failed),
        // How many are open depends on the server; it is said when a slow one would be too much.
        Open::PerSecond(number) => {
            if let Err(error) = weir_load::check_limits(number.ceil() as u64, sources) {
                let note = format!("if responses take a second, {error}");
                words.push(("note".into(), note));
            }
            Ok(())
        }
    }
}

fn display(arguments: &Arguments, target: &Target) -> Display {
    let view = !arguments.plain && !arguments.quiet && !output::json_to_stdout(arguments);
    if view && std::io::stdout().is_terminal() {
        match View::open(format!(
            "weir-lab load {}://{}{}",
            target.scheme(),
            target.host,
            target.path
        )) {
            Ok(view) => return Display::View(view),
            Err(error) => print::tell(&format!("weir-lab: no live view: {error}\n")),
        }
    }
    if arguments.quiet { Display::None } else { Display::Lines }
}

/// Fills in what the generator says of itself and what the records tell, and judges it.
fn fill_in(figures: &mut Figures, ended: &Ended, tally: &Tally) {
    let report = &ended.report;
    figures.ended_early = ended.early;
    figures.duration_s = report.duration;
    figures.statuses = report.statuses.clone();
    figures.connections = report.connections;
    figures.connections_most_open = report.most_open;
    figures.received_head_bytes = report.head_bytes;
    figures.received_body_bytes = report.body_bytes;
    let handshakes = report.handshakes.as_ref();
    figures.tls = handshakes.map(|found| TlsFigures::of(found, report.socket_bytes));
    figures.steal_share = report.steal;
    figures.idle_share = report.idle;
    figures.generator_processor_s = report.processor_seconds;
    tally.figures(figures, report.duration);
    if tally.unusable() > 0 {
        figures.invalid.push(format!(
            "{} records of the generator are invalid and in no figure: this is a bug in weir-lab, please report it",
            tally.unusable()
        ));
    }
    figures.judge();
}

/// The exit status that the figures mean.
fn verdict(arguments: &Arguments, figures: &Figures) -> Result<(), Failure> {
    if figures.failed_share > arguments.allow_failed.fraction() {
        let statuses = match figures.statuses.is_empty() {
            true => String::new(),
            false => format!(" (with status {})", figures.statuses_in_words()),
        };
        let message = format!(
            "{} of {} requests failed{statuses}; --allow-failed says how many may",
            words::count(figures.failed),
            words::count(figures.requests)
        );
        return Err(Failure { message, code: FAILED });
    }
    if !figures.valid && !arguments.allow_invalid {
        let message = "figures are not valid (see INVALID above); use a machine or a rate that \
                       leaves the generator room, or --allow-invalid"
            .to_owned();
        return Err(Failure { message, code: INVALID });
    }
    Ok(())
}
