//! Whether a generator kept its own schedule: a percentile of latency is no measurement of the
//! server when the generator's lag, in starting requests and in reading responses, is more than a
//! hundredth of it. `weir-lab load` marks its figures by these bounds.

/// The share of a latency, from 0 to 1, that the lag may be.
pub const TOLERANCE: f64 = 0.01;

/// The percentile of the lag, as a share, that is shown while a run goes on.
pub const LAG_SHARE: f64 = 0.99;
