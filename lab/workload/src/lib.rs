//! Requests over time: trace readers, laws of sizes, arrivals, load shapes, SURGE. `weir-lab`, the
//! experiments, the generator and the simulator draw their requests from here; everything random
//! follows from a seed.

pub mod arrivals;
pub mod documents;
pub mod file_set;
mod hash;
mod invalid;
pub mod law;
mod parameters;
pub mod read;
pub mod request;
pub mod scale;
pub mod shape;
pub mod surge;
pub mod wire;
mod zipf;

pub use file_set::FileSet;
pub use invalid::Invalid;
pub use request::{Request, Requests};
pub use wire::Wire;
