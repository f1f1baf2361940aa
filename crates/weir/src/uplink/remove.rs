//! `weir uplink remove`: takes weir's bands away, and brings back the queue that `install` put aside.

use std::path::PathBuf;

use weir_server::messages;

use super::device::Device;
use super::output;
use super::plan::Bands;
use super::present;
use super::queues::{self, Root};
use super::state::{self, State};
use super::step::Step;
use super::tool;
use crate::failure::Failure;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The device
    device: Device,

    /// Print the commands and change nothing
    #[arg(long)]
    dry_run: bool,

    /// Directory of the file that remembers what was there before
    #[arg(long, value_name = "DIR", default_value = state::DIRECTORY)]
    state: PathBuf,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let Arguments { device, dry_run, state: directory } = arguments;
    let known = State::read(directory, device)?;
    let root = queues::root(&present::queues(Some(device))?, device.as_ref());
    let (mechanism, why_not) = match (&root, &known) {
        (Root::Bands(mechanism, _), _) => (Some(*mechanism), String::new()),
        (Root::Part, Some(state)) => (Some(state.mechanism), String::new()),
        (Root::Part, None) => (None, "an htb 7765: that weir did not make".into()),
        (Root::Other(queue, _), _) => {
            (None, format!("{}, which weir did not make", queue.describe()))
        }
        (Root::Default, _) => (None, "the kernel's own".into()),
    };
    let Some(mechanism) = mechanism else {
        messages::say(format_args!(
            "{device} has no bands of weir's: nothing is removed (its queue is {why_not})"
        ));
        // Somebody else took the bands away; what is remembered of them says nothing any more.
        if !dry_run && known.is_some() {
            State::remove(directory, device)?;
        }
        return Ok(());
    };
    let before = known.and_then(|state| state.before);
    let restore = before.as_ref().map(|before| before.restore(device));
    let steps: Vec<Step> = Bands::remove(device, mechanism).into_iter().chain(restore).collect();
    if *dry_run {
        return output::print_steps(steps.iter());
    }
    for step in &steps {
        tool::run(step)?;
    }
    State::remove(directory, device)?;
    match before {
        Some(before) => messages::say(format_args!(
            "removed weir's bands from {device}; it has its earlier queue again: {}",
            before.queue
        )),
        None => messages::say(format_args!(
            "removed weir's bands from {device}; it has the kernel's own queue"
        )),
    }
    Ok(())
}
