//! How long the application takes for what: Figure 21's sizes (Carter 1999, section 3.1 and appendix
//! A.2) stand for work, and the time is in proportion to them. The application
//! takes this time; figures and clients go by the same classes and bodies.

use std::time::Duration;

use weir_workload::law::{Law, carter};

/// Bytes of every answer's body.
pub(crate) const BODY: [u8; 1024] = [b'w'; 1024];

/// Size classes, by the power of ten: 100 to 900 bytes, 1 to 9 KB, 10 to 90 KB, 100 to 900 KB.
pub(crate) const CLASSES: usize = 4;

/// The class of a size; what lies outside is in the nearest.
pub(crate) fn class(bytes: u64) -> usize {
    (bytes.max(1).ilog10() as usize).clamp(2, 1 + CLASSES) - 2
}

/// Service times of a mean.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Service {
    nanoseconds_per_byte: f64,
}

impl Service {
    /// So that Figure 21's sizes take this long in the mean. The mean is that of the printed
    /// probabilities (14,724.5 bytes), not the 14,675 of appendix A.2, so that a load of 1 is
    /// exactly the capacity.
    pub(crate) fn new(mean: Duration) -> Service {
        Service { nanoseconds_per_byte: mean.as_secs_f64() * 1e9 / carter().mean() }
    }

    /// Nanoseconds for a size; an hour at most, which no size of the law comes near.
    pub(crate) fn of(&self, bytes: u64) -> u64 {
        const HOUR: f64 = 3600e9;
        (bytes as f64 * self.nanoseconds_per_byte).round().min(HOUR) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_what_was_asked_for_and_times_are_in_proportion() {
        let service = Service::new(Duration::from_millis(10));
        let mean = carter().mean_of(&|bytes| service.of(bytes) as f64);
        assert!((mean - 1e7).abs() < 10.0, "{mean}");
        // Of 14,724.5 bytes; rounding is within a nanosecond.
        assert!((service.of(900_000) as f64 - 1000.0 * service.of(900) as f64).abs() < 1000.0);
        assert!((service.of(900_000) as f64 / 1e9 - 0.611).abs() < 0.001);
        assert_eq!(service.of(u64::MAX), 3_600_000_000_000);
    }

    #[test]
    fn classes_are_powers_of_ten() {
        let sizes = [0, 99, 100, 900, 1000, 9000, 10_000, 90_000, 100_000, 900_000, 1_000_000_000];
        assert_eq!(sizes.map(class), [0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 3]);
    }
}
