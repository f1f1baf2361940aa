//! The uplink gate with its policies, in front of a simulated link.

mod closed_loop;
mod link;
mod own_policy;
mod paths;
mod promise;
mod random_calls;
mod step_by_step;
mod support;
mod worked;
