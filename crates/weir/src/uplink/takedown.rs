//! Takes away what there is of weir's bands and brings back the queue that was put aside. Used by `remove`,
//! and by `install` when one of its steps fails.

use super::device::Device;
use super::nft;
use super::state::Before;
use super::step::Step;
use super::tool;
use crate::failure::Failure;

/// What is to be taken away from a device, and what comes back.
#[derive(Debug)]
pub(super) struct Takedown<'a> {
    pub(super) device: &'a Device,
    /// Whether weir's queue, or part of it, is at the root.
    pub(super) bands: bool,
    /// The queue to bring back.
    pub(super) before: Option<&'a Before>,
    /// Whether weir's rules of nftables may be there.
    pub(super) rules: bool,
}

impl Takedown<'_> {
    /// The commands. The queue that was put aside is back as soon as weir's has gone.
    pub(super) fn steps(&self) -> Vec<Step> {
        let Takedown { device, bands, before, rules } = self;
        let queue = bands.then(|| Step::tc("qdisc", "del", device, "root"));
        let before = before.map(|before| before.restore(device));
        let rules = rules.then(|| Step::nft(nft::remove(device)));
        [queue, before, rules].into_iter().flatten().collect()
    }

    /// Runs all of them, also those after one that fails.
    ///
    /// # Errors
    ///
    /// The first failure, with the commands that are left to do.
    pub(super) fn run(&self) -> Result<(), Failure> {
        let mut first = None;
        let mut left = String::new();
        for step in self.steps() {
            if let Err(trouble) = tool::run(&step) {
                first.get_or_insert(trouble);
                left.push_str(&format!("\n{step}"));
            }
        }
        let Some(trouble) = first else { return Ok(()) };
        let mut failure = Failure::from(trouble);
        failure.message.push_str(&format!(
            "\nThis is left to do, and `weir uplink remove {}` does it:{left}",
            self.device
        ));
        Err(failure)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_there_is_taken_away() {
        let device = "eth0".parse().expect("a device");
        let before = Before { queue: "pfifo 9:".into(), words: "root handle 9: pfifo".into() };
        let lines = |bands, before, rules| {
            let takedown = Takedown { device: &device, bands, before, rules };
            takedown.steps().iter().map(Step::to_string).collect::<Vec<_>>()
        };
        let all = lines(true, Some(&before), true);
        assert_eq!(all[0], "tc qdisc del dev eth0 root");
        assert_eq!(all[1], "tc qdisc add dev eth0 root handle 9: pfifo");
        assert!(all[2].starts_with("nft -f -") && all.len() == 3, "{all:?}");
        assert_eq!(lines(false, Some(&before), true), all[1..]);
        assert_eq!(lines(true, None, false), all[..1]);
        assert!(lines(false, None, false).is_empty());
    }
}
