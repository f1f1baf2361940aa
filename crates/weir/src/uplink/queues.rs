//! What a device has at its root, from the text of `tc -j -s qdisc show`: the kernel's own queue,
//! somebody's, or weir's bands with their counters. Pure, for all commands of `weir uplink`.

use serde::Deserialize;
use serde_json::{Map, Value};
use weir_server::bands::{BANDS, QUEUE_HANDLE};
use weir_units::BitRate;

use super::mechanism::{FIRST_BAND_HANDLE, Mechanism, ORDER_HANDLE};

/// One queue, as `tc` tells of it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Queue {
    pub(super) kind: String,
    pub(super) handle: String,
    parent: String,
    root: bool,
    /// Only if `tc` was asked for all devices.
    dev: String,
    pub(super) options: Map<String, Value>,
    #[serde(flatten)]
    counters: Counters,
}

/// What went through a band since it was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct Counters {
    /// Of packets that left it, as the device counts them.
    pub(super) bytes: u64,
    pub(super) packets: u64,
    pub(super) drops: u64,
    /// Bytes that wait.
    pub(super) backlog: u64,
    /// Packets that wait.
    pub(super) qlen: u64,
}

/// What is at the root of a device.
#[derive(Debug)]
pub(super) enum Root {
    /// The kernel's own choice (handle `0:`), or none.
    Default,
    /// weir's bands.
    Bands(Mechanism, [Counters; BANDS]),
    /// Part of weir's bands: an installation or a removal did not come to its end.
    Part,
    /// Somebody's, and whether queues hang from it.
    Other(Queue, bool),
}

/// The queues in what `tc -j qdisc show` wrote.
///
/// # Errors
///
/// When it is not the list that `tc` writes.
pub(super) fn parse(text: &str) -> Result<Vec<Queue>, serde_json::Error> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    serde_json::from_str(text)
}

/// Devices whose root has weir's handle, each once.
pub(super) fn devices(queues: &[Queue]) -> Vec<&str> {
    let ours = |queue: &&Queue| queue.root && has_our_handle(queue);
    queues.iter().filter(ours).map(|queue| queue.dev.as_str()).collect()
}

/// What is at the root of `device`. The queues are its own, or those of all devices.
pub(super) fn root(queues: &[Queue], device: &str) -> Root {
    let own: Vec<&Queue> =
        queues.iter().filter(|queue| queue.dev.is_empty() || queue.dev == device).collect();
    let Some(root) = own.iter().find(|queue| queue.root) else { return Root::Default };
    if root.handle == "0:" || root.kind.is_empty() {
        return Root::Default;
    }
    if !has_our_handle(root) {
        return Root::Other((*root).clone(), own.len() > 1);
    }
    let order = handle(ORDER_HANDLE);
    let order = own.iter().find(|queue| queue.handle == order).map(|queue| queue.kind.as_str());
    let mechanism = match order {
        Some("ets") => Mechanism::Ets,
        Some("prio") => Mechanism::Prio,
        _ => Mechanism::Htb,
    };
    let of_band = |band| {
        let handle = handle(FIRST_BAND_HANDLE + band as u16);
        let parent = mechanism.parent_of(band);
        own.iter().find(|queue| queue.handle == handle && queue.parent == parent)
    };
    let mut counters = [Counters::default(); BANDS];
    for (band, counters) in counters.iter_mut().enumerate() {
        match of_band(band) {
            Some(queue) => *counters = queue.counters,
            None => return Root::Part,
        }
    }
    Root::Bands(mechanism, counters)
}

fn has_our_handle(queue: &Queue) -> bool {
    queue.kind == "htb" && queue.handle == handle(QUEUE_HANDLE)
}

fn handle(major: u16) -> String {
    format!("{major:x}:")
}

/// The rate of the bands in what `tc class show` wrote: that of the first class.
pub(super) fn rate(classes: &str) -> Option<BitRate> {
    let first = format!("class htb {QUEUE_HANDLE:x}:1 root ");
    let line = classes.lines().find(|line| line.starts_with(&first))?;
    line.split_whitespace().skip_while(|word| *word != "ceil").nth(1)?.parse().ok()
}

