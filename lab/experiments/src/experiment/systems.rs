//! Systems and values that several experiments share.

/// weir, least remaining first.
pub(crate) const SRPT: &str = "weir:srpt";
/// weir, sharing equally: an ideal FAIR server.
pub(crate) const FAIR: &str = "weir:fair";
/// weir's default.
pub(crate) const PROTECTIVE: &str = "weir:protective";
/// nginx.
pub(crate) const NGINX: &str = "nginx";
/// The paper's server, today's version.
pub(crate) const APACHE: &str = "apache-prefork";

/// The paper's SRPT: strict priorities of the kernel's queue, cut at 1, 2, 5 and 50 KB, and no order
/// within one.
pub(crate) const BANDS: &str = "weir-kernel:bands --uplink-bands paper --uplink-kernel-cap off";
/// Kernel mode as it comes: bands that are learned, and a cap on what large responses have queued.
pub(crate) const KERNEL: &str = "weir-kernel:bands";

/// What the baseline compares.
pub(crate) const SYSTEMS: [&str; 9] =
    [SRPT, PROTECTIVE, "weir:fsp", "weir:bands", KERNEL, BANDS, FAIR, NGINX, APACHE];

/// What single conditions compare; the first is what others are divided by.
pub(crate) const RIVALS: [&str; 4] = [SRPT, FAIR, NGINX, APACHE];

/// What points of a curve compare.
pub(crate) const FEW: [&str; 3] = [SRPT, FAIR, NGINX];

/// Packets of the transmit queue: today's default, and Linux 2.2's.
pub(crate) const QUEUES: [u32; 2] = [1000, 100];
