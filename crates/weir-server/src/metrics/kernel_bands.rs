//! Whether the order at the uplink is in force. The uplink tells it; `/metrics` shows it.

use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct InForce {
    scheduled: Gauge,
    bands: Family<[(&'static str, String); 1], Gauge>,
}

impl InForce {
    pub(super) fn register(registry: &mut Registry) -> InForce {
        let all = InForce::default();
        let help = "1 while the uplink's order is in force; 0 without an uplink, and in kernel \
                    mode while the bands are missing or priorities are refused";
        registry.register("uplink_scheduled", help, all.scheduled.clone());
        let help = "In kernel mode: 1 while the device has weir's bands";
        registry.register("uplink_kernel_bands", help, all.bands.clone());
        all
    }

    /// The order is in force, or it is not.
    pub(crate) fn scheduled(&self, is: bool) {
        self.scheduled.set(is.into());
    }

    /// Whether the order is in force.
    pub(crate) fn is_scheduled(&self) -> bool {
        self.scheduled.get() != 0
    }

    /// A device has weir's bands, or it has lost them.
    pub(crate) fn bands(&self, device: &str, has: bool) {
        self.bands.get_or_create(&[("device", device.to_owned())]).set(has.into());
    }
}
