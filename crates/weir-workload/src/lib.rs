//! Requests over time: trace readers, laws of sizes, arrivals, load shapes. It does not know
//! servers or sockets; everything random follows from a seed.

pub mod request;
pub mod wire;

pub use request::Request;
pub use wire::Wire;
