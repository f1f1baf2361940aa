//! What all cells of a run share and no figure depends on: places, programs, how many at once.

use std::path::PathBuf;

/// Where things are and how much of the machine is used.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The directory of a run; documents that cells share are kept here too.
    pub out: PathBuf,
    /// The directory of the real traces; needed only by cells that replay one.
    pub data: Option<PathBuf>,
    /// The `weir` that is tested; a program that runs the lab is usually it.
    pub weir: PathBuf,
    /// Cells at once, at least 1.
    pub side_by_side: usize,
    /// Keep the record of every request (`records.csv.zst`).
    pub keep_records: bool,
}
