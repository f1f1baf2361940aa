//! Laws of sizes: how many bytes somebody asks for. Each is a quantile function, so that one
//! uniform number gives one size. They do not know when anybody asks, nor draw numbers themselves.

mod world_cup;

pub use world_cup::WorldCup;

/// A law of sizes, in bytes (or of work, in any unit).
pub trait Law: std::fmt::Debug + Send + Sync {
    /// The size below which a share `u`, in [0, 1), of the requests lies.
    fn quantile(&self, u: f64) -> f64;

    /// The whole number of bytes, at least 1, that a uniform number `u` in [0, 1) stands for.
    fn size(&self, u: f64) -> u64 {
        self.quantile(u).round().max(1.0) as u64
    }

    /// The mean of [`Law::quantile`].
    fn mean(&self) -> f64 {
        integrate(|u| self.quantile(u))
    }

    /// The mean over the law of any function of [`Law::size`].
    fn mean_of(&self, f: &dyn Fn(u64) -> f64) -> f64 {
        integrate(|u| f(self.size(u)))
    }

    /// The sizes that occur, ascending and distinct, if they are few enough that each can be a
    /// document; `None` for a law that gives nearly any number.
    fn sizes(&self) -> Option<Vec<u64>> {
        None
    }
}

/// The largest number below 1.
const BELOW_ONE: f64 = 1.0 - f64::EPSILON / 2.0;

/// The integral of a function over [0, 1) that may grow without bound towards 1, such as
/// a quantile function of a heavy tail. The midpoint rule over each of the ranges `1 - 10^-k` to
/// `1 - 10^-(k+1)`: plain equal steps would miss the bytes of the largest requests.
fn integrate(f: impl Fn(f64) -> f64) -> f64 {
    let points = 20_000;
    let mut sum = 0.0;
    let mut from = 1.0;
    for decade in 0..15 {
        let to = if decade == 14 { 0.0 } else { from / 10.0 };
        let width = (from - to) / f64::from(points);
        let middle = |i: i32| 1.0 - (from - (f64::from(i) + 0.5) * width);
        let inside: f64 = (0..points).map(|i| f(middle(i).min(BELOW_ONE))).sum();
        sum += inside * width;
        from = to;
    }
    sum
}
