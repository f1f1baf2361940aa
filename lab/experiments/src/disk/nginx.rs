//! The highest rate at which nginx keeps up, in the conditions of a cell: what others are asked for a
//! share of. It is measured once for all cells of a directory that share the conditions.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};
use weir_peers::{Error, Result};

use super::bench::Bench;
use super::phases::Phases;
use super::stand::Stand;
use crate::cell::{Cell, Demand, Files, Network, Phase, Users, What, cell_name};
use crate::kept;
use crate::settings::Settings;

/// The system that is measured, and the seed for it.
const NGINX: &str = "nginx";
const SEED: u64 = 1;

/// What was measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Nginx {
    /// Requests per second; none if it kept up with no rate that was tried.
    pub(super) capacity: Option<f64>,
    /// Why it does not count, nor what is asked for a share of it; only in quick cells, which show that
    /// everything works.
    pub(super) invalid: Vec<String>,
}

/// nginx's capacity; kept in `out` for the next cells.
///
/// # Errors
///
/// When nginx cannot be measured, what was kept cannot be read, or, in a cell that is not quick, the
/// machine disturbed the measurement.
pub(super) fn capacity(
    cell: &Cell,
    files: &Files,
    stand: &Stand,
    settings: &Settings,
    out: &Path,
) -> Result<Nginx> {
    // Patient users, one after the other on a connection, as the cell's.
    let users = Users { abort_after: None, retries: 0, ..cell.users.clone() };
    let files = files.of_nginx();
    let demand = Demand::Files(files.clone());
    let same = Cell {
        system: NGINX.into(),
        network: Network::default(),
        users: users.clone(),
        demand,
        seed: SEED,
    };
    let directory = out.join(format!("capacity_{}", cell_name(&same)));
    let file = directory.join("capacity.json");
    if let Ok(text) = fs::read_to_string(&file) {
        return serde_json::from_str(&text)
            .map_err(|e| Error(format!("{}: not what was kept: {e}; remove it", file.display())));
    }
    fs::create_dir_all(&directory).map_err(|e| Error::file("make", &directory, &e))?;
    let mut bench = Bench::start(NGINX, (&files, &users), stand, &directory, settings)?;
    bench.warm(What::Set, SEED)?;
    let mut phases = Phases::of(&bench, &files, SEED);
    phases.go_through(Phase::SATURATED)?;
    let capacity = phases.capacity()?;
    let mut reasons = phases.found.why_invalid();
    bench.must_run()?;
    if bench.killed() > 0 {
        reasons.push("its group was too small".into());
    }
    if capacity.is_none() {
        reasons.push("it kept up with no rate that was tried".into());
    }
    if !reasons.is_empty() && !files.is_quick() {
        // All cells would be asked for a share of it.
        let reasons = reasons.join("; ");
        return Err(Error(format!("nginx's capacity does not count: {reasons}; run again")));
    }
    let found = Nginx { capacity, invalid: reasons };
    kept::json(&file, &found)?;
    Ok(found)
}
