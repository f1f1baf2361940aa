//! The bands of devices as text for people and as JSON for programs. Used by `show`.

use std::fmt::Write;
use std::time::Duration;

use serde_json::json;
use weir_server::bands::{BANDS, CONTROL_PRIORITY, OTHERS_PRIORITY, RESPONSE_PRIORITIES, band_of};
use weir_units::BitRate;

use super::device::Device;
use super::mechanism::Mechanism;
use super::queues::Counters;

/// The bands of a device.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    pub(super) device: Device,
    pub(super) mechanism: Mechanism,
    /// None if `tc` does not tell.
    pub(super) rate: Option<BitRate>,
    /// False if packets reach their bands by rules, and these are gone.
    pub(super) has_rules: bool,
    pub(super) bands: [Counters; BANDS],
}

/// A table for each device; with the rates of the time since an earlier look.
pub(super) fn text(shown: &[Shown], since: Option<(Duration, &[Shown])>) -> String {
    if shown.is_empty() {
        return "no device has weir's bands; `weir uplink install DEVICE --rate RATE` makes them\n".into();
    }
    shown.iter().map(|one| device(one, since)).collect::<Vec<_>>().join("\n")
}

/// One object for each device, one a line.
pub(super) fn json(shown: &[Shown]) -> String {
    let line = |shown: &Shown| {
        let bands: Vec<_> = shown.bands.iter().enumerate().map(|(band, counters)| {
            json!({
                "band": band,
                "priorities": priorities(band),
                "carries": carries(band),
                "packets": counters.packets,
                "bytes": counters.bytes,
                "drops": counters.drops,
                "waiting_packets": counters.qlen,
                "waiting_bytes": counters.backlog,
            })
        });
        let object = json!({
            "device": shown.device.as_ref(),
            "mechanism": shown.mechanism.name(),
            "bits_per_second": shown.rate.map(BitRate::bits),
            "complete": shown.has_rules,
            "bands": bands.collect::<Vec<_>>(),
        });
        format!("{object}\n")
    };
    shown.iter().map(line).collect()
}

fn device(shown: &Shown, since: Option<(Duration, &[Shown])>) -> String {
    let Shown { device, mechanism, rate, has_rules, bands } = shown;
    let rate = rate.map_or_else(|| "an unknown rate".to_owned(), |rate| rate.to_string());
    let mut text = format!("{device}: weir's bands at {rate}, made of {mechanism}\n");
    let mut line = |cells: [&str; 8], rate: &str| {
        let [band, priority, carries, packets, bytes, drops, waiting, _] = cells;
        let _ = write!(
            text,
            "{band:>4}  {priority:>11}  {carries:<34} {packets:>12} {bytes:>16} {drops:>9} {waiting:>8}"
        );
        let _ = writeln!(text, "{rate}");
    };
    todo!()
}
