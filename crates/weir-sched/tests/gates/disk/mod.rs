//! The disk gate.

mod random_calls;
mod step_by_step;
