//! Laws of sizes: how many bytes a request asks for. Each is a quantile function, so that one
//! uniform number gives one size. Arrivals and the simulator draw from them; closed forms integrate
//! over them.

mod carter;
mod discrete;
mod empirical;
mod exponential;
mod file;
mod lognormal;
mod mean;
mod pareto;
mod rounded;
mod specweb;
mod surge;
mod text;
mod world_cup;

use std::fmt;

pub use carter::carter;
pub use discrete::Discrete;
pub use empirical::Ranges;
pub use exponential::{Deterministic, Exponential};
pub use lognormal::Lognormal;
pub use mean::check_tail;
pub use pareto::BoundedPareto;
pub use rounded::Rounded;
pub use specweb::{specweb96, specweb99};
pub use surge::Surge;
pub use text::{SYNTAX, parse, parse_exact};
pub use world_cup::WorldCup;

/// A law of sizes, in bytes (or of work, in any unit). It is displayed as the text that
/// [`parse`] reads.
pub trait Law: fmt::Debug + fmt::Display + Send + Sync {
    /// The size below which a share `u`, in [0, 1), of the requests lies.
    fn quantile(&self, u: f64) -> f64;

    /// The whole number of bytes, at least 1, that a uniform number `u` in [0, 1) stands for.
    fn size(&self, u: f64) -> u64 {
        whole(self.quantile(u))
    }

    /// The mean of [`Law::quantile`].
    fn mean(&self) -> f64 {
        mean::integrate(|u| self.quantile(u))
    }

    /// The mean over the law of any function of [`Law::size`].
    fn mean_of(&self, f: &dyn Fn(u64) -> f64) -> f64 {
        mean::integrate(|u| f(self.size(u)))
    }

    /// The sizes that occur, ascending and distinct, if they are few enough that each can be a
    /// document; `None` for a law that gives nearly any number.
    fn sizes(&self) -> Option<Vec<u64>> {
        None
    }
}

/// The nearest whole number of bytes, at least 1.
fn whole(size: f64) -> u64 {
    size.round().max(1.0) as u64
}
