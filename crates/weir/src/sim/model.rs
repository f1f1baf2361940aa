//! `weir sim model`.

use super::asked;
use crate::Failure;

/// `weir sim model`.
#[derive(Debug, clap::Subcommand)]
pub(super) enum Command {}

pub(super) fn run(_: &Command) -> Result<(), Failure> {
    Err(asked("not built yet"))
}
