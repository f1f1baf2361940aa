//! The applications that `weir-lab sim backend` simulates: every combination of the flags that are
//! given several values.

use std::sync::Arc;

use weir_sim::backend::Model;
use weir_workload::law::{self, Law};

use crate::failure::{Failure, invalid_usage};
use crate::values::seconds;

/// The application behind the gate.
#[derive(Debug, clap::Args)]
pub(super) struct Applications {
    /// Requests that it works on at a time; several with commas
    #[arg(long, value_name = "K", value_delimiter = ',', default_value = "1")]
    workers: Vec<u32>,

    /// What a request takes to reach it, with which the answer before it can only overlap if the
    /// limit lets more through than there are workers; several with commas
    #[arg(long, value_name = "TIME", value_delimiter = ',', default_value = "0.2ms")]
    #[arg(allow_negative_numbers = true, value_parser = seconds)]
    gap: Vec<f64>,

    /// Requests that each worker can answer in a second
    #[arg(long, value_name = "PER_SECOND", default_value_t = 100.0)]
    #[arg(allow_negative_numbers = true)]
    service_rate: f64,

    /// The same as the mean time that a worker takes for a request; several with commas
    #[arg(long, value_name = "TIME", value_delimiter = ',', conflicts_with = "service_rate")]
    #[arg(allow_negative_numbers = true, value_parser = seconds)]
    mean_service: Vec<f64>,

    /// Sizes, to which service times are in proportion; may be given several times
    #[arg(long, value_name = "LAW", default_value = "carter", long_help = law_help())]
    law: Vec<String>,
}

fn law_help() -> String {
    format!(
        "Sizes, to which service times are in proportion: constant, exponential, {}; may be given \
         several times",
        law::SYNTAX
    )
}

/// One of them.
#[derive(Clone, Debug)]
pub(super) struct Application {
    pub(super) workers: u32,
    gap: f64,
    service_rate: f64,
    law: Arc<dyn Law>,
}

impl Application {
    /// Puts it behind the gate of a model.
    pub(super) fn put(&self, model: &mut Model) {
        let Application { workers, gap, service_rate, ref law } = *self;
        (model.workers, model.gap, model.service_rate) = (workers, gap, service_rate);
        model.law = law.clone();
    }
}

impl Applications {
    /// Whether there are several.
    pub(super) fn several(&self) -> bool {
        let lists = [self.law.len(), self.workers.len(), self.mean_service.len(), self.gap.len()];
        lists.into_iter().any(|list| list > 1)
    }

    /// All of them, by law, workers, service rate and gap.
    ///
    /// # Errors
    ///
    /// A law that is none.
    pub(super) fn all(&self) -> Result<Vec<Application>, Failure> {
        let rates: Vec<f64> = match self.mean_service.as_slice() {
            [] => vec![self.service_rate],
            means => means.iter().map(|mean| 1.0 / mean).collect(),
        };
        let mut all = Vec::new();
        for text in &self.law {
            let law = law::parse_exact(law_of(text)).map_err(invalid_usage)?;
            for &workers in &self.workers {
                for &service_rate in &rates {
                    for &gap in &self.gap {
                        let law = law.clone();
                        all.push(Application { workers, gap, service_rate, law });
                    }
                }
            }
        }
        Ok(all)
    }
}

/// Only proportions count: these laws need no size.
fn law_of(text: &str) -> &str {
    match text.trim() {
        "constant" => "deterministic:size=1",
        "exponential" => "exponential:mean=1",
        other => other,
    }
}
