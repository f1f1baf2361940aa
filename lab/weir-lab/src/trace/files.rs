//! `weir-lab trace files`: a document root for the paths of a trace, for a server that the trace is
//! replayed against.

use std::path::PathBuf;

use weir_workload::documents::{Content, Made};
use weir_workload::read::Root;

use super::input::Input;
use crate::failure::{Failure, failed, invalid_usage};

/// `weir-lab trace files`.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    input: Input,

    /// Directory to make
    #[arg(long, value_name = "DIR")]
    out: PathBuf,

    /// Files of zeros that take no room on the disk
    #[arg(long)]
    sparse: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let out = arguments.out.display();
    if arguments.out.exists() {
        return Err(failed(format!("{out} is there already; name a new directory")));
    }
    let mut reading = arguments.input.open()?;
    let mut root = Root::new();
    for request in reading.by_ref() {
        root.add(&request);
    }
    reading.end()?;
    let root = root.finish().map_err(invalid_usage)?;
    let content = if arguments.sparse { Content::Sparse } else { Content::Pool };
    let made = root.documents.make(&arguments.out, content);
    match made.map_err(|error| failed(error.to_string()))? {
        Made::New => {}
        Made::AlreadyThere => return Err(failed(format!("{out} appeared meanwhile"))),
    }
    eprintln!("weir-lab: {out}: {} files, {} bytes", root.documents.len(), root.documents.bytes());
    if root.several_sizes > 0 {
        eprintln!("weir-lab: {} files have the largest of several sizes", root.several_sizes);
    }
    if root.unknown_sizes > 0 {
        eprintln!("weir-lab: {} files are empty, for the trace has no size", root.unknown_sizes);
    }
    let conflict = "are files and directories too, and were left out";
    let unusable = "cannot be files, and were left out";
    for (paths, why) in [(&root.conflicts, conflict), (&root.unusable, unusable)] {
        if let Some((first, _)) = paths.first() {
            let requests: u64 = paths.iter().map(|(_, requests)| requests).sum();
            let count = paths.len();
            eprintln!("weir-lab: {count} paths of {requests} requests {why} (first: {first})");
        }
    }
    Ok(())
}
