//! `weir-costs logs`: what an access log costs weir and nginx at full rate, and whether every answer has its
//! line. nginx writes each line by itself, or 64 KB at a time; weir always writes what has come meanwhile.

mod lines;

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Serialize;
use weir_peers::nginx::{AccessLog, LogFormat};
use weir_peers::{Error, Result};
use weir_stand::root;
use weir_stats::confidence::median_interval;
use weir_workload::documents::Documents;

use crate::bars::{Bar, Findings};
use crate::client::Client;
use crate::compare::{ByRound, to_lowest};
use crate::connections::SIZE;
use crate::files::one_file;
use crate::measure::{self, Cost};
use crate::network::Network;
use crate::options::{Logging, LogsOptions};
use crate::server::{Role, Server, Setup};
use crate::system::{System, weir_and_nginx_only};
use crate::table::{heading, median, row, spread};
use crate::turns::in_turns;
use crate::variant::Variant;
use crate::{machine, results};
use lines::Lines;

/// Connections that servers have room for beyond those that are meant to be open at once.
const SPARE: usize = 1000;
/// Seconds of load before the rounds, at most.
const WARM: f64 = 1.0;
/// What weir may cost over the best of nginx, with a log in JSON.
const MOST: f64 = 1.0;
/// What clients say of themselves, which the log has.
const HEADERS: &str = "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0\r\n\
                       Referer: http://www.example.org/products/overview\r\n";

/// One round of one system, a line in logs.jsonl.
#[derive(Clone, Debug, Serialize)]
struct Round {
    format: Logging,
    round: u64,
    system: String,
    #[serde(flatten)]
    cost: Cost,
    /// Answers less lines; none without a log.
    lost: Option<i64>,
    valid: bool,
}

/// A server and its log.
struct Logger {
    name: String,
    server: Server,
    lines: Option<Lines>,
}

/// What all share.
struct Stand<'a> {
    options: &'a LogsOptions,
    files: usize,
    root: PathBuf,
    logs: PathBuf,
    bodies: Arc<[u8]>,
}

/// Measure every format; print the tables and the verdicts.
pub(crate) fn run(options: &LogsOptions) -> Result<()> {
    weir_and_nginx_only(&options.systems, "`weir-costs logs`")?;
    let out = &options.common.out;
    let stand = Stand::make(options)?;
    let mut lines = results::create(out, "logs.jsonl")?;
    let mut all = Findings::default();
    for &format in &options.formats {
        let found = measure(&stand, format, &mut lines)?;
        print!("{}", found.text);
        all.add(found);
    }
    results::findings(out, "logs.md", &all)?;
    let _ = fs::remove_dir_all(&stand.logs);
    let _ = fs::remove_dir_all(&stand.root);
    Ok(())
}

