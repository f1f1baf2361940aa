//! What is given to users: the Debian package, the unit of systemd, the rules for logrotate and the root of the
//! container image, each tried with the programs that read it. The tests need root and what
//! `./test --install` installs.
#![allow(clippy::unwrap_used)] // the helpers of tests are tests

#[path = "../support/mod.rs"]
mod support;

mod container;
mod debian;
mod rotation;
mod unit;
mod upgrade;

use std::path::{Path, PathBuf};
use std::process::Command;

/// The directory of what packages are made of.
fn dist() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dist")
}

/// A script of that directory; its arguments can follow.
fn script(name: &str) -> Command {
    let mut command = support::tool("bash", "bash");
    command.arg(dist().join(name));
    command
}
