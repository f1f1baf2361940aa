//! The uplink gate with its policies, in front of a simulated link.

mod closed_loop;
mod jobs_of_a_flow;
mod link;
mod own_policy;
mod paths;
mod promise;
mod random_calls;
mod step_by_step;
mod support;
mod worked;
