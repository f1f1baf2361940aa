//! What was run, when, by which command and on which machine: kept beside the outcomes, so that a
//! report can be made again.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use weir_peers::{Error, Result};

use crate::choice::Choice;
use crate::kept::OUTCOME;
use crate::outcome::Outcome;

/// A run of experiments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// Their names.
    pub experiments: Vec<String>,
    /// How long, how often, and with which systems.
    pub choice: Choice,
    /// The command line.
    pub command: String,
    /// When it began, in UTC (RFC 3339).
    pub began: String,
    /// Where.
    pub machine: Machine,
}

/// A machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Kernel and release.
    pub kernel: String,
    /// Processors that may be used.
    pub cores: usize,
    /// The processor's name; empty if it has none.
    pub processor: String,
    /// Version of the lab and of weir.
    pub weir: String,
}

/// The file of runs in a directory of outcomes.
const RUNS: &str = "runs.json";

impl Run {
    /// A run that begins now on this machine.
    pub fn now(experiments: Vec<String>, choice: Choice, command: String) -> Run {
        let began = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        Run { experiments, choice, command, began, machine: Machine::this() }
    }

    /// Keep it in the directory, beside earlier ones with other experiments.
    ///
    /// # Errors
    ///
    /// When the directory cannot be read or written.
    pub fn keep(&self, directory: &Path) -> Result<()> {
        let mut runs = match directory.join(RUNS).exists() {
            true => read_runs(directory)?,
            false => Vec::new(),
        };
        runs.retain(|run| (&run.experiments, &run.choice) != (&self.experiments, &self.choice));
        runs.push(self.clone());
        let text = serde_json::to_string_pretty(&runs)
            .map_err(|e| Error(format!("a run cannot be written as JSON: {e}")))?;
        fs::create_dir_all(directory).map_err(|e| Error::file("make", directory, &e))?;
        let path = directory.join(RUNS);
        // Written aside: another run into the directory may read it meanwhile.
        let aside = directory.join(format!("{RUNS}.{}", std::process::id()));
        fs::write(&aside, text).map_err(|e| Error::file("write", &aside, &e))?;
        fs::rename(&aside, &path).map_err(|e| Error::file("write", &path, &e))
    }

    /// The runs of a directory and all outcomes in it.
    ///
    /// # Errors
    ///
    /// When it is not the directory of a run, or a file in it is not what it should be. The names of
    /// experiments are not checked: `papers::read_runs` does.
    pub fn read(directory: &Path) -> Result<(Vec<Run>, Vec<Outcome>)> {
        let runs = read_runs(directory)?;
        let entries = fs::read_dir(directory).map_err(|e| Error::file("read", directory, &e))?;
        let mut paths = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|e| Error::file("read", directory, &e))?;
            paths.push(entry.path().join(OUTCOME));
        }
        // The order of a directory is nobody's choice.
        paths.sort();
        let mut outcomes = Vec::new();
        for path in paths.into_iter().filter(|path| path.is_file()) {
            let text = fs::read(&path).map_err(|e| Error::file("read", &path, &e))?;
            let outcome = serde_json::from_slice(&text)
                .map_err(|e| Error(format!("{}: not an outcome: {e}", path.display())))?;
            outcomes.push(outcome);
        }
        Ok((runs, outcomes))
    }
}

fn read_runs(directory: &Path) -> Result<Vec<Run>> {
    let path = directory.join(RUNS);
    let text = fs::read(&path).map_err(|e| {
        Error(format!(
            "cannot read {}: {e}; name a directory that `weir-lab run` wrote",
            path.display()
        ))
    })?;
    serde_json::from_slice(&text)
        .map_err(|e| Error(format!("{}: not a list of runs: {e}", path.display())))
}

impl Machine {
    /// This one.
    pub fn this() -> Machine {
        let system = rustix::system::uname();
        let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let named = cpu.lines().find_map(|line| line.strip_prefix("model name"));
        let processor = named.and_then(|rest| rest.split_once(": ")).map(|(_, name)| name.trim());
        Machine {
            kernel: format!(
                "{} {}",
                system.sysname().to_string_lossy(),
                system.release().to_string_lossy()
            ),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            processor: processor.unwrap_or_default().to_owned(),
            weir: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }
}
