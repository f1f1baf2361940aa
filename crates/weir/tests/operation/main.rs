//! What an operator meets: command line, logs, metrics, signals, time-outs, and the uplink. Each test
//! runs the real program.

#[path = "../support/mod.rs"]
mod support;

mod access_log;
mod admin;
mod cli;
mod dashboards;
mod examples;
mod hand_over;
mod hanging_files;
mod hanging_worker;
mod kernel_bands;
mod kubernetes;
mod limits;
mod log_formats;
mod logs;
mod messages;
mod reload;
mod reload_memory;
mod service_manager;
mod signals;
mod stopping;
mod timeouts;
mod unix_sockets;
mod uplink;
mod uplink_bands;
mod uplink_loops;
mod uplink_order;
