//! `weir uplink install`: gives a device the bands and the rate, or changes the rate of those that are
//! there. `carry_out` runs what is decided here.

use std::path::PathBuf;

use weir_server::messages;
use weir_units::BitRate;

use super::before;
use super::carry_out::{self, Making};
use super::device::Device;
use super::mechanism::Mechanism;
use super::nft;
use super::output;
use super::plan::Bands;
use super::present;
use super::queues::{Queue, Root};
use super::state::{self, Before, State};
use super::step::Step;
use crate::failure::Failure;

/// HTB counts in whole bytes per second, and one packet should not take seconds.
const LEAST_RATE: u64 = 8000;

/// The bands last until the machine restarts; examples/weir-uplink.service makes them at every start.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The device that responses leave by, as `ip route get ADDRESS` names it
    device: Device,

    /// What the device may send, such as 100mbit: a little less than the line carries
    #[arg(long)]
    rate: BitRate,

    /// Bytes of each packet on the line that the device does not count, such as 8 for PPPoE in a modem
    #[arg(long, value_name = "BYTES", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=255))]
    overhead: u32,

    /// The kernel's queue to use [default: the first of ets, prio and htb that this kernel has]
    #[arg(long, value_enum)]
    mechanism: Option<Mechanism>,

    /// Put somebody's queue aside; `weir uplink remove` brings it back
    #[arg(long)]
    replace: bool,

    /// Print the commands and change nothing
    #[arg(long)]
    dry_run: bool,

    /// Directory for the file that remembers what was there before
    #[arg(long, value_name = "DIR", default_value = state::DIRECTORY)]
    state: PathBuf,
}

/// What there is to do.
enum Task {
    Nothing,
    /// Commands that change bands which are there, and those that take the change back.
    Change(Vec<Step>, Vec<Step>),
    /// The command that takes away what is at the root, if it is needed, and those that make the bands.
    Make(Option<Step>, Vec<Step>),
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let Arguments { device, rate, overhead, state: directory, .. } = arguments;
    if rate.bits() < LEAST_RATE {
        let message = format!("--rate {rate}: the least is {LEAST_RATE}bit");
        return Err(Failure { message, code: 2 });
    }
    let root = present::root(device)?;
    let known = State::read(directory, device)?;
    let mechanism = choose(arguments, &root, known.as_ref())?;
    let bands = Bands {
        device: device.clone(),
        rate: *rate,
        overhead: *overhead,
        mechanism,
        frame: present::frame(device)?,
    };
    let (task, before) = decide(&bands, &root, known.as_ref(), arguments.replace)?;
    if arguments.dry_run {
        return print(&task);
    }
    let state = State::new(*rate, *overhead, mechanism, before);
    let done = match task {
        Task::Nothing => {
            messages::say(format_args!(
                "{device} has weir's bands already, at {rate} ({mechanism}): nothing is changed"
            ));
            return Ok(());
        }
        Task::Change(change, back) => {
            carry_out::change(&change, &back)?;
            state.write(directory, device)?;
            "changed"
        }
        Task::Make(clear, make) => {
            let making = Making { device, directory, known: known.as_ref(), state: &state };
            making.run(clear.as_ref(), &make)?;
            "made"
        }
    };
    messages::say(format_args!(
        "{done} weir's bands on {device}, at {rate} ({mechanism}); serve with --uplink kernel\n\
         They last until the machine restarts: examples/weir-uplink.service makes them at every start"
    ));
    Ok(())
}

/// The mechanism of the bands that are there, or the one wanted, or the best of this kernel.
fn choose(arguments: &Arguments, root: &Root, known: Option<&State>) -> Result<Mechanism, Failure> {
    let there = match root {
        Root::Bands(mechanism, _) => Some(*mechanism),
        Root::Part => known.map(|state| state.mechanism),
        _ => None,
    };
    match (there, arguments.mechanism) {
        (Some(there), Some(wanted)) if there != wanted => {
            let device = &arguments.device;
            let message = format!(
                "{device} has weir's bands made of {there}, and they cannot become {wanted} in \
                 place: `weir uplink remove {device}` first"
            );
            Err(Failure { message, code: 1 })
        }
        (Some(there), _) => Ok(there),
        (None, Some(wanted)) => Ok(wanted),
        (None, None) => Ok(Mechanism::of_this_kernel()),
    }
}

/// What to do, and what was there before weir's bands.
fn decide(
    bands: &Bands,
    root: &Root,
    known: Option<&State>,
    replace: bool,
) -> Result<(Task, Option<Before>), Failure> {
    let Bands { device, rate, overhead, mechanism, .. } = bands;
    let before = known.and_then(|state| state.before.clone());
    let clear = Step::tc("qdisc", "del", device, "root");
    let make = || {
        // Rules of bands that somebody took away; those that are needed are replaced in any case.
        let stale = known.is_some_and(|state| state.mechanism.needs_rules());
        let stale = (stale && !mechanism.needs_rules()).then(|| Step::nft(nft::remove(device)));
        bands.install().into_iter().chain(stale).collect()
    };
    match root {
        Root::Default => Ok((Task::Make(None, make()), before)),
        Root::Bands(..) => {
            let same = |state: &&State| state.rate() == Some(*rate) && state.overhead == *overhead;
            let lacks_rules = mechanism.needs_rules() && present::has_rules(device)? == Some(false);
            let rules = lacks_rules.then(|| Step::nft(nft::install(device)));
            if known.filter(same).is_some() && rules.is_none() {
                return Ok((Task::Nothing, before));
            }
            let old = known.and_then(|state| Some((state.rate()?, state.overhead)));
            let back =
                old.map(|(rate, overhead)| Bands { rate, overhead, ..bands.clone() }.change());
            let change = bands.change().into_iter().chain(rules).collect();
            Ok((Task::Change(change, back.unwrap_or_default()), before))
        }
        Root::Part if known.is_some() => Ok((Task::Make(Some(clear), make()), before)),
        Root::Part => Err(refusal(device, "an htb 7765: without weir's bands", "")),
        Root::Other(queue, has_others) => {
            let before = aside(queue, *has_others);
            match before {
                Some(before) if replace => Ok((Task::Make(Some(clear), make()), Some(before))),
                Some(_) => {
                    let advice =
                        ", or put it aside with --replace (`weir uplink remove` brings it back)";
                    Err(refusal(device, &queue.describe(), advice))
                }
                None => Err(refusal(device, &queue.describe(), "")),
            }
        }
    }
}

/// Somebody's queue, if it can be brought back: nothing hangs from it, and all of its options are known.
fn aside(queue: &Queue, has_others: bool) -> Option<Before> {
    let words = before::words(queue).filter(|_| !has_others)?;
    Some(Before { queue: queue.describe(), words })
}

fn refusal(device: &Device, queue: &str, advice: &str) -> Failure {
    let message = format!(
        "{device} has a queue that weir did not make: {queue}; it may be needed. Remove it with `tc \
         qdisc del dev {device} root`{advice}"
    );
    Failure { message, code: 1 }
}

fn print(task: &Task) -> Result<(), Failure> {
    let (clear, steps) = match task {
        Task::Nothing => return output::print("# nothing is to be done\n"),
        Task::Change(steps, _) => (None, steps),
        Task::Make(clear, steps) => (clear.as_ref(), steps),
    };
    output::print_steps(clear.into_iter().chain(steps))
}
