//! `weir-costs slow-clients`: what thousands of slow clients do to the response times of normal ones, and
//! what each costs a server in memory.

mod crowd;

use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::Serialize;
use weir_peers::nginx::Reading;
use weir_peers::processes::{self, Memory};
use weir_peers::{Error, Result};
use weir_stand::root;
use weir_stats::confidence::median_interval;
use weir_workload::documents::Documents;

use crate::bars::{Bar, Findings};
use crate::beside::{beside, give_way};
use crate::client::Client;
use crate::connections::{OTHER_FILES, SIZE};
use crate::files::{one_file, poisson};
use crate::network::Network;
use crate::options::{CrowdKind, SlowClientsOptions};
use crate::outcome::Outcome;
use crate::server::{Role, Server, Setup};
use crate::system::{System, weir_and_nginx_only};
use crate::table::{heading, median, row, spread};
use crate::turns::in_turns;
use crate::variant::Variant;
use crate::{machine, results};
use crowd::{Crowd, LARGE, Numbers, Pace};

/// Connections of normal clients that there is room for, and files that a server has open beside those.
const NORMAL: usize = 1000;
/// Requests at a time while a server warms up.
const UNDER_WAY: usize = 64;
/// A server has so long for each slow client to take them in before it is measured: thousands that come within
/// a second are another question.
const SETTLED: Duration = Duration::from_micros(300);
/// Times the 99th percentile alone that normal requests may take beside slow clients.
const MOST: f64 = 1.2;
/// Slow clients that do less of their work than this are not there.
const LEAST_KEPT: f64 = 0.9;

/// One round of one system, a line in slow-clients.jsonl.
#[derive(Clone, Debug, Serialize)]
struct Round {
    crowd: CrowdKind,
    round: u64,
    system: String,
    /// Normal requests a second.
    rate: f64,
    slow: Numbers,
    alone: Times,
    elsewhere: Times,
    beside: Times,
    before: Memory,
    after: Memory,
    pace: Pace,
    valid: bool,
}

/// Response times of normal requests in milliseconds.
#[derive(Clone, Copy, Debug, Serialize)]
struct Times {
    p50: f64,
    p99: f64,
}

impl Round {
    /// The 99th percentile beside slow clients ÷ that alone.
    fn ratio(&self) -> f64 {
        self.beside.p99 / self.alone.p99
    }

    /// The same ÷ that while the slow clients are at another server.
    fn ratio_of_elsewhere(&self) -> f64 {
        self.beside.p99 / self.elsewhere.p99
    }

    /// Bytes that a slow client takes of a kind of memory.
    fn each(&self, kind: fn(&Memory) -> u64) -> f64 {
        (kind(&self.after) as f64 - kind(&self.before) as f64) / self.slow.total().max(1) as f64
    }
}

/// What all share.
struct Stand<'a> {
    options: &'a SlowClientsOptions,
    /// Files a process may have open.
    files: usize,
    root: PathBuf,
    bodies: Arc<[u8]>,
    backend: Server,
}

/// Measure every crowd; print the tables and the verdicts.
pub(crate) fn run(options: &SlowClientsOptions) -> Result<()> {
    weir_and_nginx_only(&options.systems, "`weir-costs slow-clients`")?;
    let out = &options.common.out;
    let stand = Stand::make(options)?;
    let mut lines = results::create(out, "slow-clients.jsonl")?;
    let mut all = Findings::default();
    let mut failed = 0;
    for &crowd in &options.crowds {
        let found = measure(&stand, crowd, &mut lines, &mut failed)?;
        print!("{}", found.text);
        all.add(found);
    }
    results::findings(out, "slow-clients.md", &all)?;
    let _ = fs::remove_dir_all(&stand.root);
    match failed {
        0 => Ok(()),
        _ => Err("not all was measured: see FAILED above".into()),
    }
}

