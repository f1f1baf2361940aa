//! Files of results: a JSON line for each measurement, and the tables as Markdown.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use serde::Serialize;
use weir_peers::{Error, Result};

use crate::bars::Findings;

/// A new file of JSON lines.
pub(crate) fn create(out: &Path, name: &str) -> Result<File> {
    let file = out.join(name);
    File::create(&file).map_err(|e| Error::file("write", &file, &e))
}

/// One line of results.
pub(crate) fn line(file: &mut File, row: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string(row).map_err(|e| Error(format!("a result as JSON: {e}")))?;
    writeln!(file, "{text}").map_err(|e| Error(format!("cannot write a result: {e}")))
}

/// The tables.
pub(crate) fn markdown(out: &Path, name: &str, text: &str) -> Result<()> {
    let file = out.join(name);
    fs::write(&file, text).map_err(|e| Error::file("write", &file, &e))
}

/// The verdicts on all parts, which are printed, behind the tables, which have been.
pub(crate) fn findings(out: &Path, name: &str, all: &Findings) -> Result<()> {
    let verdicts = all.verdicts();
    print!("{verdicts}");
    markdown(out, name, &format!("{}{verdicts}", all.text))
}
