//! Requests over time: trace readers, laws of sizes, arrivals, load shapes. It does not know
//! servers or sockets; everything random follows from a seed.

pub mod arrivals;
mod invalid;
pub mod law;
mod parameters;
pub mod request;
pub mod shape;
pub mod wire;

pub use invalid::Invalid;
pub use request::Request;
pub use wire::Wire;