impl<'a> Stand<'a> {
    fn make(options: &'a SlowClientsOptions) -> Result<Stand<'a>> {
        let out = &options.common.out;
        let files = machine::prepare(out)?;
        let root = out.join("slow-clients");
        let documents = Documents::of_sizes(&[SIZE, LARGE], 0);
        root::make(&documents, &root)?;
        // No upload ever ends, so it is asked for nothing.
        let setup = Setup {
            common: &options.common,
            role: Role::Backend,
            variant: &Variant::default(),
            network: &Network::HOST,
            root: &root,
            connections: NORMAL,
            files,
            tls: None,
        };
        let backend = Server::start(System::Nginx(Reading::Sendfile), &setup)?;
        // It is on the clients' core, and works for slow ones only.
        backend.processes().into_iter().try_for_each(give_way)?;
        Ok(Stand { options, files, root, bodies: documents.bodies().into(), backend })
    }

    /// A fresh server with room for so many slow clients.
    fn start(&self, system: System, slow: usize) -> Result<Server> {
        let variant = Variant { uploads: Some(self.backend.address), ..Variant::default() };
        let setup = Setup {
            common: &self.options.common,
            role: Role::Files,
            variant: &variant,
            network: &Network::HOST,
            root: &self.root,
            connections: slow + NORMAL,
            files: self.files,
            tls: None,
        };
        Server::start(system, &setup)
    }

    fn client(&self, server: &Server) -> Client {
        Client {
            server: server.address,
            bodies: Arc::clone(&self.bodies),
            headers: String::new(),
            close: false,
            tls: None,
        }
    }

    /// How many of a kind there are, and why not more.
    fn numbers(&self, crowd: CrowdKind) -> (Numbers, String) {
        let SlowClientsOptions { heads, uploads, readers, .. } = *self.options;
        let wanted = Numbers { heads, uploads, readers }.only(crowd);
        let room = self.files.saturating_sub(OTHER_FILES + 2 * NORMAL);
        let numbers = wanted.within(room);
        let why = if numbers == wanted {
            String::new()
        } else {
            format!(
                "\n{} slow clients are wanted; this system lets a process open {} files.\n",
                wanted.total(),
                self.files
            )
        };
        (numbers, why)
    }
}

/// Measure a crowd with all systems in turns.
fn measure(
    stand: &Stand<'_>,
    crowd: CrowdKind,
    lines: &mut File,
    failed: &mut u32,
) -> Result<Findings> {
    let (numbers, why) = stand.numbers(crowd);
    let mut rounds = Vec::new();
    let mut failures = String::new();
    in_turns(stand.options.rounds, &stand.options.systems, |round, &system| {
        let row = match one(stand, crowd, numbers, system, round) {
            Ok(row) => row,
            Err(why) => {
                // The other systems and crowds are worth having.
                eprintln!("failed: {why}");
                failures.push_str(&format!("\nFAILED: {crowd:?} beside {system}: {why}\n"));
                *failed += 1;
                return Ok(());
            }
        };
        eprintln!(
            "{crowd:?} round {} {:<14} p99 {:.3} ms alone, {:.3} and {:.3} ms beside {} slow clients of another server and of this one, {:.1} cut a second{}",
            round + 1,
            row.system,
            row.alone.p99,
            row.elsewhere.p99,
            row.beside.p99,
            numbers.total(),
            row.pace.cut,
            if row.valid { "" } else { " INVALID" },
        );
        results::line(lines, &row)?;
        rounds.push(row);
        Ok(())
    })?;
    let mut found = tell(crowd, numbers, &stand.options.systems, &rounds);
    found.text.push_str(&format!("{why}{failures}"));
    Ok(found)
}

fn one(
    stand: &Stand<'_>,
    crowd: CrowdKind,
    slow: Numbers,
    system: System,
    round: u64,
) -> Result<Round> {
    let name = system.to_string();
    let server = stand.start(system, slow.total())?;
    let client = stand.client(&server);
    // What serving needs at all is there before the first reading.
    client.closed(Box::new(one_file(SIZE).take(1000)), UNDER_WAY, 10.0)?.check(&name)?;
    let (seconds, rate) = (stand.options.seconds, stand.options.rate);
    let seed = stand.options.common.seed + round;
    let normal = |seed: u64| -> Result<Outcome> {
        let found = client.open(poisson(SIZE, rate, seconds, seed)?, seconds)?;
        found.check(&format!("{name}, normal requests"))?;
        Ok(found)
    };
    let beside_slow_ones_of = |server: &Server| {
        let mut slow_ones = Crowd::gather(server.address, slow)?;
        let end = AtomicBool::new(false);
        let (found, pace) = beside(
            || {
                std::thread::sleep(SETTLED * slow.total() as u32);
                let found = normal(seed);
                end.store(true, Ordering::Relaxed);
                found
            },
            || slow_ones.go_on(&end),
        )?;
        Ok::<_, Error>((found, pace, slow_ones))
    };
    let alone = normal(seed)?;
    let (elsewhere, ..) = beside_slow_ones_of(&stand.start(system, slow.total())?)?;
    let before = processes::memory(&server.processes())?;
    let (found, pace, slow_ones) = beside_slow_ones_of(&server)?;
    let after = processes::memory(&server.processes())?;
    drop(slow_ones);
    let times = |outcome: &Outcome| Times { p50: outcome.p50, p99: outcome.p99 };
    Ok(Round {
        crowd,
        round,
        system: name,
        rate,
        slow,
        alone: times(&alone),
        elsewhere: times(&elsewhere),
        beside: times(&found),
        before,
        after,
        pace,
        valid: [alone, elsewhere, found].iter().all(Outcome::is_on_time) && pace.kept >= LEAST_KEPT,
    })
}

fn tell(crowd: CrowdKind, numbers: Numbers, systems: &[System], rounds: &[Round]) -> Findings {
    let Numbers { heads, uploads, readers } = numbers;
    let beside = match crowd {
        CrowdKind::Heads => format!("{heads} slow heads"),
        CrowdKind::Uploads => format!("{uploads} slow uploads"),
        CrowdKind::Readers => format!("{readers} slow readers"),
        CrowdKind::All => {
            format!("{heads} slow heads, {uploads} slow uploads and {readers} slow readers")
        }
    };
    let mut text = format!("\n### Normal clients beside {beside}\n\n");
    text.push_str(&heading(&[
        "system",
        "normal requests/s",
        "p50 alone, ms",
        "p50 beside",
        "p99 alone, ms",
        "p99 elsewhere",
        "p99 beside",
        "p99 beside ÷ alone",
        "p99 beside ÷ elsewhere",
        "anonymous bytes each",
        "PSS bytes each",
        "cut/s",
    ]));
    let mut findings = Findings::default();
    for system in systems.iter().map(ToString::to_string) {
        let of = |value: &dyn Fn(&Round) -> f64| -> Vec<f64> {
            rounds.iter().filter(|r| r.system == system).map(value).collect()
        };
        let ratios = of(&Round::ratio);
        text.push_str(&row([
            system.clone(),
            format!("{:.0}", median(&of(&|r| r.rate))),
            spread(&of(&|r| r.alone.p50), 3),
            spread(&of(&|r| r.beside.p50), 3),
            spread(&of(&|r| r.alone.p99), 3),
            spread(&of(&|r| r.elsewhere.p99), 3),
            spread(&of(&|r| r.beside.p99), 3),
            spread(&ratios, 2),
            spread(&of(&Round::ratio_of_elsewhere), 2),
            format!("{:.0}", median(&of(&|r| r.each(|memory| memory.anonymous)))),
            format!("{:.0}", median(&of(&|r| r.each(|memory| memory.proportional)))),
            format!("{:.1}", median(&of(&|r| r.pace.cut))),
        ]));
        if system == "weir" {
            let what = format!("p99 of normal requests beside {beside}");
            findings.figure(what, median_interval(&ratios), "× alone", Bar::AtMost(MOST));
            let what = format!("the same, ÷ beside {beside} of another server on the same core");
            let ratios = of(&Round::ratio_of_elsewhere);
            findings.figure(what, median_interval(&ratios), "× elsewhere", Bar::AtMost(MOST));
        }
    }
    findings.text = text;
    findings.marked = rounds.iter().filter(|round| !round.valid).count();
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(system: &str, beside: f64) -> Round {
        Round {
            crowd: CrowdKind::Heads,
            round: 0,
            system: system.into(),
            rate: 1000.0,
            slow: Numbers { heads: 100, uploads: 0, readers: 0 },
            alone: Times { p50: 1.0, p99: 2.0 },
            elsewhere: Times { p50: 1.0, p99: 2.0 },
            beside: Times { p50: 1.0, p99: beside },
            before: Memory { anonymous: 1_000_000, proportional: 2_000_000 },
            after: Memory { anonymous: 1_200_000, proportional: 2_300_000 },
            pace: Pace { cut: 0.5, kept: 1.0 },
            valid: beside < 4.0,
        }
    }

    #[test]
    fn normal_clients_and_memory_are_told_for_each_system() {
        let nginx = System::Nginx(Reading::Sendfile);
        let rounds = [round("weir", 2.2), round("nginx-sendfile", 4.0)];
        let found = tell(CrowdKind::Heads, rounds[0].slow, &[System::Weir, nginx], &rounds);
        assert!(
            found.text.contains("### Normal clients beside 100 slow heads\n"),
            "{}",
            found.text
        );
        assert!(
            found.text.contains("| 1.10 (1.10–1.10) | 1.10 (1.10–1.10) | 2000 | 3000 | 0.5 |"),
            "{}",
            found.text
        );
        assert!(
            found.text.contains("| 2.00 (2.00–2.00) | 2.00 (2.00–2.00) | 2000 |"),
            "{}",
            found.text
        );
        let verdicts = found.verdicts();
        assert!(
            verdicts.contains("1.100 × alone") && verdicts.contains("| reached |"),
            "{verdicts}"
        );
        assert!(verdicts.ends_with("in 1 measurements.\n"), "{verdicts}");
    }
}
