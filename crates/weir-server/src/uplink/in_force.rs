//! Whether the kernel's bands put responses in order: whether a device has them and SO_PRIORITY is
//! allowed. Looked at when the server starts and once a second; where they are not in force, everything is
//! sent as fast as the kernel takes it, and a message and `/metrics` say so.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::bands::QUEUE_HANDLE;
use crate::metrics::Metrics;
use crate::sys::queues::{self, RootQueue};

/// How often devices are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// See the module.
#[derive(Debug)]
pub(super) struct BandsInForce {
    /// The one device that must have bands.
    device: Option<String>,
    seen: Mutex<Option<Sight>>,
    /// A device has bands.
    are_there: AtomicBool,
    /// The kernel has refused a priority.
    refused: AtomicBool,
    metrics: Arc<Metrics>,
}

/// What devices have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Sight {
    /// weir's bands, on these.
    Bands(Vec<String>),
    /// The named device does not exist.
    NoDevice(String),
    /// The named device has another queue, or none.
    OtherQueue(RootQueue),
    /// No device at all has weir's bands.
    Nowhere,
    /// The kernel does not tell.
    Unknown(String),
}

impl BandsInForce {
    /// Looks, and says what it sees.
    pub(super) fn new(device: Option<String>, metrics: Arc<Metrics>) -> BandsInForce {
        let (are_there, refused) = (AtomicBool::new(false), AtomicBool::new(false));
        let bands = BandsInForce { device, seen: Mutex::default(), are_there, refused, metrics };
        bands.note(look(bands.device.as_deref()));
        bands
    }

    /// Whether responses are put in order.
    pub(super) fn hold(&self) -> bool {
        self.are_there.load(Ordering::Relaxed) && !self.refused.load(Ordering::Relaxed)
    }

    /// Looks again and again.
    pub(super) async fn watch(&self) {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            self.note(look(self.device.as_deref()));
        }
    }

    /// The kernel has refused a priority: no other is tried.
    pub(super) fn refuse(&self, error: &io::Error) {
        if !self.refused.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "the kernel refuses priorities (SO_PRIORITY: {error}), so responses are not put in \
                 order; allow weir setsockopt(2), or use `uplink` with a rate"
            );
        }
        self.metrics.in_force.scheduled(self.hold());
    }

    pub(super) fn note(&self, sight: Sight) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.as_ref() == Some(&sight) {
            return;
        }
        if let Some(Sight::Bands(before)) = &*seen {
            before.iter().for_each(|device| self.metrics.in_force.bands(device, false));
        }
        self.device.iter().for_each(|device| self.metrics.in_force.bands(device, false));
        if let Sight::Bands(devices) = &sight {
            devices.iter().for_each(|device| self.metrics.in_force.bands(device, true));
            tracing::info!("{sight}");
        } else {
            tracing::warn!("{sight}; until then responses are not put in order");
        }
        self.are_there.store(matches!(sight, Sight::Bands(_)), Ordering::Relaxed);
        self.metrics.in_force.scheduled(self.hold());
        *seen = Some(sight);
    }
}

impl fmt::Display for Sight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Sight::Bands(devices) => {
                write!(f, "the bands of {} put responses in order", devices.join(", "))
            }
            Sight::NoDevice(device) => {
                write!(f, "there is no device {device}; name another as `uplink_device`, or add it")
            }
            Sight::OtherQueue(RootQueue { device, kind, handle: 0 }) => write!(
                f,
                "{device} has no bands, only the kernel's own queue ({kind}); make them with \
                 `weir uplink install {device} --rate RATE`"
            ),
            Sight::OtherQueue(RootQueue { device, kind, handle }) => write!(
                f,
                "the queue of {device} is not weir's ({kind} {handle:x}:); remove it, and make bands \
                 with `weir uplink install {device} --rate RATE`"
            ),
            Sight::Nowhere => f.write_str(
                "no device has weir's bands; make them with `weir uplink install DEV --rate RATE`",
            ),
            Sight::Unknown(error) => {
                write!(
                    f,
                    "the kernel does not tell which queues devices have ({error}); allow weir \
                           netlink sockets"
                )
            }
        }
    }
}

