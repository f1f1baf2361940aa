//! `weir sim queue`.

use super::asked;
use crate::Failure;

/// `weir sim queue`.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {}

pub(super) fn run(_: &Arguments) -> Result<(), Failure> {
    Err(asked("not built yet"))
}
