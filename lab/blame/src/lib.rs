//! Where a running server of any make blocks: time off the processor by system call and path, events
//! that are ready per wake, burstiness, and the longest turn of an event loop. `weir-lab blame` prints
//! it; experiments can call it (Ruan & Pai 2006, sections 3.1 to 3.3, define what is
//! measured).
//!
//! From the ground up: [`Report`] is the result; `event` is what sources tell, `calls` what is known of
//! system calls; `ledger` makes a report of events and does no I/O; `width`, `tasks` and `names` read
//! /proc; `trace` and `sample` are the two sources of events; [`watch`] chooses one.

mod calls;
mod event;
mod ledger;
mod names;
mod report;
mod sample;
mod tasks;
mod trace;
mod watch;
mod width;

pub use report::{Blocked, Distribution, Method, Report, Turn};
pub use watch::{Options, watch};
