//! The results of `weir-lab sim loops`, as fields of JSON and as text.

use std::fmt::Write as _;

use serde::Serialize;

use super::crowd::Crowd;
use super::row::Row;
use crate::print::table;
use crate::words::{bits, signed, time};

#[derive(Debug, Serialize)]
pub(super) struct Figures {
    /// Downloads beside loops.
    pub(super) rows: Vec<Row>,
    pub(super) workload: String,
    pub(super) workload_uplink_bits_per_second: u64,
    /// The workload with loops, by seed.
    pub(super) crowds: Vec<Crowd>,
    /// The sum of their means to that if the gate followed nobody; left out without any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) crowds_ratio: Option<f64>,
}

/// The tables for a terminal.
pub(super) fn text(figures: &Figures) -> String {
    let alike = |a: &Row, b: &Row| {
        a.uplink_bits_per_second == b.uplink_bits_per_second && a.round_trip == b.round_trip
    };
    let mut text = String::new();
    for rows in figures.rows.chunk_by(alike) {
        let first = &rows[0];
        let uplink = bits(first.uplink_bits_per_second as f64);
        let _ = writeln!(text, "Uplink of {uplink}, round trip {}:\n", first.round_trip);
        text.push_str(&downloads(rows));
        text.push('\n');
    }
    text.push_str(
        "\"ratio\" is of the download's response times. It may be 1.1 times what it is beside so \
         many others who\nshare fairly, 1.3 times beside heads. \"share\" is the download's part \
         of the wire bytes since it was asked.\n",
    );
    if !figures.crowds.is_empty() {
        text.push_str(&crowds(figures));
    }
    text
}

fn downloads(rows: &[Row]) -> String {
    let head =
        ["beside", "k", "policy", "alone", "beside", "ratio", "most", "kept", "share", "1/(k+1)"];
    let mut lines = vec![head.map(str::to_owned).to_vec()];
    for row in rows {
        let none = || "-".to_owned();
        lines.push(vec![
            row.beside.to_owned(),
            row.others.to_string(),
            row.policy.to_owned(),
            time(1e3 * row.alone_s),
            row.beside_s.map_or_else(none, |beside| time(1e3 * beside)),
            row.ratio.map_or_else(none, |ratio| format!("{ratio:.3}")),
            format!("{:.1}", row.most_ratio),
            yes(row.kept),
            signed(row.share_percent, 1) + " %",
            signed(row.fair_share_percent, 1) + " %",
        ]);
    }
    table(&lines)
}

fn crowds(figures: &Figures) -> String {
    let mut text = format!(
        "\n{} on {}, every other request in closed loops from 20 addresses: mean response time of \
         the others\nunder protective, and if the gate followed nobody.\n\n",
        figures.workload,
        bits(figures.workload_uplink_bits_per_second as f64),
    );
    let head = ["seed", "requests", "others", "mean", "follows nobody", "ratio", "most", "kept"];
    let mut lines = vec![head.map(str::to_owned).to_vec()];
    for crowd in &figures.crowds {
        lines.push(vec![
            crowd.seed.to_string(),
            crowd.requests.to_string(),
            crowd.open_requests.to_string(),
            time(crowd.response_ms_mean),
            time(crowd.follows_nobody_ms_mean),
            format!("{:.4}", crowd.ratio),
            crowd.most_ratio.to_string(),
            yes(crowd.kept),
        ]);
    }
    text.push_str(&table(&lines));
    let ratio = figures.crowds_ratio.unwrap_or(f64::NAN);
    let _ = writeln!(text, "\nAll seeds together: {ratio:.4}.");
    text
}

fn yes(kept: bool) -> String {
    if kept { "yes" } else { "no" }.to_owned()
}
