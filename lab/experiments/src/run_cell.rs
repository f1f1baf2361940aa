//! One cell, of whichever kind, and the files it leaves. The runner runs many of them.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use weir_peers::{Error, Result, interrupt, namespace, tool};

use crate::cell::{Cell, Demand};
use crate::link::{self, initial_rto};
use crate::outcome::{Outcome, UNKNOWN};
use crate::settings::Settings;
use crate::{backend, disk, kept, machine};

/// Once before the first cell: root, open files, Ctrl-C, what killed runs left.
///
/// # Errors
///
/// When no cell can run here; says what can be done instead.
pub(crate) fn prepare() -> Result<()> {
    static PREPARED: OnceLock<Result<()>> = OnceLock::new();
    let once = || {
        machine::need_root()?;
        machine::raise_open_files()?;
        interrupt::install()?;
        namespace::remove_stale();
        initial_rto::remove_stale();
        Ok(())
    };
    PREPARED.get_or_init(once).clone()
}

/// Run one cell; its files go to `directory`: `cell.json`, `outcome.json`, the server's
/// configuration and log, the kernel's TCP counters of both sides (`tcp-server.txt`,
/// `tcp-client.txt`), `metrics.txt` of weir, `wan.txt` of an emulated link, `served.txt` of an
/// application, and, if they are to be kept, `records.csv.zst`. Users who read slowly are in the figures like all others.
///
/// # Errors
///
/// When network, server or load could not be had, in words for the user; what happens to single
/// requests is in the outcome.
pub fn run_cell(cell: &Cell, settings: &Settings, directory: &Path) -> Result<Outcome> {
    prepare()?;
    interrupt::check()?;
    let made = |path: &Path| {
        fs::create_dir_all(path).map_err(|e| Error::file("make", path, &e))?;
        std::path::absolute(path).map_err(|e| Error::file("find", path, &e))
    };
    let (directory, out) = (made(directory)?, made(&settings.out)?);
    // An outcome of another cell must not stand beside this one's files.
    let _ = fs::remove_file(directory.join(kept::OUTCOME));
    kept::json(&directory.join("cell.json"), cell)?;
    let mut outcome = match &cell.demand {
        Demand::Application { .. } => backend::run(cell, settings, &directory)?,
        Demand::Files(files) => disk::run(cell, files, settings, &directory, &out)?,
        _ => link::run(cell, settings, &directory, &out)?,
    };
    outcome.commit = commit(&settings.weir);
    // Written aside, so that an interrupted run does not leave half of it.
    let aside = directory.join("outcome.json.part");
    kept::json(&aside, &outcome)?;
    let whole = directory.join(kept::OUTCOME);
    fs::rename(&aside, &whole).map_err(|e| Error::file("write", &whole, &e))?;
    Ok(outcome)
}

/// The commit that a weir was built from, as its `--version` says: `weir 0.1.0 (bfe8d23a14)`. A
/// machine with other servers alone may have no weir.
fn commit(weir: &Path) -> String {
    let version = tool::output(&weir.display().to_string(), &["--version"]).unwrap_or_default();
    named(&version).unwrap_or(UNKNOWN).to_owned()
}

fn named(version: &str) -> Option<&str> {
    version.trim().strip_suffix(')')?.split_once(" (").map(|(_, commit)| commit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_commit_is_what_the_version_has_in_brackets() {
        assert_eq!(named("weir 0.1.0 (bfe8d23a14)\n"), Some("bfe8d23a14"));
        assert_eq!(named("weir 0.1.0 (bfe8d23a14 with changes)"), Some("bfe8d23a14 with changes"));
        assert_eq!(named("weir 0.1.0"), None);
        assert_eq!(commit(Path::new("/nowhere/weir")), UNKNOWN);
    }
}