impl Queue {
    /// As people know it: its kind, its handle and its options.
    pub(super) fn describe(&self) -> String {
        let options: Vec<String> =
            self.options.iter().map(|(name, value)| format!(" {name} {value}")).collect();
        format!("{} {}{}", self.kind, self.handle, options.concat())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What `tc` of iproute2 6.1 wrote.
    const BANDS_OF_HTB: &str = include_str!("samples/htb.json");
    const TBF: &str = r#"[{"kind":"tbf","handle":"8:","root":true,"refcnt":3,"options":{"rate":125000,"burst":5120,"lat":70000}}]"#;
    const NONE: &str = r#"[{"kind":"noqueue","handle":"0:","root":true,"refcnt":2,"options":{},"bytes":0,"packets":0,"drops":0,"overlimits":0,"requeues":0,"backlog":0,"qlen":0}]"#;
    const SEVERAL: &str = r#"[{"kind":"mq","handle":"0:","root":true,"options":{}},{"kind":"fq_codel","handle":"0:","parent":":1","options":{"limit":10240,"flows":1024}}]"#;

    fn root_of(text: &str) -> Root {
        root(&parse(text).expect("a list"), "eth0")
    }

    #[test]
    fn the_kernels_own_queues_are_nobodys() {
        for text in ["", "[]", NONE, SEVERAL] {
            assert!(matches!(root_of(text), Root::Default), "{text}");
        }
    }

    #[test]
    fn somebodys_queue_is_described() {
        let Root::Other(queue, false) = root_of(TBF) else { panic!("{:?}", root_of(TBF)) };
        assert_eq!(queue.describe(), "tbf 8: burst 5120 lat 70000 rate 125000");
    }

    #[test]
    fn weirs_bands_are_read_with_their_counters() {
        let Root::Bands(Mechanism::Htb, counters) = root_of(BANDS_OF_HTB) else { panic!() };
        let first = Counters { bytes: 540, packets: 10, drops: 0, backlog: 0, qlen: 0 };
        assert_eq!(counters[0], first);
        assert_eq!(
            (counters[5].drops, counters[5].qlen, counters[5].backlog),
            (3, 1000, 1_514_000)
        );
        let queues = parse(&BANDS_OF_HTB.replace("7772:", "9:")).expect("a list");
        assert!(matches!(root(&queues, "eth0"), Root::Part));
    }

    #[test]
    fn prio_and_ets_are_told_apart() {
        for (kind, expected) in [("prio", Mechanism::Prio), ("ets", Mechanism::Ets)] {
            let fifo = |band: usize| {
                format!(
                    r#",{{"kind":"pfifo","handle":"777{band}:","parent":"7766:{}","packets":{band}}}"#,
                    band + 1
                )
            };
            let text = format!(
                r#"[{{"kind":"htb","handle":"7765:","root":true}},{{"kind":"{kind}","handle":"7766:","parent":"7765:1"}}{}]"#,
                (0..7).map(fifo).collect::<String>()
            );
            let Root::Bands(mechanism, counters) = root_of(&text) else { panic!("{text}") };
            assert_eq!((mechanism, counters[6].packets), (expected, 6));
        }
    }

    #[test]
    fn devices_are_told_apart() {
        let one = BANDS_OF_HTB.replace("{\"kind\"", "{\"dev\":\"eth0\",\"kind\"");
        let other = NONE.replace("{\"kind\"", "{\"dev\":\"eth1\",\"kind\"");
        let text =
            format!("{},{}", one.trim().trim_end_matches(']'), other.trim_start_matches('['));
        let queues = parse(&text).expect("a list");
        assert_eq!(devices(&queues), ["eth0"]);
        assert!(matches!(root(&queues, "eth0"), Root::Bands(..)));
        assert!(matches!(root(&queues, "eth1"), Root::Default));
    }

    #[test]
    fn the_rate_is_that_of_the_first_class() {
        let text = "class htb 7765:11 parent 7765:1 leaf 7771: prio 1 rate 8bit ceil 10Mbit burst 225b\n\
                    class htb 7765:1 root rate 9Mbit ceil 10Mbit burst 1600b cburst 1600b \n";
        assert_eq!(rate(text), Some("10mbit".parse().expect("a rate")));
        assert_eq!(rate("class htb 7765:1 root rate 9Mbit ceil"), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in ".*", cut in 0..3000_usize) {
            let _ = (parse(&text), rate(&text));

            let _ = parse(BANDS_OF_HTB.get(..cut).unwrap_or_default());
            if let Ok(queues) = parse(&format!("[{{\"kind\":{text:?},\"root\":true,\"handle\":\"1:\"}}]")) {
                let _ = root(&queues, &text);
            }
        }
    }
}
