//! The commands that make the bands of a device and change their rate. Pure: `install` runs or prints them.
//!
//! In all mechanisms HTB holds the rate, and each band is a FIFO with a handle of its own, so that the
//! counters read the same. HTB sends what a class is guaranteed before what it lends, and lends by
//! priority: with next to nothing guaranteed, the priorities of the classes are strict. Only the last
//! band, which is other programs', is guaranteed its share.

use weir_server::bands::{BANDS, OTHERS_SHARE, QUEUE_HANDLE, band_of};
use weir_units::BitRate;

use super::device::Device;
use super::mechanism::{FIRST_BAND_HANDLE, Mechanism, ORDER_HANDLE, class};
use super::nft;
use super::step::Step;

/// Packets that a band holds. The paper's bands held 100 (Schroeder 2003, section 2.1), which
/// connections in overload fill; with 1000, the kernel's own default (txqueuelen), none was dropped. Of
/// 1500 bytes this is 10.5 MB in all bands together, and TCP keeps little of one connection here (TCP
/// small queues).
pub(super) const PACKETS_PER_BAND: u32 = 1000;

/// What is guaranteed to a class that is to get its turn by priority only: the least that `tc` takes,
/// one packet in a minute.
const NEXT_TO_NOTHING: &str = "8bit";

/// SO_PRIORITY values that `ets` and `prio` tell apart; of larger ones they read the last four bits.
const PRIORITIES: u32 = 16;

/// What the bands of a device are to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bands {
    pub(super) device: Device,
    pub(super) rate: BitRate,
    /// Bytes of a packet on the line that the device does not count.
    pub(super) overhead: u32,
    pub(super) mechanism: Mechanism,
    /// Bytes of the largest packet that the device counts, with its header.
    pub(super) frame: u32,
}

impl Bands {
    /// Makes them where there is no queue but the kernel's own.
    pub(super) fn install(&self) -> Vec<Step> {
        let root = format!("root handle {QUEUE_HANDLE:x}: htb default {}", self.default_class());
        let mut steps = vec![self.tc("qdisc", "add", &root)];
        steps.extend(self.classes("add"));
        if self.mechanism != Mechanism::Htb {
            let parent = format!("parent {QUEUE_HANDLE:x}:1 handle {ORDER_HANDLE:x}:");
            steps.push(self.tc("qdisc", "add", &format!("{parent} {}", self.order())));
        }
        steps.extend((0..BANDS).map(|band| {
            let handle = FIRST_BAND_HANDLE + band as u16;
            let fifo = format!(
                "parent {} handle {handle:x}: pfifo limit {PACKETS_PER_BAND}",
                self.mechanism.parent_of(band)
            );
            self.tc("qdisc", "add", &fifo)
        }));
        if self.mechanism.needs_rules() {
            steps.push(Step::nft(nft::install(&self.device)));
        }
        steps
    }

    /// Changes the rate or the overhead of those that are there. No packet is lost.
    pub(super) fn change(&self) -> Vec<Step> {
        self.classes("change")
    }

    /// Where packets go that no rule has given a class: all of them, if the bands are below one class.
    fn default_class(&self) -> String {
        match self.mechanism {
            Mechanism::Htb => format!("{:x}", 0x10 + BANDS - 1),
            _ => "1".into(),
        }
    }

    fn classes(&self, verb: &str) -> Vec<Step> {
        let rate = format!("{}bit", self.rate.bits());
        let root = format!("{QUEUE_HANDLE:x}:");
        let mut steps = vec![self.class(verb, &root, &format!("{root}1"), "", &rate)];
        if self.mechanism == Mechanism::Htb {
            for band in 0..BANDS {
                let guaranteed = match band == BANDS - 1 {
                    true => format!("{}bit", self.rate.scaled(OTHERS_SHARE).bits().max(8)),
                    false => NEXT_TO_NOTHING.into(),
                };
                let priority = format!("prio {band}");
                let parent = format!("{root}1");
                steps.push(self.class(verb, &parent, &class(band), &priority, &guaranteed));
            }
        }
        steps
    }

    fn class(&self, verb: &str, parent: &str, id: &str, priority: &str, guaranteed: &str) -> Step {
        let Bands { rate, overhead, frame, .. } = self;
        // What the class may make up for after the kernel woke late. More would let packets of a
        // last band run ahead into the next queue.
        let burst = (rate.bits() / 8 / 1000).max(u64::from(*frame));
        let overhead = if *overhead > 0 { format!("overhead {overhead}") } else { String::new() };
        let rest = format!(
            "parent {parent} classid {id} htb {priority} rate {guaranteed} ceil {}bit \
             burst {burst} cburst {burst} quantum {frame} {overhead}",
            rate.bits()
        );
        self.tc("class", verb, &rest)
    }

