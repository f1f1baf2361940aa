//! The nine workloads of Schroeder & Harchol-Balter, Table 1, and constant load.

use super::{Period, Shape};
use crate::invalid::Invalid;

/// Seconds and load of low load, then of overload; section 3.3.2 calls the first five
/// alternating, the others intermittent.
const TABLE_1: [(f64, f64, f64, f64); 9] = [
    (25.0, 0.2, 25.0, 1.2),
    (10.0, 0.2, 10.0, 1.2),
    (50.0, 0.2, 50.0, 1.2),
    (25.0, 0.4, 25.0, 1.4),
    (10.0, 0.4, 10.0, 1.4),
    (20.0, 0.5, 3.0, 2.0),
    (13.3, 0.5, 2.0, 2.0),
    (20.0, 0.735, 3.0, 2.0),
    (13.3, 0.735, 2.0, 2.0),
];

impl Shape {
    /// Workload `number` of Schroeder's Table 1, from 1 to 9. The alternating ones (1 to 5) begin
    /// with overload, the intermittent ones (6 to 9) with low load, as in the paper's Figure 3.
    ///
    /// # Errors
    ///
    /// Another number.
    pub fn schroeder(number: usize) -> Result<Shape, Invalid> {
        let row = number.checked_sub(1).and_then(|place| TABLE_1.get(place));
        let Some(&(low_seconds, low_load, high_seconds, high_load)) = row else {
            return Err(Invalid(format!(
                "there is no workload W{number}: Schroeder's Table 1 has W1 to W9"
            )));
        };
        let low = Period { seconds: low_seconds, load: low_load };
        let high = Period { seconds: high_seconds, load: high_load };
        let periods = if number <= 5 { vec![high, low] } else { vec![low, high] };
        Shape::new(format!("w{number}"), periods)
    }

    /// The same load always.
    ///
    /// # Errors
    ///
    /// A load that is not above 0.
    pub fn constant(load: f64) -> Result<Shape, Invalid> {
        Shape::new(format!("constant:load={load}"), vec![Period { seconds: 3600.0, load }])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_averages_are_those_of_the_paper() {
        let averages = [0.7, 0.7, 0.7, 0.9, 0.9, 0.7, 0.7, 0.9, 0.9];
        for (number, average) in (1..).zip(averages) {
            let mean = Shape::schroeder(number).expect("in the table").mean_load();
            assert!((mean - average).abs() < 0.005, "W{number}: {mean}");
        }
        assert!(Shape::schroeder(0).is_err());
        assert!(Shape::schroeder(10).is_err());
    }

    #[test]
    fn alternating_workloads_begin_with_overload_and_intermittent_ones_with_low_load() {
        for number in 1..=9 {
            let shape = Shape::schroeder(number).expect("in the table");
            let first = shape.spans().next().expect("without end");
            assert_eq!(first.load > 1.0, number <= 5, "W{number}");
        }
        let shape = Shape::schroeder(1).expect("in the table");
        let spans: Vec<_> = shape.overload(110.0).iter().map(|s| (s.start, s.end)).collect();
        assert_eq!(spans, [(0.0, 25.0), (50.0, 75.0), (100.0, 110.0)]);
    }

    #[test]
    fn constant_load_is_constant_and_above_nothing() {
        let shape = Shape::constant(0.8).expect("a load");
        assert!((shape.mean_load() - 0.8).abs() < 1e-12);
        assert!(shape.spans().take(5).all(|span| span.load == 0.8));
        assert!(Shape::constant(0.0).is_err());
        assert!(Shape::constant(f64::NAN).is_err());
    }
}
