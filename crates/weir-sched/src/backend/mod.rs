//! What stands between a proxy and its backends: the gate of each, which says which call starts next
//! and how many may be under way, the balance that chooses a backend, and the health that ejects one.
//! Used by the server's proxy and by the simulator of backends.

pub mod balance;
mod call;
mod config;
mod counts;
mod gate;
pub mod health;
mod limit;
mod mean;
mod patience;
mod queue;
mod service_times;
mod unanswered;

pub use call::{Abandoned, Call, CallNext, CallSpec};
pub use config::{BackendConfig, BackendOrder, CallLimit, InvalidCallLimit, UnknownOrder};
pub use counts::Counts;
pub use gate::BackendGate;
