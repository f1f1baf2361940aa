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
        return "no device has weir's bands; `weir uplink install DEVICE --rate RATE` makes them\n"
            .into();
    }
    shown.iter().map(|one| device(one, since)).collect::<Vec<_>>().join("\n")
}

/// One object for each device, one a line.
pub(super) fn json(shown: &[Shown]) -> String {
    let line = |shown: &Shown| {
        let bands = shown.bands.iter().enumerate().map(|(band, counters)| {
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
    let earlier = since.and_then(|(time, all)| {
        let same = all.iter().find(|one| one.device == *device)?;
        Some((time.as_secs_f64().max(1e-3), &same.bands))
    });
    let mut text = format!("{device}: weir's bands at {rate}, made of {mechanism}\n");
    let head = ["band", "SO_PRIORITY", "carries", "packets", "bytes", "drops", "waiting"];
    line(&mut text, head.map(str::to_owned), earlier.map(|_| "Mbit/s".to_owned()));
    for (band, counters) in bands.iter().enumerate() {
        let Counters { bytes, packets, drops, qlen, .. } = counters;
        let cells = [
            band.to_string(),
            priorities(band).iter().map(u32::to_string).collect::<Vec<_>>().join(" "),
            carries(band).to_owned(),
            packets.to_string(),
            bytes.to_string(),
            drops.to_string(),
            qlen.to_string(),
        ];
        let speed = earlier.map(|(seconds, earlier)| {
            let bits = bytes.saturating_sub(earlier[band].bytes) as f64 * 8.0;
            format!("{:.3}", bits / seconds / 1e6)
        });
        line(&mut text, cells, speed);
    }
    match has_rules {
        true => text.push_str("weir serve --uplink kernel sends its responses through them\n"),
        false => {
            let _ = writeln!(
                text,
                "The rules of nftables that bring packets to their bands are gone: everything is in \
                 the last band. `weir uplink install {device} --rate RATE` makes them anew"
            );
        }
    }
    text
}

fn line(text: &mut String, cells: [String; 7], speed: Option<String>) {
    let [band, priority, carries, packets, bytes, drops, waiting] = cells;
    let _ = write!(
        text,
        "{band:>4}  {priority:>11}  {carries:<36} {packets:>11} {bytes:>15} {drops:>8} {waiting:>8}"
    );
    if let Some(speed) = speed {
        let _ = write!(text, " {speed:>10}");
    }
    text.push('\n');
}

/// The values of SO_PRIORITY that lead to a band.
fn priorities(band: usize) -> Vec<u32> {
    let named = [CONTROL_PRIORITY].into_iter().chain(RESPONSE_PRIORITIES).chain([OTHERS_PRIORITY]);
    named.filter(|&priority| band_of(priority) == band).collect()
}

fn carries(band: usize) -> &'static str {
    let last = RESPONSE_PRIORITIES.len();
    match band {
        _ if band == band_of(CONTROL_PRIORITY) => "handshakes and control packets",
        _ if band == band_of(OTHERS_PRIORITY) => "other programs",
        1 => "responses, the least that remains",
        _ if band == last => "responses, the most that remains",
        _ => "responses",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(bytes: u64) -> Shown {
        let counters = Counters { bytes, packets: 7, drops: 3, backlog: 1514, qlen: 1 };
        Shown {
            device: "eth0".parse().expect("a device"),
            mechanism: Mechanism::Htb,
            rate: "10mbit".parse().ok(),
            has_rules: true,
            bands: [counters; BANDS],
        }
    }

    #[test]
    fn each_band_has_a_line_with_its_priority_and_counters() {
        let text = text(&[shown(1000)], None);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "eth0: weir's bands at 10mbit, made of htb");
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(words(lines[2])[..3], ["0", "6", "handshakes"]);
        assert_eq!(words(lines[3])[..3], ["1", "5", "responses,"]);
        assert_eq!(words(lines[8]), ["6", "0", "other", "programs", "7", "1000", "3", "1"]);
        assert_eq!(lines.len(), 10);
    }

    #[test]
    fn a_second_look_tells_the_rate_of_each_band() {
        let (earlier, later) = ([shown(0)], [shown(1_000_000)]);
        let text = text(&later, Some((Duration::from_secs(2), &earlier)));
        assert!(text.lines().nth(2).is_some_and(|line| line.ends_with(" 4.000")), "{text}");
    }

    #[test]
    fn without_rules_it_says_that_nothing_is_ordered() {
        let text = text(&[Shown { has_rules: false, ..shown(0) }], None);
        assert!(text.contains("are gone"), "{text}");
    }

    #[test]
    fn json_has_a_line_for_each_device() {
        let text = json(&[shown(5), shown(6)]);
        assert_eq!(text.lines().count(), 2);
        let line: serde_json::Value =
            serde_json::from_str(text.lines().next().unwrap_or_default()).expect("JSON");
        assert_eq!(line["bands"][1]["priorities"], json!([5]));
        assert_eq!(
            (&line["bits_per_second"], &line["bands"][6]["drops"]),
            (&json!(10_000_000), &json!(3))
        );
    }
}
