//! The gate of a backend, in front of a simulated application, and the health that ejects a backend.

mod application;
mod gap;
mod health;
mod limit;
mod long_calls;
mod naive_gate;
mod overload;
mod patience;
mod random_calls;
mod share;
mod step_by_step;
