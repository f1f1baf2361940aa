//! Schroeder's Table 1: the nine workloads of transient overload, and how much of each a run has.

use crate::choice::Scale;

/// A workload of Table 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Workload {
    /// W1 to W9.
    pub(crate) name: &'static str,
    /// Seconds and offered load of the overload.
    pub(crate) high: (f64, f64),
    /// Seconds and offered load between overloads.
    pub(crate) low: (f64, f64),
}

const fn alternating(name: &'static str, seconds: f64, high: f64, low: f64) -> Workload {
    Workload { name, high: (seconds, high), low: (seconds, low) }
}

const fn intermittent(name: &'static str, high: f64, low: f64, load: f64) -> Workload {
    Workload { name, high: (high, 2.0), low: (low, load) }
}

/// Table 1.
pub(crate) const WORKLOADS: [Workload; 9] = [
    alternating("W1", 25.0, 1.2, 0.2),
    alternating("W2", 10.0, 1.2, 0.2),
    alternating("W3", 50.0, 1.2, 0.2),
    alternating("W4", 25.0, 1.4, 0.4),
    alternating("W5", 10.0, 1.4, 0.4),
    intermittent("W6", 3.0, 20.0, 0.5),
    intermittent("W7", 2.0, 13.3, 0.5),
    intermittent("W8", 3.0, 20.0, 0.735),
    intermittent("W9", 2.0, 13.3, 0.735),
];

/// W1, which most experiments use.
pub(crate) const W1: Workload = WORKLOADS[0];
/// W4.
pub(crate) const W4: Workload = WORKLOADS[3];
/// W8.
pub(crate) const W8: Workload = WORKLOADS[7];

impl Workload {
    /// Overload, then low load.
    pub(crate) fn periods(&self) -> Vec<(f64, f64)> {
        vec![self.high, self.low]
    }

    /// Whole cycles: about 50 s, 150 s or 30 minutes.
    pub(crate) fn duration(&self, scale: Scale) -> f64 {
        let cycle = self.high.0 + self.low.0;
        let wanted = match scale {
            Scale::Quick => 46.0,
            Scale::Full => 150.0,
            Scale::Paper => 1800.0,
        };
        (wanted / cycle).round().max(1.0) * cycle
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_average_loads_are_those_of_table_1() {
        let averages = [0.7, 0.7, 0.7, 0.9, 0.9, 0.7, 0.7, 0.9, 0.9];
        for (workload, average) in WORKLOADS.iter().zip(averages) {
            let (high, low) = (workload.high, workload.low);
            let mean = (high.0 * high.1 + low.0 * low.1) / (high.0 + low.0);
            assert!((mean - average).abs() < 0.005, "{}: {mean}", workload.name);
        }
    }

    #[test]
    fn runs_have_whole_cycles() {
        assert_eq!(WORKLOADS.map(|w| w.duration(Scale::Quick))[..3], [50.0, 40.0, 100.0]);
        assert_eq!(W1.duration(Scale::Full), 150.0);
        assert_eq!(W1.duration(Scale::Paper), 1800.0);
    }
}
