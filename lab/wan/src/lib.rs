//! An emulated link on TUN devices between network namespaces: delay, loss, rate and a queue, both
//! ways, seeded. The experiments run their clients behind it, and the program `weir-wan` makes one
//! by hand.
//!
//! [`Wan`] is the link; [`Line`] is one direction of it without I/O or clock.

mod client;
mod device;
mod error;
mod line;
mod loss;
mod mover;
mod namespace;
mod options;
mod statistics;
mod wan;

pub use client::Delays;
pub use device::End;
pub use error::Error;
pub use line::{FRAME, Line, on_the_wire};
pub use loss::Losses;
pub use options::{Class, Direction, Loss, Options};
pub use statistics::{Counts, Statistics};
pub use wan::Wan;
