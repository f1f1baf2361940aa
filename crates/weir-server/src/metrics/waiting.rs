//! Responses that wait for the uplink, by size. The uplink's connections count them, `/metrics` and the
//! admin page show them.

use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::size_classes::{Label, SIZES, size_class};

/// The label of those whose size nobody knows.
const UNKNOWN: &str = "unknown";

/// How many wait now.
#[derive(Debug)]
pub(crate) struct Waiting(Vec<(&'static str, Gauge)>);

impl Waiting {
    pub(super) fn register(registry: &mut Registry) -> Waiting {
        let waiting = Family::<Label, Gauge>::default();
        let help = "Responses that wait for the uplink, or for a client behind it to take more; those \
                    that wait for a disk or a backend are not among them, nor in kernel mode those up to \
                    50 KB";
        registry.register("uplink_waiting_jobs", help, waiting.clone());
        let sizes = SIZES.into_iter().map(|(_, size)| size).chain([UNKNOWN]);
        let of = |size| (size, waiting.get_or_create(&[("size", size)]).clone());
        Waiting(sizes.map(of).collect())
    }

    /// The place of responses of `bytes`, or of nobody knows how many.
    pub(crate) fn class(bytes: Option<u64>) -> usize {
        bytes.map_or(SIZES.len(), size_class)
    }

    /// One of this class begins to wait.
    pub(crate) fn begins(&self, class: usize) {
        self.0[class].1.inc();
    }

    /// One of this class ends waiting.
    pub(crate) fn ends(&self, class: usize) {
        self.0[class].1.dec();
    }

    /// How many wait of each size, the smallest first.
    pub(crate) fn by_size(&self) -> impl Iterator<Item = (&'static str, i64)> + '_ {
        self.0.iter().map(|(size, count)| (*size, count.get()))
    }
}
