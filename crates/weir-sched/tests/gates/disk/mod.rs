//! The disk gate.

mod bound;
mod learning;
mod model_disk;
mod random_calls;
mod step_by_step;
