//! `weir-lab` as people and scripts call it. Some tests make network namespaces and need root.

#[path = "../../../experiments/tests/support/made_up.rs"]
mod made_up;
#[path = "../../../../crates/weir/tests/support/mod.rs"]
mod support;

mod backend;
mod blame;
mod cell;
mod disk;
mod documents;
mod experiments;
mod load;
mod load_errors;
mod load_tls;
mod opener;
mod programs;
mod sim_backend;
mod sim_dtoc;
mod sim_loops;
mod sim_model;
mod sim_queue;
mod sim_replay;
mod trace;
