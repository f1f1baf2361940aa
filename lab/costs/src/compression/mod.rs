//! `weir-costs compression`: what compressed text costs weir, nginx and h2o, beside the bars that weir is to
//! reach. All have the same texts; those that lie compressed beside them are what weir makes.
//!
//! From the ground up: `fetch` asks for one answer and looks at it; `stand` makes the texts and starts
//! servers; `cached` and `first` measure.

mod cached;
mod fetch;
mod first;
mod stand;

use std::fs::File;

use weir_peers::Result;

use crate::bars::Findings;
use crate::options::{CompressionOptions, CompressionPart};
use crate::results;
use stand::Stand;

/// Measure all parts that are wanted; print the tables and the verdicts.
pub(crate) fn run(options: &CompressionOptions) -> Result<()> {
    let out = &options.common.out;
    let stand = Stand::make(options)?;
    let mut lines = results::create(out, "compression.jsonl")?;
    let mut all = Findings::default();
    for part in &options.parts {
        let found = measure(*part, &stand, &mut lines)?;
        print!("{}", found.text);
        all.add(found);
    }
    results::findings(out, "compression.md", &all)?;
    stand.remove();
    Ok(())
}

fn measure(part: CompressionPart, stand: &Stand<'_>, lines: &mut File) -> Result<Findings> {
    match part {
        CompressionPart::Results => cached::measure(stand, lines),
        CompressionPart::First => first::measure(stand, lines),
    }
}
