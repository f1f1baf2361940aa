//! One cell from beginning to end.

use std::path::Path;

use crate::cell::Cell;
use crate::error::Result;
use crate::outcome::Outcome;
use crate::settings::Settings;

/// Once before the first cell: root, open files, Ctrl-C, what killed runs left.
pub(crate) fn prepare() -> Result<()> {
    crate::interrupt::install()
}

/// Run one cell; its files go to `directory`.
///
/// # Errors
///
/// When network, server or load could not be had, in words for the user; what happens to single
/// requests is in the outcome.
pub fn run_cell(cell: &Cell, settings: &Settings, directory: &Path) -> Result<Outcome> {
    let _ = (cell, settings, directory);
    prepare()?;
    Err("not built yet".into())
}
