//! One case of `weir-lab sim backend`: its parameters and what came out. Made by the command, shown
//! by [`output`](super::output) and [`grid`](super::grid).

use serde::Serialize;
use weir_sim::backend::{Model, Results};
use weir_sim::dtoc;

use crate::print::with_interval;

/// One case: its parameters, then what came out (see [`Results`] and [`dtoc::Results`]).
#[derive(Serialize)]
pub(super) struct Row {
    /// `weir`, or `carter` for the paper's server.
    pub(super) system: &'static str,
    /// The gate's order, or the strategy of the paper's server.
    pub(super) order: String,
    /// The gate's limit as it was set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) limit: Option<String>,
    /// Mean over the shape if there is one.
    pub(super) load_percent: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) shape: Option<String>,
    /// Missing if nobody leaves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) patience_seconds: Option<f64>,
    pub(super) retries: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    application: Option<Application>,
    law: String,
    service_rate_per_second: f64,
    pub(super) warm_up_seconds: f64,
    pub(super) duration_seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) interval_seconds: Option<f64>,
    pub(super) replications: usize,
    #[serde(flatten)]
    pub(super) results: Outcome,
}

/// What stands behind the gate.
#[derive(Serialize)]
pub(super) struct Application {
    workers: u32,
    gap_seconds: f64,
    refused_ask_again: bool,
    one_address: bool,
    known_kinds: bool,
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Outcome {
    Gate(Box<Results>),
    Carter(Box<dtoc::Results>),
}

impl Row {
    pub(super) fn gate(model: &Model, load: f64, replications: usize, results: Results) -> Row {
        Row {
            system: "weir",
            order: model.gate.order.to_string(),
            limit: Some(model.gate.limit.to_string()),
            load_percent: load,
            shape: model.interval.map(|_| model.shape.to_string()),
            patience_seconds: model.patience.is_finite().then_some(model.patience),
            retries: model.retries,
            application: Some(Application {
                workers: model.workers,
                gap_seconds: model.gap,
                refused_ask_again: model.retry_refused,
                one_address: model.one_address,
                known_kinds: model.known,
            }),
            law: model.law.to_string(),
            service_rate_per_second: model.service_rate,
            warm_up_seconds: model.warm_up,
            duration_seconds: model.duration,
            interval_seconds: model.interval,
            replications,
            results: Outcome::Gate(Box::new(results)),
        }
    }

    pub(super) fn carter(
        model: &dtoc::Model,
        load: f64,
        replications: usize,
        results: dtoc::Results,
    ) -> Row {
        Row {
            system: "carter",
            order: model.strategy.to_string(),
            limit: None,
            load_percent: load,
            shape: model.interval.map(|_| model.shape.to_string()),
            patience_seconds: Some(model.timeout),
            retries: model.retries,
            application: None,
            law: model.law.to_string(),
            service_rate_per_second: model.service_rate,
            warm_up_seconds: model.warm_up,
            duration_seconds: model.duration,
            interval_seconds: model.interval,
            replications,
            results: Outcome::Carter(Box::new(results)),
        }
    }

    /// Its place in a grid of applications, line and column, and the useful work.
    pub(super) fn of_grid(&self) -> Option<(String, String, String)> {
        let (Outcome::Gate(results), Some(application)) = (&self.results, &self.application) else {
            return None;
        };
        let mean = rounded(1e3 / self.service_rate_per_second);
        let name = format!("{}, {} × {mean} ms", self.law, application.workers);
        let gap = format!("{} ms", rounded(1e3 * application.gap_seconds));
        Some((name, gap, format!("{:.1}", results.useful_work_percent)))
    }

    pub(super) fn figures(&self) -> Figures {
        match &self.results {
            Outcome::Gate(r) => Figures {
                useful: with_interval(r.useful_percent, r.useful_percent_ci95),
                work: with_interval(r.useful_work_percent, r.useful_work_percent_ci95),
                answered: r.success_percent,
                timed_out: r.timed_out_percent,
                refused: r.refused_percent,
                wasted: Some(r.wasted_work_percent),
                response: r.mean_response_seconds,
                p99: r.p99_answer_seconds,
                limit: Some(r.limit_mean),
                recovery: r.recovery.as_ref().and_then(|found| found.recovery_seconds),
            },
            Outcome::Carter(r) => Figures {
                useful: with_interval(r.useful_percent, r.useful_percent_ci95),
                work: with_interval(r.useful_work_percent, r.useful_work_percent_ci95),
                answered: r.success_percent,
                timed_out: r.timed_out_percent,
                refused: r.dropped_percent,
                response: r.mean_response_seconds,
                ..Figures::default()
            },
        }
    }
}

/// Without what is left over by rounding.
fn rounded(value: f64) -> f64 {
    (value * 1e6).round() / 1e6
}

/// What a line of the table says.
#[derive(Default)]
pub(super) struct Figures {
    pub(super) useful: String,
    pub(super) work: String,
    pub(super) answered: Option<f64>,
    pub(super) timed_out: Option<f64>,
    pub(super) refused: Option<f64>,
    pub(super) wasted: Option<f64>,
    pub(super) response: Option<f64>,
    pub(super) p99: Option<f64>,
    pub(super) limit: Option<f64>,
    pub(super) recovery: Option<f64>,
}
