//! What every end-to-end test needs: a real server of its own, clients that see every byte, and
//! waiting for conditions. The tests of `weir-lab` use it,
//! too.
#![allow(dead_code, unused_imports, unreachable_pub)] // every test file uses its own part of this

mod backend;
mod client;
mod configuration;
mod held_file;
pub mod link;
pub mod load;
pub mod loops;
mod metrics;
mod nginx;
pub mod passwords;
mod programs;
mod queue;
mod server;
pub mod wire;

use std::process::Command;
use std::time::{Duration, Instant};

pub use backend::{Asked, Backend, Barrier, Call, Refusing, Silent, Then};
pub use client::{Client, Response, get_anew};
pub use configuration::{Configuration, LARGE, SMALL};
pub use held_file::HeldFile;
pub use load::Load;
pub use metrics::Metrics;
pub use nginx::{nginx, own_host};
pub use programs::{App, Running, chromium, chromium_command, curl, output_of};
pub use queue::{asking, held, one_at_a_time, queue, wait_for_waiting};
pub use server::{Server, as_nobody, end_of, memory_of, route, weir};

/// Guards against hanging. Nothing that works takes so long.
pub const DEADLINE: Duration = Duration::from_secs(30);

/// Waits until `condition` holds; fails with `what` if it never does.
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < DEADLINE, "this never came about: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A command that runs a program of a Debian package, which must be there.
pub fn tool(program: &str, package: &str) -> Command {
    let directories = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&directories).any(|dir| dir.join(program).is_file());
    assert!(found, "{program} is missing: install the Debian package {package}");
    Command::new(program)
}

/// Bytes that look random and are the same for the same seed (SplitMix64).
pub fn noise(seed: u64, count: usize) -> Vec<u8> {
    let mut state = seed;
    let mut bytes = Vec::with_capacity(count + 8);
    while bytes.len() < count {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bytes.extend_from_slice(&(mixed ^ (mixed >> 31)).to_le_bytes());
    }
    bytes.truncate(count);
    bytes
}
