//! `weir uplink remove`: takes weir's bands away, and brings back the queue that `install` put aside.

use std::path::PathBuf;

use weir_server::bands::QUEUE_HANDLE;
use weir_server::messages;

use super::device::Device;
use super::output;
use super::present;
use super::queues::{Queue, Root};
use super::state::{self, Before, State};
use super::takedown::Takedown;
use super::tool::Trouble;
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
    let root = match present::root(device) {
        // Its queues have gone with it; rules and the file of the state have not.
        Err(Trouble::NoDevice(_)) if known.is_some() => None,
        root => Some(root?),
    };
    let before = known.as_ref().and_then(|state| state.before.as_ref());
    let takedown = Takedown {
        device,
        bands: match root {
            Some(Root::Bands(..)) => true,
            Some(Root::Part) => known.is_some(),
            _ => false,
        },
        // What is at the root of a device that has gone, or is somebody else's, is not replaced.
        before: before.filter(|_| !matches!(root, None | Some(Root::Other(..)))),
        rules: may_have_rules(device, root.as_ref(), known.as_ref()),
    };
    let steps = takedown.steps();
    if *dry_run {
        return output::print_steps(steps.iter());
    }
    // Until all is done the file stays, for the next `remove`.
    takedown.run()?;
    State::remove(directory, device)?;
    let what = match (&root, takedown.bands) {
        (None, _) => format!("{device} has gone, and weir's bands with it"),
        (_, true) => format!("removed weir's bands from {device}"),
        _ if steps.is_empty() => {
            format!("{device} has no bands of weir's: nothing is removed")
        }
        _ => format!("removed what was left of weir's bands from {device}"),
    };
    let queue = match (root, takedown.before, before) {
        (None, ..) => String::new(),
        (_, Some(before), _) => format!("; it has its earlier queue again: {}", before.queue),
        (Some(Root::Other(queue, _)), _, before) => theirs(&queue, before),
        (Some(Root::Part), ..) if !takedown.bands => {
            format!("; its queue is htb {QUEUE_HANDLE:x}:, which weir did not make")
        }
        _ => "; it has the kernel's own queue".to_owned(),
    };
    messages::say(format_args!("{what}{queue}"));
    Ok(())
}

/// Whether rules for the bands of `device` may be there.
fn may_have_rules(device: &Device, root: Option<&Root>, known: Option<&State>) -> bool {
    match (root, known) {
        (_, Some(state)) => state.mechanism.needs_rules(),
        (Some(Root::Bands(mechanism, _)), None) => mechanism.needs_rules(),
        // Nothing tells of bands; without nft there are no rules that could be removed.
        (_, None) => matches!(present::has_rules(device), Ok(Some(true))),
    }
}

/// Tells of somebody's queue, and of the one that `install` put aside if it is another.
fn theirs(queue: &Queue, before: Option<&Before>) -> String {
    let queue = queue.describe();
    match before {
        Some(before) if before.queue == queue => {
            format!("; it has its earlier queue again: {queue}")
        }
        Some(before) => format!(
            "; its queue is {queue}, which weir did not make, and the earlier one is not brought \
             back: {}",
            before.queue
        ),
        None => format!("; its queue is {queue}, which weir did not make"),
    }
}
