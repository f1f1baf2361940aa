//! Response records and what is computed from them: response times, slowdown, service inversion,
//! confidence intervals. It does not know where records come from.

pub mod record;

pub use record::{Outcome, Record};
