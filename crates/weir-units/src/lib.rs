//! Quantities as people write them: rates, sizes, shares, times, counts and named choices, read and
//! printed in one place. Used by the configuration of the server, by the policies (for the rate of
//! the link) and by every command line.
//!
//! Each type is read with [`FromStr`](std::str::FromStr), printed with [`Display`](std::fmt::Display)
//! so that it reads back the same, and refused with an [`Invalid`] that says what was expected and
//! shows an example. With the feature `serde` each is read from a configuration file in the same way,
//! and [`text`] does so for types of others.

mod bit_rate;
mod choice;
mod count;
mod invalid;
mod request_rate;
mod share;
mod size;
#[cfg(feature = "serde")]
pub mod text;
mod time_span;

pub use bit_rate::BitRate;
pub use choice::one_of;
pub use count::{Count, Positive};
pub use invalid::Invalid;
pub use request_rate::RequestRate;
pub use share::{Percent, Share};
pub use size::Size;
pub use time_span::TimeSpan;
