//! The opener as its clients see it. Some tests change their user and need root.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

#[path = "../support/mod.rs"]
mod support;

mod answers;
mod changes;
mod faults;
mod limits;
mod remote;

/// The other tests start it.
#[test]
#[ignore = "the other tests start it as a process of its own"]
fn opener_process() {
    support::process::run();
}