/// What the device has, or any device.
pub(crate) fn look(device: Option<&str>) -> Sight {
    match queues::root_queues() {
        Ok(roots) => judge(device, roots, queues::has_device),
        Err(error) => Sight::Unknown(error.to_string()),
    }
}

fn judge(device: Option<&str>, roots: Vec<RootQueue>, exists: impl Fn(&str) -> bool) -> Sight {
    let of_interest = |root: &RootQueue| device.is_none_or(|device| device == root.device);
    let (bands, others): (Vec<_>, Vec<_>) =
        roots.into_iter().filter(of_interest).partition(|root| root.handle == QUEUE_HANDLE);
    match (device, bands.is_empty()) {
        (_, false) => Sight::Bands(bands.into_iter().map(|root| root.device).collect()),
        (None, true) => Sight::Nowhere,
        (Some(device), true) if !exists(device) => Sight::NoDevice(device.to_owned()),
        (Some(device), true) => {
            // A device that was never up has none.
            let none = RootQueue { device: device.to_owned(), kind: "none".to_owned(), handle: 0 };
            Sight::OtherQueue(others.into_iter().next().unwrap_or(none))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Format;

    fn root(device: &str, kind: &str, handle: u16) -> RootQueue {
        RootQueue { device: device.to_owned(), kind: kind.to_owned(), handle }
    }

    #[test]
    fn weirs_queue_is_told_from_others_by_its_handle() {
        let ours = root("eth0", "htb", QUEUE_HANDLE);
        let theirs = root("eth1", "fq_codel", 0x8001);
        let plain = root("lo", "noqueue", 0);
        let all = vec![ours, theirs.clone(), plain.clone()];
        let seen = |device| judge(device, all.clone(), |name| name != "eth9");
        let ours = Sight::Bands(vec!["eth0".to_owned()]);
        assert_eq!([None, Some("eth0")].map(seen), [ours.clone(), ours]);
        assert_eq!(seen(Some("eth1")), Sight::OtherQueue(theirs));
        assert_eq!(seen(Some("lo")), Sight::OtherQueue(plain.clone()));
        assert_eq!(seen(Some("eth9")), Sight::NoDevice("eth9".to_owned()));
        assert_eq!(judge(None, vec![plain], |_| true), Sight::Nowhere);
        // Every message names what is wrong and what to do.
        for (device, words) in [
            (Some("eth1"), "the queue of eth1 is not weir's (fq_codel 8001:); remove it"),
            (Some("lo"), "weir uplink install lo --rate"),
            (Some("eth9"), "there is no device eth9"),
        ] {
            let text = seen(device).to_string();
            assert!(text.contains(words), "{text}");
        }
    }

    #[test]
    fn bands_that_go_and_come_back_are_seen_and_a_refusal_is_final() {
        let metrics = Arc::new(Metrics::new());
        let bands = BandsInForce::new(Some("no-such-device".to_owned()), metrics.clone());
        let figures = || {
            let text = metrics.text(Format::Prometheus);
            let value = |start: &str| {
                let line = text.lines().find_map(|line| line.strip_prefix(start));
                line.map(str::trim).map(str::to_owned)
            };
            let of_device = value("weir_uplink_kernel_bands{device=\"no-such-device\"}");
            (value("weir_uplink_scheduled ").unwrap(), of_device.unwrap())
        };
        let with = |scheduled: &str, device: &str| (scheduled.to_owned(), device.to_owned());
        assert_eq!((bands.hold(), figures()), (false, with("0", "0")));
        let there = Sight::Bands(vec!["no-such-device".to_owned()]);
        bands.note(there.clone());
        assert_eq!((bands.hold(), figures()), (true, with("1", "1")));
        bands.note(look(Some("no-such-device")));
        assert_eq!((bands.hold(), figures()), (false, with("0", "0")));
        bands.note(there);
        assert!(bands.hold());
        bands.refuse(&io::Error::from(io::ErrorKind::PermissionDenied));
        assert_eq!((bands.hold(), figures()), (false, with("0", "1")));
    }
}
