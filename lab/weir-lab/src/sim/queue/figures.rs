//! The results of `weir-lab sim queue`, as JSON and as a table.

use serde::Serialize;
use weir_sim::queue::{Queue, Tally};
use weir_sim::replications::estimate;

use crate::failure::{Failure, failed};

/// Where the jobs came from.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Source {
    /// Random ones.
    Law { law: String, load: f64, warmup: u64 },
    /// A file; all its work ÷ the time from its first to its last arrival, if that is any.
    Trace {
        trace: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        load: Option<f64>,
    },
}

/// Field names are stable: scripts read them. Times are in the unit of the sizes.
#[derive(Serialize)]
pub(super) struct Figures {
    policy: &'static str,
    #[serde(flatten)]
    source: Source,
    /// Counted in all repetitions.
    jobs: u64,
    replications: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    quantum: Option<f64>,
    mean_response: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    mean_response_ci95: Option<f64>,
    response_p50: f64,
    response_p90: f64,
    response_p99: f64,
    response_p999: f64,
    max_response: f64,
    mean_slowdown: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    mean_slowdown_ci95: Option<f64>,
    slowdown_p50: f64,
    slowdown_p90: f64,
    slowdown_p99: f64,
    slowdown_p999: f64,
    max_slowdown: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    late_vs_ps: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    worst_lateness: Option<f64>,
    events_per_second: f64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    by_size: Vec<Class>,
}

#[derive(Serialize)]
struct Class {
    from: f64,
    jobs: u64,
    mean_response: f64,
    mean_slowdown: f64,
}

/// All repetitions together, and the means of each for their interval.
#[derive(Default)]
pub(super) struct Runs {
    all: Option<Tally>,
    responses: Vec<f64>,
    slowdowns: Vec<f64>,
}

impl Runs {
    /// One more repetition.
    pub(super) fn add(&mut self, run: Tally) {
        self.responses.extend(run.mean_response());
        self.slowdowns.extend(run.mean_slowdown());
        match &mut self.all {
            Some(all) => all.merge(&run),
            None => self.all = Some(run),
        }
    }
}

impl Figures {
    /// Of some repetitions.
    pub(super) fn of(
        queue: &Queue,
        source: Source,
        runs: &Runs,
        events_per_second: f64,
    ) -> Result<Figures, Failure> {
        Figures::some(queue, source, runs, events_per_second)
            .ok_or_else(|| failed("no job was counted"))
    }

    fn some(queue: &Queue, source: Source, runs: &Runs, events_per_second: f64) -> Option<Figures> {
        let all = runs.all.as_ref()?;
        let (responses, slowdowns) = (all.responses(), all.slowdowns());
        let between = |means: &[f64]| estimate(means)?.ci95;
        let (response_ci95, slowdown_ci95) = if runs.responses.len() == 1 {
            let half = |interval: weir_stats::confidence::Interval| interval.half_width;
            (all.response_interval().map(half), all.slowdown_interval().map(half))
        } else {
            (between(&runs.responses), between(&runs.slowdowns))
        };
        let class = |class: weir_sim::queue::Class| Class {
            from: class.from,
            jobs: class.jobs,
            mean_response: class.mean_response,
            mean_slowdown: class.mean_slowdown,
        };
        Some(Figures {
            policy: queue.discipline.name(),
            source,
            jobs: all.jobs(),
            replications: runs.responses.len(),
            quantum: queue.quantum_used(),
            mean_response: all.mean_response()?,
            mean_response_ci95: response_ci95,
            response_p50: responses.percentile(0.5)?,
            response_p90: responses.percentile(0.9)?,
            response_p99: responses.percentile(0.99)?,
            response_p999: responses.percentile(0.999)?,
            max_response: responses.max()?,
            mean_slowdown: all.mean_slowdown()?,
            mean_slowdown_ci95: slowdown_ci95,
            slowdown_p50: slowdowns.percentile(0.5)?,
            slowdown_p90: slowdowns.percentile(0.9)?,
            slowdown_p99: slowdowns.percentile(0.99)?,
            slowdown_p999: slowdowns.percentile(0.999)?,
            max_slowdown: slowdowns.max()?,
            late_vs_ps: all.late(),
            worst_lateness: all.worst_lateness(),
            events_per_second,
            by_size: all.classes().into_iter().map(class).collect(),
        })
    }

    /// A table.
    pub(super) fn text(&self) -> String {
        let number = |value: f64| format!("{value:.6}");
        let within = |mean: f64, ci95: Option<f64>| match ci95 {
            Some(half) => format!("{mean:.6} ± {half:.6} (95 %)"),
            None => number(mean),
        };
        let (from, load) = match &self.source {
            Source::Law { law, load, warmup } => {
                (law.clone(), format!("{load} ({warmup} jobs to warm up)"))
            }
            Source::Trace { trace, load } => {
                (trace.clone(), load.map_or_else(String::new, |load| format!("{load:.4}")))
            }
        };
        let late = |share: f64| {
            let worst = self.worst_lateness.unwrap_or_default();
            format!("{:.4} % of the jobs, the worst by {worst:.6}", share * 100.0)
        };
        let rows = [
            ("policy", self.policy.to_owned()),
            ("jobs from", from),
            ("load", load),
            ("jobs", format!("{} in {} runs", self.jobs, self.replications)),
            ("quantum", self.quantum.map_or_else(String::new, number)),
            ("mean response", within(self.mean_response, self.mean_response_ci95)),
            ("  median", number(self.response_p50)),
            ("  90 %", number(self.response_p90)),
            ("  99 %", number(self.response_p99)),
            ("  99.9 %", number(self.response_p999)),
            ("  largest", number(self.max_response)),
            ("mean slowdown", within(self.mean_slowdown, self.mean_slowdown_ci95)),
            ("  median", number(self.slowdown_p50)),
            ("  90 %", number(self.slowdown_p90)),
            ("  99 %", number(self.slowdown_p99)),
            ("  99.9 %", number(self.slowdown_p999)),
            ("  largest", number(self.max_slowdown)),
            ("later than ps", self.late_vs_ps.map_or_else(String::new, late)),
            ("events/s", format!("{:.0}", self.events_per_second)),
        ];
        let shown = rows.iter().filter(|(_, value)| !value.is_empty());
        let mut text: String = shown.map(|(name, value)| format!("{name:<16}{value}\n")).collect();
        if !self.by_size.is_empty() {
            text += "\nsize from         jobs         mean response  mean slowdown\n";
        }
        for class in &self.by_size {
            let Class { from, jobs, mean_response, mean_slowdown } = class;
            text +=
                &format!("{from:<16.6}  {jobs:<11}  {mean_response:<13.6}  {mean_slowdown:.6}\n");
        }
        text
    }
}
