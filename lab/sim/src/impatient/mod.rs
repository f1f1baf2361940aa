//! Clients that give up: what the two models of them, [`crate::dtoc`] and [`crate::backend`], have
//! in common. Who comes and what for, who still waits, what is counted, which parameters are valid.

mod counts;
mod limits;
mod shares;
mod stream;
mod waiting;

pub use counts::Counts;
pub(crate) use counts::{Figures, Watched, class};
pub(crate) use limits::{Limits, check_range, mean_size};
pub(crate) use shares::{mean, percent};
pub(crate) use stream::{Sizes, Stream};
pub(crate) use waiting::Waiting;
