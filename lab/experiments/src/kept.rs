//! The files of a cell: text, JSON and records. Cells of both kinds write them; the runner and reports
//! read outcomes.

use std::fs;
use std::path::Path;

use weir_peers::{Error, Result};
use weir_stats::{Record, RecordWriter};

/// The file of a cell's figures in its directory.
pub(crate) const OUTCOME: &str = "outcome.json";

/// Writes `text` as it is.
pub(crate) fn text(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(|e| Error::file("write", path, &e))
}

/// Writes `value` as JSON for people.
pub(crate) fn json<T: serde::Serialize>(path: &Path, value: &T) -> Result<()> {
    let written = serde_json::to_string_pretty(value);
    text(path, &written.map_err(|e| Error(format!("figures as JSON: {e}")))?)
}

/// Writes a record for each request.
pub(crate) fn records(records: &[Record], path: &Path) -> Result<()> {
    let failed = |e: weir_stats::Error| Error(e.to_string());
    let mut writer = RecordWriter::create(path).map_err(failed)?;
    for record in records {
        writer.write(record).map_err(failed)?;
    }
    writer.finish().map(|_| ()).map_err(failed)
}
