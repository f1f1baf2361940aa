//! How long sharing equally takes to give every job present a given service, when a backlog drains
//! while new jobs come: the renewal equation of `lab/models.md`, solved step by step for
//! [`super::onoff`].

use super::sizes::{Moments, Place, Sizes};

/// Steps per factor of ten of the coarser of two solutions.
const STEPS_PER_DECADE: f64 = 50.0;
/// The first step, in mean sizes.
const FIRST_STEP: f64 = 1e-3;

/// The new jobs, as the integrals of their share above a size.
struct Above {
    /// Ascending sizes, and the moments up to and with each.
    sizes: Vec<f64>,
    up_to: Vec<Moments>,
}

impl Above {
    fn new(sizes: &Sizes) -> Above {
        let mut sum = Moments::default();
        let places = sizes.places(0.0);
        let up_to = places.iter().map(|place: &Place| {
            sum = sum.with(place.size, place.weight);
            sum
        });
        let mut up_to: Vec<Moments> = up_to.collect();
        if let Some(all) = up_to.last_mut() {
            // To the last digit, or the share above would be rounding times a large size.
            all.share = 1.0;
        }
        Above { up_to, sizes: places.iter().map(|place| place.size).collect() }
    }

    /// The integral over [0, y] of P[X > t], and the integral of that.
    fn integrals(&self, y: f64) -> (f64, f64) {
        let count = self.sizes.partition_point(|size| *size <= y);
        let below = if count == 0 { Moments::default() } else { self.up_to[count - 1] };
        let (once, square) = below.cut_at(y);
        (once, y * once - square / 2.0)
    }
}

/// With t(y) = alone(y) + `rate` ∫ P[X > y - w] t(w) dw over [0, y]: the mean of t(y) - alone(y)
/// where `size` - y is exponential of rate `growth`, t being 0 below 0.
pub(super) fn excess(
    sizes: &Sizes,
    rate: f64,
    growth: f64,
    size: f64,
    alone: impl Fn(f64) -> f64,
) -> f64 {
    let above = Above::new(sizes);
    let with = |per_decade: f64| {
        let steps = grid(size, sizes.mean() * FIRST_STEP, per_decade);
        let excess = solve(&above, rate, &steps, &alone);
        mean_before(size, growth, &steps, &excess)
    };
    // The error goes with the square of the step (Richardson).
    (4.0 * with(2.0 * STEPS_PER_DECADE) - with(STEPS_PER_DECADE)) / 3.0
}

/// 0, then equal ratios from `first` (or less) to `last`.
fn grid(last: f64, first: f64, per_decade: f64) -> Vec<f64> {
    let first = first.min(last / 1000.0);
    let count = ((last / first).log10() * per_decade).ceil();
    let points = (0..=count as usize).map(|i| first * (last / first).powf(i as f64 / count));
    std::iter::once(0.0).chain(points).collect()
}

/// The excess at each point: product integration, the unknown being straight between points.
fn solve(above: &Above, rate: f64, grid: &[f64], alone: &impl Fn(f64) -> f64) -> Vec<f64> {
    let alone: Vec<f64> = grid.iter().map(|y| alone(*y)).collect();
    let mut excess = vec![0.0; grid.len()];
    for i in 1..grid.len() {
        let y = grid[i];
        let mut known = 0.0;
        let mut own = 0.0;
        let mut far = above.integrals(y);
        for j in 1..=i {
            let near = above.integrals(y - grid[j]);
            let step = grid[j] - grid[j - 1];
            let whole = far.0 - near.0;
            let early = (far.0 - (far.1 - near.1) / step).clamp(0.0, whole.max(0.0));
            let late = whole - early;
            known += early * (alone[j - 1] + excess[j - 1]);
            if j == i {
                own = late;
                known += late * alone[j];
            } else {
                known += late * (alone[j] + excess[j]);
            }
            far = near;
        }
        excess[i] = rate * known / (1.0 - rate * own);
    }
    excess
}

/// The mean of a function, given at points and straight between them, at an exponential time of
/// rate `growth` before `end`.
fn mean_before(end: f64, growth: f64, grid: &[f64], values: &[f64]) -> f64 {
    let weight = |y: f64| (-growth * (end - y)).exp();
    let mut sum = 0.0;
    for (y, value) in grid.windows(2).zip(values.windows(2)) {
        let slope = (value[1] - value[0]) / (y[1] - y[0]);
        let (from, to) = (weight(y[0]), weight(y[1]));
        let inside = -to * (-growth * (y[1] - y[0])).exp_m1();
        sum += value[1] * to - value[0] * from - slope * inside / growth;
    }
    sum
}