    /// The queue that orders the bands. The last two of `ets` share what the others leave, so that
    /// other programs have theirs; `prio` can guarantee them nothing.
    fn order(&self) -> String {
        let map: Vec<String> = (0..PRIORITIES).map(|one| band_of(one).to_string()).collect();
        let map = map.join(" ");
        match self.mechanism {
            Mechanism::Ets => {
                let others = self.frame;
                let responses = (f64::from(others) * (1.0 / OTHERS_SHARE - 1.0)).round();
                let strict = BANDS - 2;
                format!(
                    "ets bands {BANDS} strict {strict} quanta {responses} {others} priomap {map}"
                )
            }
            _ => format!("prio bands {BANDS} priomap {map}"),
        }
    }

    fn tc(&self, object: &str, verb: &str, rest: &str) -> Step {
        Step::tc(object, verb, &self.device, rest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bands(mechanism: Mechanism) -> Bands {
        let device = "eth0".parse().expect("a device");
        let rate = "10mbit".parse().expect("a rate");
        Bands { device, rate, overhead: 14, mechanism, frame: 1514 }
    }

    fn text(steps: &[Step]) -> Vec<String> {
        steps.iter().map(Step::to_string).collect()
    }

    #[test]
    fn htb_has_a_class_for_each_band_that_is_guaranteed_next_to_nothing() {
        let lines = text(&bands(Mechanism::Htb).install());
        let class = |rest: &str, guaranteed: &str| {
            format!(
                "tc class add dev eth0 {rest} rate {guaranteed} ceil 10000000bit burst 1514 \
                 cburst 1514 quantum 1514 overhead 14"
            )
        };
        assert_eq!(lines[0], "tc qdisc add dev eth0 root handle 7765: htb default 16");
        assert_eq!(lines[1], class("parent 7765: classid 7765:1 htb", "10000000bit"));
        assert_eq!(lines[2], class("parent 7765:1 classid 7765:10 htb prio 0", "8bit"));
        assert_eq!(lines[7], class("parent 7765:1 classid 7765:15 htb prio 5", "8bit"));
        assert_eq!(lines[8], class("parent 7765:1 classid 7765:16 htb prio 6", "500000bit"));
        let fifo = |parent, handle| {
            format!("tc qdisc add dev eth0 parent {parent} handle {handle}: pfifo limit 1000")
        };
        assert_eq!(lines[9], fifo("7765:10", "7770"));
        assert_eq!(lines[15], fifo("7765:16", "7776"));
        assert!(lines[16].starts_with("nft -f - <<'END'\n") && lines.len() == 17);
    }

    #[test]
    fn prio_and_ets_read_the_priorities_themselves() {
        for (mechanism, order) in [
            (Mechanism::Prio, "prio bands 7"),
            (Mechanism::Ets, "ets bands 7 strict 5 quanta 28766 1514"),
        ] {
            let lines = text(&bands(mechanism).install());
            assert_eq!(lines[0], "tc qdisc add dev eth0 root handle 7765: htb default 1");
            let map = "priomap 6 5 4 3 2 1 0 0 6 6 6 6 6 6 6 6";
            let order = format!("tc qdisc add dev eth0 parent 7765:1 handle 7766: {order} {map}");
            assert_eq!(lines[2], order);
            let last = "tc qdisc add dev eth0 parent 7766:7 handle 7776: pfifo limit 1000";
            assert_eq!(lines.last().map(String::as_str), Some(last));
            assert_eq!(lines.len(), 10);
        }
    }

    #[test]
    fn a_change_touches_the_classes_only() {
        for (mechanism, count) in [(Mechanism::Htb, 8), (Mechanism::Prio, 1)] {
            let lines = text(&bands(mechanism).change());
            assert_eq!(lines.len(), count);
            assert!(lines.iter().all(|line| line.starts_with("tc class change dev eth0 ")));
        }
    }

    #[test]
    fn fast_links_make_up_for_a_millisecond() {
        let rate = "1gbit".parse().expect("a rate");
        let lines = text(&Bands { rate, overhead: 0, ..bands(Mechanism::Prio) }.install());
        assert!(lines[1].ends_with("burst 125000 cburst 125000 quantum 1514"), "{}", lines[1]);
    }
}
