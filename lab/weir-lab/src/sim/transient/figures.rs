//! The results of `weir-lab sim transient`, as JSON and as a table: response times under each
//! policy and how they compare.

use serde::Serialize;
use weir_sched::policy;
use weir_sim::queue::Discipline;
use weir_sim::replications::{Estimate, estimate};
use weir_stats::Summary;
use weir_workload::arrivals::{LoadIs, Offered};

use super::requests::Requests;
use crate::failure::{Failure, failed};

/// One repetition.
pub(super) struct Run {
    requests: u64,
    /// Work of all requests in seconds of the link.
    work: f64,
    /// By policy; `None` without requests.
    policies: Option<Vec<One>>,
}

struct One {
    summary: Summary,
    slowdown: f64,
    late: f64,
    worst: f64,
    to_ps: f64,
    to_srpt: f64,
}

impl Run {
    pub(super) fn of(requests: &Requests, disciplines: &[Discipline]) -> Run {
        let work = requests.jobs.iter().map(|job| job.size).sum();
        let policies = Run::policies(requests, disciplines);
        Run { requests: requests.jobs.len() as u64, work, policies }
    }

    fn policies(requests: &Requests, disciplines: &[Discipline]) -> Option<Vec<One>> {
        let mean = |discipline| requests.served(discipline)?.tally.mean_response();
        let ps = mean(Discipline::Sharing)?;
        let srpt = mean(Discipline::Policy(policy::SRPT))?;
        let one = |discipline: &Discipline| {
            let served = requests.served(*discipline)?;
            let mean = served.tally.mean_response()?;
            let sizes = requests.sizes.iter().copied();
            let responses: Vec<(u64, f64)> = sizes.zip(served.responses).collect();
            let summary = Summary::of(&responses)?;
            Some(One {
                summary,
                slowdown: served.tally.mean_slowdown()?,
                late: served.tally.late()?,
                worst: served.tally.worst_lateness()?,
                to_ps: mean / ps,
                to_srpt: mean / srpt,
            })
        };
        disciplines.iter().map(one).collect()
    }
}

/// Field names are stable: scripts read them.
#[derive(Serialize)]
pub(super) struct Figures {
    workload: String,
    law: String,
    load_is: &'static str,
    uplink_bits_per_second: f64,
    duration_seconds: f64,
    replications: usize,
    /// Of all repetitions.
    requests: u64,
    mean_load: f64,
    /// The figures of the policy, or a list of several.
    #[serde(flatten)]
    policies: Policies,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Policies {
    One(Policy),
    Several { policies: Vec<Policy> },
}

/// Means of the repetitions; intervals if there are several.
#[derive(Serialize)]
struct Policy {
    policy: &'static str,
    mean_response_seconds: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    mean_response_seconds_ci95: Option<f64>,
    median_response_seconds: f64,
    p95_response_seconds: f64,
    p99_response_seconds: f64,
    max_response_seconds: f64,
    /// Mean of the requests for the largest 1 % of the sizes.
    largest_1_percent_mean_response_seconds: f64,
    mean_slowdown: f64,
    mean_ratio_to_ps: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    mean_ratio_to_ps_ci95: Option<f64>,
    mean_ratio_to_srpt: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    mean_ratio_to_srpt_ci95: Option<f64>,
    late_vs_ps: f64,
    worst_lateness_seconds: f64,
}

impl Figures {
    pub(super) fn of(
        offered: &Offered,
        disciplines: &[Discipline],
        runs: &[Run],
    ) -> Result<Figures, Failure> {
        let all: Option<Vec<&Vec<One>>> = runs.iter().map(|run| run.policies.as_ref()).collect();
        let policies: Option<Vec<Policy>> = all.and_then(|all| {
            let policy = |(place, discipline): (usize, &Discipline)| {
                let ones: Vec<&One> = all.iter().filter_map(|run| run.get(place)).collect();
                Policy::of(*discipline, &ones)
            };
            disciplines.iter().enumerate().map(policy).collect()
        });
        let mut policies = policies.ok_or_else(|| {
            let seconds = offered.seconds;
            failed(format!("no request arrived in {seconds} s; give a longer --duration"))
        })?;
        let work: f64 = runs.iter().map(|run| run.work).sum();
        let policies = match policies.pop() {
            Some(one) if policies.is_empty() => Policies::One(one),
            last => Policies::Several { policies: policies.into_iter().chain(last).collect() },
        };
        Ok(Figures {
            workload: offered.shape.to_string(),
            law: offered.law.to_string(),
            load_is: match offered.load_is {
                LoadIs::Wire => "wire",
                LoadIs::File => "file",
            },
            uplink_bits_per_second: offered.bytes_per_second * 8.0,
            duration_seconds: offered.seconds,
            replications: runs.len(),
            requests: runs.iter().map(|run| run.requests).sum(),
            mean_load: work / (offered.seconds * runs.len() as f64),
            policies,
        })
    }

