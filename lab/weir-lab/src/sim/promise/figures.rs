//! The results of `weir-lab sim promise`: for each uplink and round trip the worst of all workloads
//! and seeds, as JSON and as text.

use std::fmt::Write as _;

use serde::Serialize;
use weir_sched::{PolicyKind, policy};

use super::cell::{Cell, Played};
use crate::print::table;
use crate::words::{bits, bytes, time};

/// What a policy may lose to srpt through the gate beyond what it loses on a bare link.
const DEARER: f64 = 0.02;

#[derive(Debug, Serialize)]
pub(super) struct Figures {
    /// The worst of each uplink, round trip and policy.
    pub(super) kept: Vec<Kept>,
    pub(super) cells: Vec<Cell>,
}

/// The worst that a policy did to anybody on one uplink over one round trip.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Kept {
    uplink_bits_per_second: u64,
    round_trip: String,
    policy: &'static str,
    cells: u64,
    /// Cells in which nobody is later than a round trip and two grants, or than fsp's latest by
    /// more than a round trip.
    in_time_cells: u64,
    latest_ms: f64,
    /// Where that was: workload, seed, size.
    latest_workload: String,
    latest_seed: u64,
    latest_bytes: u64,
    /// The largest ratio of means to srpt less what the policy alone has on the same requests.
    to_srpt_beyond_alone: f64,
    to_srpt: f64,
    /// The largest ratio of means to fsp.
    to_fsp: f64,
}

impl Kept {
    pub(super) fn of(cells: &[Cell], policies: &[PolicyKind]) -> Vec<Kept> {
        let mut all = Vec::new();
        let alike = |a: &Cell, b: &Cell| {
            a.uplink_bits_per_second == b.uplink_bits_per_second && a.round_trip == b.round_trip
        };
        for cells in cells.chunk_by(alike) {
            for &policy in policies {
                let each = cells.iter().filter_map(|cell| Some((cell, cell.policy(policy)?)));
                all.extend(Kept::worst(&each.collect::<Vec<_>>()));
            }
        }
        all
    }

    fn worst(cells: &[(&Cell, &Played)]) -> Option<Kept> {
        let late = |of: &&(&Cell, &Played)| of.1.latest_ms;
        let &(cell, played) = cells.iter().max_by(|a, b| late(a).total_cmp(&late(b)))?;
        let most = |of: &dyn Fn(&Cell, &Played) -> f64| {
            cells.iter().map(|(cell, played)| of(cell, played)).fold(f64::MIN, f64::max)
        };
        Some(Kept {
            uplink_bits_per_second: cell.uplink_bits_per_second,
            round_trip: cell.round_trip.clone(),
            policy: played.policy,
            cells: cells.len() as u64,
            in_time_cells: cells.iter().filter(|(cell, played)| in_time(cell, played)).count()
                as u64,
            latest_ms: played.latest_ms,
            latest_workload: cell.workload.clone(),
            latest_seed: cell.seed,
            latest_bytes: played.latest_bytes,
            to_srpt_beyond_alone: most(&|cell, played| played.to_srpt - cell.alone_to_srpt),
            to_srpt: most(&|_, played| played.to_srpt),
            to_fsp: most(&to_fsp),
        })
    }
}

fn in_time(cell: &Cell, played: &Played) -> bool {
    let fsp = cell.policy(policy::FSP).map_or(f64::MAX, |fsp| fsp.latest_ms);
    played.latest_beyond_round_trip_ms <= cell.two_grants_ms
        || played.latest_ms <= fsp + cell.round_trip_ms
}

fn to_fsp(cell: &Cell, played: &Played) -> f64 {
    let fsp = cell.policy(policy::FSP).map_or(f64::NAN, |fsp| fsp.response_ms_mean);
    played.response_ms_mean / fsp
}

/// The table for a terminal.
pub(super) fn text(kept: &[Kept], cells: &[Cell]) -> String {
    let head = [
        "uplink",
        "round trip",
        "policy",
        "latest by",
        "of",
        "in",
        "in time",
        "mean ÷ srpt",
        "beyond alone",
        "mean ÷ fsp",
    ];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for kept in kept {
        rows.push(vec![
            bits(kept.uplink_bits_per_second as f64),
            kept.round_trip.clone(),
            kept.policy.to_owned(),
            time(kept.latest_ms),
            bytes(kept.latest_bytes as f64),
            format!("{}, seed {}", kept.latest_workload, kept.latest_seed),
            format!("{} of {}", kept.in_time_cells, kept.cells),
            format!("{:.3}", kept.to_srpt),
            format!("{:+.3}", kept.to_srpt_beyond_alone),
            format!("{:.4}", kept.to_fsp),
        ]);
    }
    let mut text = table(&rows);
    let requests: u64 = cells.iter().map(|cell| cell.requests).sum();
    let _ = write!(
        text,
        "\nEach line is the worst of its workloads and seeds, {requests} requests in all. \"latest \
         by\" is after exact\nprocessor sharing in which each client takes at most what its own \
         window carries. \"in time\" counts the\ncells in which nobody is later by more than its \
         round trip and two grants, or than fsp's latest and a\nround trip, where no order can do \
         better. \"beyond alone\" is what the gate adds to the ratio that the policy\nhas without \
         packets and round trips; {DEARER} is wanted at most.\n",
    );
    text
}
