//! Whether a generator kept its own schedule: a percentile of latency is no measurement of the
//! server when the generator's start lag is more than a hundredth of it. `weir-lab load` marks its
//! figures by these bounds.

/// The share of a latency, from 0 to 1, that the start lag may be.
pub const TOLERANCE: f64 = 0.01;

/// The percentile of the start lag, as a share, that is compared with latencies.
pub const LAG_SHARE: f64 = 0.99;