impl<'a> Stand<'a> {
    fn make(options: &'a LogsOptions) -> Result<Stand<'a>> {
        let out = &options.common.out;
        let files = machine::prepare(out)?;
        let (root, logs) = (out.join("logs-files"), out.join("logs"));
        let documents = Documents::of_sizes(&[SIZE], 0);
        root::make(&documents, &root)?;
        // What a run left that was killed.
        let _ = fs::remove_dir_all(&logs);
        root::open(&logs)?;
        // weir opens its log as the user that `--as-user` says.
        fs::set_permissions(&logs, Permissions::from_mode(0o777))
            .map_err(|e| Error::file("open to all", &logs, &e))?;
        Ok(Stand { options, files, root, logs, bodies: documents.bodies().into() })
    }

    /// Start a server with a log, and count its lines.
    fn start(&self, system: System, format: Logging, buffered: bool) -> Result<Logger> {
        // What differs in its name runs at the same time.
        let is_other = buffered && system != System::Weir;
        let name = if is_other { format!("{system}-buffered") } else { system.to_string() };
        let file = self.logs.join(format!("{name}.log"));
        let of = |format| AccessLog { file: file.clone(), format, buffered };
        let variant = Variant {
            name: is_other.then(|| "buffered".to_owned()),
            access_log: log_format(format).map(of),
            ..Variant::default()
        };
        let setup = Setup {
            common: &self.options.common,
            role: Role::Files,
            variant: &variant,
            network: &Network::HOST,
            root: &self.root,
            connections: self.options.connections + SPARE,
            files: self.files,
            tls: None,
        };
        let server = Server::start(system, &setup)?;
        let lines = variant.access_log.as_ref().map(|log| Lines::of(&log.file)).transpose()?;
        Ok(Logger { name, server, lines })
    }

    /// Start all that log in a format.
    fn start_all(&self, format: Logging) -> Result<Vec<Logger>> {
        let mut loggers = Vec::new();
        for &system in &self.options.systems {
            loggers.push(self.start(system, format, false)?);
            if system != System::Weir && format != Logging::Off {
                loggers.push(self.start(system, format, true)?);
            }
        }
        Ok(loggers)
    }
}

fn log_format(format: Logging) -> Option<LogFormat> {
    match format {
        Logging::Off => None,
        Logging::Combined => Some(LogFormat::Combined),
        Logging::Json => Some(LogFormat::Json),
    }
}

/// Measure a format with all systems in turns.
fn measure(stand: &Stand<'_>, format: Logging, lines: &mut File) -> Result<Findings> {
    let mut loggers = stand.start_all(format)?;
    for logger in &mut loggers {
        one(stand, logger, stand.options.seconds.min(WARM))?;
    }
    let turns: Vec<usize> = (0..loggers.len()).collect();
    let mut rounds = Vec::new();
    in_turns(stand.options.rounds, &turns, |round, &turn| {
        let logger = &mut loggers[turn];
        let (cost, lost) = one(stand, logger, stand.options.seconds)?;
        let (system, valid) = (logger.name.clone(), cost.valid());
        let told = lost.map_or(String::new(), |lost| format!(", {lost} lines lost"));
        eprintln!("{format:?} round {} {system:<23} {cost}{told}", round + 1);
        let row = Round { format, round, system, cost, lost, valid };
        results::line(lines, &row)?;
        rounds.push(row);
        Ok(())
    })?;
    let names: Vec<&str> = loggers.iter().map(|logger| logger.name.as_str()).collect();
    Ok(tell(format, &names, &rounds))
}

/// A stretch of load, with its cost until its last line is written, and the lines that were not.
fn one(stand: &Stand<'_>, logger: &mut Logger, seconds: f64) -> Result<(Cost, Option<i64>)> {
    let Logger { name, server, lines } = logger;
    if let Some(lines) = lines {
        lines.drop_all()?;
    }
    let client = Client {
        server: server.address,
        bodies: Arc::clone(&stand.bodies),
        headers: HEADERS.to_owned(),
        close: false,
        tls: None,
    };
    let (mut answered, mut lost) = (0, None);
    let cost = measure::spent(server, || {
        // All requests are waited for, so there is none that the server has answered and the client not.
        let outcome = client.closed(one_file(SIZE), stand.options.connections, seconds)?;
        outcome.check(name)?;
        answered += outcome.requests;
        if let Some(lines) = lines {
            lost = Some(answered as i64 - lines.wait_for(answered)? as i64);
        }
        Ok((outcome.requests, outcome.rate()))
    })?;
    if let Some(lines) = lines {
        lines.drop_all()?;
    }
    Ok((cost, lost))
}

fn tell(format: Logging, names: &[&str], rounds: &[Round]) -> Findings {
    let words = match format {
        Logging::Off => "No access log",
        Logging::Combined => "Access log in the Combined format",
        Logging::Json => "Access log in JSON",
    };
    let mut text = format!("\n### {words}\n\n");
    let columns =
        ["system", "CPU µs/request", "in the kernel", "requests/s", "answers", "lines lost"];
    text.push_str(&heading(&columns));
    let mut costs = ByRound::new();
    for &name in names {
        let own = || rounds.iter().filter(|round| round.system == name);
        let of = |value: fn(&Cost) -> f64| -> Vec<f64> {
            own().map(|round| value(&round.cost)).collect()
        };
        let microseconds = of(|cost| cost.microseconds);
        let lost: Option<i64> = own().map(|round| round.lost).sum();
        let answers: u64 = own().map(|round| round.cost.requests).sum();
        text.push_str(&row([
            name.to_owned(),
            spread(&microseconds, 2),
            format!("{:.0} %", median(&of(|cost| cost.system_share)) * 100.0),
            format!("{:.0}", median(&of(|cost| cost.per_second))),
            answers.to_string(),
            lost.map_or("–".into(), |lost| lost.to_string()),
        ]));
        costs.push((name.to_owned(), microseconds));
    }
    let ratio = to_lowest(&costs);
    let told = ratio.as_ref().map_or_else(|why| format!("No ratio: {why}."), |ratio| ratio.words());
    text.push_str(&format!("\n{told}\n"));
    let mut findings = Findings::default();
    if format == Logging::Json {
        findings.ratio(
            "CPU per request with a log in JSON, ÷ the best of nginx",
            ratio,
            Bar::AtMost(MOST),
        );
    }
    if format != Logging::Off {
        let lost = rounds.iter().filter(|round| round.system == "weir").filter_map(|r| r.lost);
        let lost: Vec<f64> =
            lost.map(|lost| lost as f64).max_by(f64::total_cmp).into_iter().collect();
        let what = format!("{words}: most lines that were lost in a round");
        findings.figure(what, median_interval(&lost), "lines", Bar::AtMost(0.0));
    }
    findings.text = text;
    findings.marked = rounds.iter().filter(|round| !round.valid).count();
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(system: &str, microseconds: f64, lost: i64) -> Round {
        let cost = Cost {
            requests: 1000,
            per_second: 500.0,
            microseconds,
            system_share: 0.5,
            steal: 0.0,
            others: 0.0,
        };
        let lost = Some(lost);
        Round { format: Logging::Json, round: 0, system: system.into(), cost, lost, valid: true }
    }

    #[test]
    fn a_line_that_is_lost_in_any_round_misses_the_bar() {
        let rounds = [
            round("weir", 9.0, 0),
            round("weir", 9.0, 0),
            round("weir", 9.0, 7),
            round("nginx-sendfile", 12.0, 0),
            round("nginx-sendfile", 12.0, 0),
            round("nginx-sendfile", 12.0, 0),
        ];
        let found = tell(Logging::Json, &["weir", "nginx-sendfile"], &rounds);
        assert!(found.text.contains("| 3000 | 7 |") && found.text.contains("| 3000 | 0 |"));
        let verdicts = found.verdicts();
        let line = |what: &str| verdicts.lines().find(|line| line.contains(what)).expect("a line");
        assert!(line("÷ the best of nginx").contains("0.750 × nginx-sendfile"), "{verdicts}");
        assert!(line("lines that were lost").ends_with("| missed |"), "{verdicts}");
    }
}
