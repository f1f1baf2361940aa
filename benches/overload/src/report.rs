//! What a run leaves behind: the report as JSON, a summary for people, and CSV
//! files of all requests and of the late ones.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::connection::Record;
use crate::figures::{CLASSES, Ideal, Summary, summary};
use crate::options::TraceOptions;
use crate::trace::{self, Request};

/// One run. Times are milliseconds unless the name says otherwise.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) cell: String,
    pub(crate) system: String,
    pub(crate) scenario: String,
    pub(crate) seed: u64,
    pub(crate) requests: usize,
    /// Offered load of the high periods as it came out for this seed.
    pub(crate) high_load: f64,
    /// In scenario slow-readers the ordinary clients only, as in all below.
    pub(crate) measured: Summary,
    pub(crate) ideal_srpt: Summary,
    pub(crate) ideal_sharing: Summary,
    /// Mean over the requests that no slow reader makes, in every scenario.
    pub(crate) ordinary_mean: f64,
    /// The slow readers' own, in the scenario that has some.
    pub(crate) slow_readers: Option<Summary>,
    pub(crate) incomplete_share: f64,
    pub(crate) outcomes: BTreeMap<String, usize>,
    pub(crate) late_share: f64,
    pub(crate) worst_lateness: f64,
    /// Share of the rate sent in each high period, less its first 5 s.
    pub(crate) link_use: Vec<f64>,
    /// The same of an ideal server: below the pace where the trace left it idle.
    pub(crate) ideal_link_use: Vec<f64>,
    /// Bytes the bottleneck sent over the run / bytes of the wire model.
    pub(crate) bytes_over_model: f64,
    pub(crate) dropped_packets: u64,
    pub(crate) head_bytes: u64,
    pub start_lag_p99: f64,
    pub(crate) start_lag_max: f64,
    pub(crate) steal_share: f64,
    pub(crate) idle_share: f64,
    /// Why the run does not count; empty when it does.
    pub(crate) invalid: Vec<String>,
}

impl Report {
    /// Mean over that of exact SRPT.
    pub(crate) fn over_srpt(&self) -> f64 {
        self.measured.mean / self.ideal_srpt.mean
    }

    /// Mean over that of exact processor sharing.
    pub(crate) fn over_sharing(&self) -> f64 {
        self.measured.mean / self.ideal_sharing.mean
    }

    /// Mean link use of the high periods.
    pub(crate) fn mean_link_use(&self) -> f64 {
        self.link_use.iter().sum::<f64>() / self.link_use.len() as f64
    }

    /// A few lines for people.
    pub(crate) fn text(&self) -> String {
        let mut text = format!(
            "{} · {} · seed {}: {} requests, load in high periods {:.3}\n",
            self.system, self.scenario, self.seed, self.requests, self.high_load
        );
        text.push_str(&heading());
        text.push_str(&line("measured", &self.measured));
        text.push_str(&line("exact SRPT", &self.ideal_srpt));
        text.push_str(&line("exact PS", &self.ideal_sharing));
        if let Some(slow) = &self.slow_readers {
            text.push_str(&line("slow readers", slow));
        }
        let percent = |shares: &[f64]| {
            let each: Vec<String> = shares.iter().map(|s| format!("{s:.4}")).collect();
            each.join(" ")
        };
        let _ = writeln!(
            text,
            "mean {:.2} x exact SRPT, {:.2} x exact PS\n\
             incomplete {:.3} % {:?}; late {:.2} %, worst {:.0} ms\n\
             link use {} (ideal server {}); bytes / model {:.4}; drops {}; head {} B\n\
             start lag p99 {:.3} ms, max {:.3} ms; steal {:.2} %, idle {:.0} %",
            self.over_srpt(),
            self.over_sharing(),
            self.incomplete_share * 100.0,
            self.outcomes,
            self.late_share * 100.0,
            self.worst_lateness,
            percent(&self.link_use),
            percent(&self.ideal_link_use),
            self.bytes_over_model,
            self.dropped_packets,
            self.head_bytes,
            self.start_lag_p99,
            self.start_lag_max,
            self.steal_share * 100.0,
            self.idle_share * 100.0,
        );
        for reason in &self.invalid {
            let _ = writeln!(text, "INVALID: {reason}");
        }
        text
    }
}

/// The ideal figures of a trace, for people.
pub(crate) fn print_ideal(options: &TraceOptions) -> Result<()> {
    options.check()?;
    let shape = options.shape();
    let requests = trace::make(options.seed, &shape);
    let ideal = Ideal::of(&requests, options);
    let high = trace::offered_load(&requests, &shape, &shape.high_periods());
    println!(
        "seed {}: {} requests, load in high periods {high:.3}, server of {} x the rate",
        options.seed,
        requests.len(),
        options.pace
    );
    print!("{}", heading());
    for (name, finish) in [("exact SRPT", &ideal.srpt), ("exact PS", &ideal.sharing)] {
        print!("{}", line(name, &summary(&requests, finish, |_| true)));
    }
    Ok(())
}

fn heading() -> String {
    let mut text = format!("{:<13}", "ms");
    for word in ["mean", "median", "p95", "p99", "top 1 %"] {
        let _ = write!(text, "{word:>10}");
    }
    for (class, _) in CLASSES {
        let _ = write!(text, "{class:>10}");
    }
    text.push('\n');
    text
}

fn line(name: &str, s: &Summary) -> String {
    let mut text = format!("{name:<13}");
    for value in [s.mean, s.median, s.p95, s.p99, s.largest] {
        let _ = write!(text, "{value:>10.1}");
    }
    for value in &s.by_class {
        match value {
            Some(value) => _ = write!(text, "{value:>10.1}"),
            None => _ = write!(text, "{:>10}", "-"),
        }
    }
    text.push('\n');
    text
}

/// Write requests.csv, with every request, and late.csv, with those of `late`.
pub(crate) fn write_requests(
    out: &Path,
    requests: &[Request],
    records: &[Record],
    ideal: &Ideal,
    late: &[usize],
) -> Result<()> {
    let heading = "index,arrival_s,size,slow,outcome,start_lag_ms,finish_s,response_ms,srpt_finish_s,ps_finish_s\n";
    let row = |text: &mut String, i: usize| {
        let (request, record) = (&requests[i], &records[i]);
        let _ = writeln!(
            text,
            "{i},{:.6},{},{},{},{:.3},{:.6},{:.3},{:.6},{:.6}",
            request.at,
            request.size,
            u8::from(request.slow),
            record.outcome.name(),
            (record.started - request.at) * 1e3,
            record.finish,
            (record.finish - request.at) * 1e3,
            ideal.srpt[i],
            ideal.sharing[i],
        );
    };
    let mut all = String::from(heading);
    (0..requests.len()).for_each(|i| row(&mut all, i));
    let mut of_late = String::from(heading);
    late.iter().for_each(|&i| row(&mut of_late, i));
    write(&out.join("requests.csv"), &all)?;
    write(&out.join("late.csv"), &of_late)
}

/// Write a file of results.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(|e| format!("cannot write {}: {e}", path.display()))
}
