//! Settings of a run that no figure depends on: directories, programs, how many cells at once. The
//! program `weir-lab` fills them in; runner and systems under test read them.

use std::path::PathBuf;

/// Where things are and how much of the machine is used.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The directory of a run; documents that cells share are kept here too.
    pub out: PathBuf,
    /// The directory of the real traces; needed only by cells that replay one.
    pub data: Option<PathBuf>,
    /// The `weir` under test.
    pub weir: PathBuf,
    /// The program `weir-lab`, which is also the application behind the proxies under test.
    pub weir_lab: PathBuf,
    /// Cells at once, at least 1.
    pub side_by_side: usize,
    /// Keep the record of every request (`records.csv.zst`).
    pub keep_records: bool,
}