    /// A table.
    pub(super) fn text(&self) -> String {
        let Figures { workload, law, requests, replications, mean_load, .. } = self;
        let mut text = format!(
            "{workload}, {law}: {requests} requests in {replications} runs of {} s, mean load \
             {mean_load:.3} ({} bytes at {} Mbit/s)\n\nResponse times in milliseconds.\n\n\
             policy            mean    median       p95       p99   largest 1 %  × ps    × srpt  \
             later than ps\n",
            self.duration_seconds,
            self.load_is,
            self.uplink_bits_per_second / 1e6,
        );
        let policies = match &self.policies {
            Policies::One(one) => std::slice::from_ref(one),
            Policies::Several { policies } => policies,
        };
        for one in policies {
            text += &format!(
                "{:<10}  {:>10.3} {:>9.3} {:>9.2} {:>9.2} {:>13.2}  {:<7.3} {:<7.3} {:.2} %\n",
                one.policy,
                one.mean_response_seconds * 1e3,
                one.median_response_seconds * 1e3,
                one.p95_response_seconds * 1e3,
                one.p99_response_seconds * 1e3,
                one.largest_1_percent_mean_response_seconds * 1e3,
                one.mean_ratio_to_ps,
                one.mean_ratio_to_srpt,
                one.late_vs_ps * 100.0,
            );
            if let Some(half) = one.mean_response_seconds_ci95 {
                text += &format!("          ± {:>10.3}\n", half * 1e3);
            }
        }
        text
    }
}

impl Policy {
    fn of(discipline: Discipline, runs: &[&One]) -> Option<Policy> {
        let over = |figure: fn(&One) -> f64| -> Option<Estimate> {
            estimate(&runs.iter().map(|one| figure(one)).collect::<Vec<_>>())
        };
        let mean = |figure| over(figure).map(|estimate| estimate.mean);
        let response = over(|one| one.summary.mean)?;
        let (to_ps, to_srpt) = (over(|one| one.to_ps)?, over(|one| one.to_srpt)?);
        Some(Policy {
            policy: discipline.name(),
            mean_response_seconds: response.mean,
            mean_response_seconds_ci95: response.ci95,
            median_response_seconds: mean(|one| one.summary.median)?,
            p95_response_seconds: mean(|one| one.summary.p95)?,
            p99_response_seconds: mean(|one| one.summary.p99)?,
            max_response_seconds: runs.iter().map(|one| one.summary.max).fold(0.0, f64::max),
            largest_1_percent_mean_response_seconds: mean(|one| one.summary.largest)?,
            mean_slowdown: mean(|one| one.slowdown)?,
            mean_ratio_to_ps: to_ps.mean,
            mean_ratio_to_ps_ci95: to_ps.ci95,
            mean_ratio_to_srpt: to_srpt.mean,
            mean_ratio_to_srpt_ci95: to_srpt.ci95,
            late_vs_ps: mean(|one| one.late)?,
            worst_lateness_seconds: runs.iter().map(|one| one.worst).fold(0.0, f64::max),
        })
    }
}
