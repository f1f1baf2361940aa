//! Apache with the module and the opener, beside Apache without: real servers, so these tests need root,
//! Debian's apache2-bin and apache2-dev.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

#[path = "../support/mod.rs"]
mod support;

mod changes;
mod descriptor_limit;
mod descriptors;
mod fake;
mod faults;
mod filters;
mod hanging_disk;
mod kept;
mod openers;
mod restarts;
mod same;
mod server;
mod where_it_blocks;
mod while_waiting;

/// The other tests start it.
#[test]
#[ignore = "the other tests start it as a process of its own"]
fn opener_process() {
    support::process::run();
}
