//! `weir uplink show`: the bands of a device, or of all devices, with what went through them.

use std::time::{Duration, Instant};

use weir_units::TimeSpan;

use super::device::Device;
use super::output;
use super::present;
use super::queues::{self, Queue, Root};
use super::table;
use super::table::Shown;
use crate::failure::Failure;

/// As often as the kernel is asked at most.
const OFTEN: Duration = Duration::from_millis(100);

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The device [default: all that have weir's bands]
    device: Option<Device>,

    /// Show them again and again, with what went through in between, until interrupted
    #[arg(long, value_name = "TIME", num_args = 0..=1, default_missing_value = "1s", visible_alias = "watch")]
    every: Option<TimeSpan>,

    /// As JSON, one object a line
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut last: Option<(Instant, Vec<Shown>)> = None;
    loop {
        let shown = look(arguments.device.as_ref())?;
        let at = Instant::now();
        let since = last.as_ref().map(|(then, shown)| (at - *then, &shown[..]));
        let text = match arguments.json {
            true => table::json(&shown),
            false => table::text(&shown, since),
        };
        output::print(&text)?;
        let Some(TimeSpan(pause)) = arguments.every else { return Ok(()) };
        last = Some((at, shown));
        std::thread::sleep(pause.max(OFTEN));
    }
}

/// The bands of one device, or of all that have them.
fn look(device: Option<&Device>) -> Result<Vec<Shown>, Failure> {
    let queues = present::queues(device)?;
    let devices: Vec<Device> = match device {
        Some(device) => vec![device.clone()],
        // A device with a name that no command of weir's takes has no bands of weir's.
        None => queues::devices(&queues).iter().filter_map(|name| name.parse().ok()).collect(),
    };
    let mut all = Vec::new();
    for one in devices {
        match (shown(&queues, one)?, device) {
            (Ok(shown), _) => all.push(shown),
            (Err(message), Some(_)) => return Err(Failure { message, code: 1 }),
            (Err(_), None) => {}
        }
    }
    Ok(all)
}

/// The bands of a device, or why it has none.
fn shown(queues: &[Queue], device: Device) -> Result<Result<Shown, String>, Failure> {
    let install = format!("`weir uplink install {device} --rate RATE`");
    let why_not = match queues::root(queues, device.as_ref()) {
        Root::Bands(mechanism, bands) => {
            let rate = queues::rate(&present::classes(&device)?);
            let has_rules = !mechanism.needs_rules() || present::has_rules(&device)? != Some(false);
            return Ok(Ok(Shown { device, mechanism, rate, has_rules, bands }));
        }
        Root::Default => format!("its queue is the kernel's own; {install} makes them"),
        Root::Part => format!("they are incomplete; {install} makes them anew"),
        Root::Other(queue, _) => {
            format!("its queue is {}, which weir did not make", queue.describe())
        }
    };
    Ok(Err(format!("{device} has no bands of weir's: {why_not}")))
}
