//! `weir-costs tls`: what TLS costs weir and its peers, beside the bars that weir is to reach. All have the
//! same certificate of P-256 and speak TLS 1.3 with AES-128-GCM and x25519.
//!
//! From the ground up: `stand` starts servers and clients; `sizes`, `handshakes`, `hot` and `idle` measure.

mod handshakes;
mod hot;
mod idle;
mod sizes;
mod stand;

use std::fs::File;

use weir_peers::Result;

use crate::bars::Findings;
use crate::options::{TlsOptions, TlsPart};
use crate::results;
use stand::Stand;

/// Measure all parts that are wanted; print the tables and the verdicts.
pub(crate) fn run(options: &TlsOptions) -> Result<()> {
    let out = &options.common.out;
    let stand = Stand::make(options)?;
    let mut lines = results::create(out, "tls.jsonl")?;
    let mut all = Findings::default();
    for part in &options.parts {
        let found = measure(*part, &stand, &mut lines)?;
        print!("{}", found.text);
        all.add(found);
    }
    results::findings(out, "tls.md", &all)
}

fn measure(part: TlsPart, stand: &Stand<'_>, lines: &mut File) -> Result<Findings> {
    match part {
        TlsPart::Sizes => sizes::measure(stand, lines),
        TlsPart::Handshakes => handshakes::measure(stand, lines),
        TlsPart::Hot => hot::measure(stand, lines),
        TlsPart::Idle => idle::measure(stand, lines),
    }
}
