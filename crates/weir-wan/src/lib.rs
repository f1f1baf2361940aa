//! An emulated link on TUN devices between network namespaces: delay, loss, rate and a queue, both
//! ways, seeded. It does not know HTTP.

mod options;

pub use options::{Class, Direction, Loss, Options};
