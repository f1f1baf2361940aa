//! Where the figures of a load go: a summary, JSON, a page. Called before the run, to refuse files
//! that cannot be written, and after it.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use super::arguments::Arguments;
use super::figures::Figures;
use super::{page, text};
use crate::failure::{Failure, failed};
use crate::print;

/// Whether standard output is for JSON.
pub(crate) fn json_to_stdout(arguments: &Arguments) -> bool {
    arguments.json.as_deref() == Some(Path::new("-"))
}

/// Refuses files that cannot be written, before a long run.
///
/// # Errors
///
/// The first that cannot be (status 1).
pub(crate) fn check(arguments: &Arguments) -> Result<(), Failure> {
    let json = arguments.json.as_deref().filter(|_| !json_to_stdout(arguments));
    let files = [("--records", arguments.records.as_deref()), ("--json", json)];
    for (flag, file) in files.into_iter().chain([("--html", arguments.html.as_deref())]) {
        let Some(file) = file else { continue };
        let new = !file.exists();
        OpenOptions::new().append(true).create(true).open(file).map_err(|error| {
            let message = format!("{flag}: cannot write {}: {error}", file.display());
            failed(message)
        })?;
        // It was only a try; nothing is left behind by a run that comes to nothing.
        if new {
            let _ = fs::remove_file(file);
        }
    }
    Ok(())
}

/// Writes everything that was asked for; the summary goes to standard output unless JSON does.
///
/// # Errors
///
/// What could not be written (status 1); the rest is.
pub(crate) fn write(arguments: &Arguments, figures: &Figures) -> Result<(), Failure> {
    let summary = text::summary(figures);
    let mut first = None;
    let mut keep = |what: &str, done: io::Result<()>| {
        if let Err(error) = done {
            let message = format!("cannot write {what}: {error}");
            first.get_or_insert(failed(message));
        }
    };
    if json_to_stdout(arguments) {
        print::tell(&summary);
        keep("to standard output", json(figures, io::stdout().lock()));
    } else {
        keep("to standard output", io::stdout().write_all(summary.as_bytes()));
        if let Some(file) = &arguments.json {
            let written = fs::File::create(file).and_then(|f| json(figures, io::BufWriter::new(f)));
            keep(&file.display().to_string(), written);
        }
    }
    if let Some(file) = &arguments.html {
        keep(&file.display().to_string(), fs::write(file, page::page(figures)));
    }
    first.map_or(Ok(()), Err)
}

fn json(figures: &Figures, mut to: impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut to, figures)?;
    to.write_all(b"\n")?;
    to.flush()
}
