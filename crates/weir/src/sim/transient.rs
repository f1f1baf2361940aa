//! `weir sim transient`.

use super::asked;
use crate::Failure;

/// `weir sim transient`.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {}

pub(super) fn run(_: &Arguments) -> Result<(), Failure> {
    Err(asked("not built yet"))
}
