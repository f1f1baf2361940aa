//! One download beside one kind of loops under one policy: how much longer it takes than alone.
//! Called by the command for each row.

use std::time::Duration;

use serde::Serialize;
use weir_sched::{BitRate, PolicyKind};
use weir_sim::uplink::{Client, Invalid, Link, Scene};

use super::case::Case;
use crate::sim::round_trip;

/// How many times what is tolerated is waited for.
const WAITED: f64 = 4.0;

/// Seconds that an alone download may take: one byte a second carries the larger one.
const LONGEST: f64 = 1e8;

/// A download beside others on one uplink.
pub(super) struct Scenario {
    pub(super) case: &'static Case,
    pub(super) rate: BitRate,
    pub(super) round_trip: Duration,
    pub(super) policy: PolicyKind,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct Row {
    pub(super) uplink_bits_per_second: u64,
    pub(super) round_trip: String,
    /// Who is beside it.
    pub(super) beside: &'static str,
    /// Responses that are beside it all the time.
    pub(super) others: usize,
    pub(super) policy: &'static str,
    pub(super) download_bytes: u64,
    pub(super) alone_s: f64,
    /// Left out if it was not done in four times what is tolerated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) beside_s: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) ratio: Option<f64>,
    /// What the ratio may be.
    pub(super) most_ratio: f64,
    pub(super) kept: bool,
    /// The download's part of the wire bytes from its request on.
    pub(super) share_percent: f64,
    /// The same if it shares with the others as one of them.
    pub(super) fair_share_percent: f64,
    /// Responses that the others have had.
    pub(super) responses_beside: u64,
}

impl Row {
    /// Plays the download alone and beside the others.
    ///
    /// # Errors
    ///
    /// A scene that no link plays.
    pub(super) fn play(scenario: &Scenario) -> Result<Row, Invalid> {
        let case = scenario.case;
        let link = Link::new(scenario.rate);
        let client = Client { round_trip: scenario.round_trip, ..Client::default() };
        let time = |scene: &Scene| {
            let looped = link.loops(scenario.policy, scene)?;
            let response = looped.finish[0].map(|finish| finish.received - scene.singles[0].at);
            Ok::<_, Invalid>((response, looped))
        };
        let alone = case.alone(client, LONGEST);
        let alone_s = time(&alone)?.0.unwrap_or(f64::NAN);
        let until = alone.singles[0].at + WAITED * case.most() * alone_s;
        let (beside_s, looped) = time(&case.beside(client, until))?;
        let ratio = beside_s.map(|beside| beside / alone_s);
        Ok(Row {
            uplink_bits_per_second: scenario.rate.bits(),
            round_trip: round_trip::name(scenario.round_trip),
            beside: case.name,
            others: case.connections,
            policy: scenario.policy.name(),
            download_bytes: case.download,
            alone_s,
            beside_s,
            ratio,
            most_ratio: case.most(),
            kept: ratio.is_some_and(|ratio| ratio <= case.most()),
            share_percent: 100.0 * looped.single_bytes as f64 / looped.bytes.max(1) as f64,
            fair_share_percent: 100.0 / (case.connections + 1) as f64,
            responses_beside: looped.responses,
        })
    }
}
