//! One workload over one kind of path: each policy beside fair sharing over the same path. Called
//! by the command for each cell.

use serde::Serialize;
use weir_sched::{BitRate, PolicyKind, policy};
use weir_sim::uplink::{
    self, Client, Finish, Invalid, Lateness, Link, Request, finishes, grant_for,
};
use weir_workload::arrivals::Offered;

use super::round_trips::RoundTrip;
use crate::sim::offered::HEAD;

/// What is played in one cell.
pub(super) struct Scenario {
    pub(super) workload: String,
    pub(super) rate: BitRate,
    pub(super) round_trip: RoundTrip,
    pub(super) seed: u64,
    pub(super) offered: Offered,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct Cell {
    pub(super) uplink_bits_per_second: u64,
    pub(super) round_trip: String,
    pub(super) workload: String,
    pub(super) seed: u64,
    pub(super) requests: u64,
    /// Exact processor sharing over the same paths.
    pub(super) reference_ms_mean: f64,
    /// What two grants take, which nobody can be told apart by.
    pub(super) two_grants_ms: f64,
    /// The longest round trip.
    pub(super) round_trip_ms: f64,
    /// Mean of `protective` over that of `srpt` on a link without packets and round trips.
    pub(super) alone_to_srpt: f64,
    pub(super) policies: Vec<Played>,
}

/// A policy through the gate.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Played {
    pub(super) policy: &'static str,
    pub(super) response_ms_mean: f64,
    /// Of means.
    pub(super) to_srpt: f64,
    /// The most by which a response ended after its end under the reference.
    pub(super) latest_ms: f64,
    pub(super) latest_bytes: u64,
    pub(super) latest_asked_at_s: f64,
    /// The same beyond its client's round trip.
    pub(super) latest_beyond_round_trip_ms: f64,
}

impl Cell {
    /// Plays all of it.
    ///
    /// # Errors
    ///
    /// Requests that no link plays.
    pub(super) fn play(scenario: &Scenario, policies: &[PolicyKind]) -> Result<Cell, Invalid> {
        let link = Link::new(scenario.rate);
        let requests = requests(scenario);
        let reference = link.share(&requests)?;
        let mut played = Vec::new();
        for &policy in policies {
            played.push(Played::of(policy, &requests, &link.play(policy, &requests)?, &reference));
        }
        let srpt = played.iter().find(|played| played.policy == policy::SRPT.name());
        let srpt = srpt.map_or(f64::NAN, |srpt| srpt.response_ms_mean);
        for played in &mut played {
            played.to_srpt = played.response_ms_mean / srpt;
        }
        let trips = requests.iter().map(|request| request.client.round_trip);
        Ok(Cell {
            uplink_bits_per_second: scenario.rate.bits(),
            round_trip: scenario.round_trip.to_string(),
            workload: scenario.workload.clone(),
            seed: scenario.seed,
            requests: requests.len() as u64,
            reference_ms_mean: 1e3 * uplink::mean_response_time(&requests, &reference),
            two_grants_ms: 1e3 * link.two_grants(),
            round_trip_ms: trips.max().unwrap_or_default().as_secs_f64() * 1e3,
            alone_to_srpt: alone_to_srpt(&link, link.paced(), &requests)?,
            policies: played,
        })
    }

    pub(super) fn policy(&self, policy: PolicyKind) -> Option<&Played> {
        self.policies.iter().find(|played| played.policy == policy.name())
    }
}

fn requests(scenario: &Scenario) -> Vec<Request> {
    // It was checked that there are arrivals; the iterator of an error is empty.
    let arrivals = scenario.offered.arrivals().into_iter().flatten().enumerate();
    let requests = arrivals.map(|(index, request)| Request {
        at: request.at,
        size: HEAD + request.size.unwrap_or_default(),
        client: Client { round_trip: scenario.round_trip.of(index), ..Client::default() },
    });
    requests.collect()
}

/// What the policy costs where nothing but the link takes time.
fn alone_to_srpt(link: &Link, paced: BitRate, requests: &[Request]) -> Result<f64, Invalid> {
    let wire = |request: &Request| link.packets.wire(request.size) + link.connection;
    let asked: Vec<uplink::Transfer> =
        requests.iter().map(|r| uplink::Transfer { at: r.at, bytes: wire(r) }).collect();
    let grant = grant_for(paced, &asked);
    let mean = |policy| Ok(mean_ms(requests, finishes(policy, paced, grant, &asked)?));
    Ok(mean(policy::PROTECTIVE)? / mean(policy::SRPT)?)
}

fn mean_ms(requests: &[Request], finish: impl IntoIterator<Item = f64>) -> f64 {
    let times = requests.iter().zip(finish).map(|(request, finish)| finish - request.at);
    1e3 * times.sum::<f64>() / requests.len().max(1) as f64
}

impl Played {
    fn of(
        policy: PolicyKind,
        requests: &[Request],
        finish: &[Finish],
        reference: &[Finish],
    ) -> Played {
        let found = Lateness::of(requests, finish, reference);
        Played {
            policy: policy.name(),
            response_ms_mean: 1e3 * found.mean,
            to_srpt: f64::NAN,
            latest_ms: 1e3 * found.latest,
            latest_bytes: found.latest_request.map_or(0, |index| requests[index].size),
            latest_asked_at_s: found.latest_request.map_or(0.0, |index| requests[index].at),
            latest_beyond_round_trip_ms: 1e3 * found.beyond_round_trip,
        }
    }
}
