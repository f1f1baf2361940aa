//! What was on a device before weir's bands, and what the bands were made for: a small file that
//! `install` writes and `remove` reads. It is in a directory that a restart of the machine empties, as
//! it does the kernel's queues.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use weir_units::BitRate;

use super::device::Device;
use super::mechanism::Mechanism;
use super::step::Step;
use crate::failure::Failure;

/// Where the files are. Not `/run/weir`: systemd empties the directory of a service that stops.
pub(super) const DIRECTORY: &str = "/run/weir-uplink";

/// The file of one device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct State {
    /// Bits per second.
    rate: u64,
    pub(super) overhead: u32,
    pub(super) mechanism: Mechanism,
    /// Somebody's queue that was put aside; none if it was the kernel's own.
    pub(super) before: Option<Before>,
}

/// A queue that was put aside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Before {
    /// As people know it.
    pub(super) queue: String,
    /// The words of `tc qdisc add dev DEVICE` that bring it back.
    pub(super) words: String,
}

impl Before {
    /// The command that brings it back.
    pub(super) fn restore(&self, device: &Device) -> Step {
        Step::tc("qdisc", "add", device, &self.words)
    }
}

impl State {
    pub(super) fn new(
        rate: BitRate,
        overhead: u32,
        mechanism: Mechanism,
        before: Option<Before>,
    ) -> State {
        State { rate: rate.bits(), overhead, mechanism, before }
    }

    /// The rate, unless somebody has written nonsense into the file.
    pub(super) fn rate(&self) -> Option<BitRate> {
        BitRate::new(self.rate)
    }

    /// What is known of a device; `None` if it has no file.
    pub(super) fn read(directory: &Path, device: &Device) -> Result<Option<State>, Failure> {
        let file = file(directory, device);
        let text = match fs::read_to_string(&file) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            text => text.map_err(|e| failure(&file, "read", &e))?,
        };
        serde_json::from_str(&text).map(Some).map_err(|e| failure(&file, "understand", &e))
    }

    /// Writes the file of a device, all of it or nothing.
    pub(super) fn write(&self, directory: &Path, device: &Device) -> Result<(), Failure> {
        let file = file(directory, device);
        let text = serde_json::to_string_pretty(self).map_err(|e| failure(&file, "write", &e))?;
        let unfinished = file.with_extension("new");
        fs::create_dir_all(directory)
            .and_then(|()| fs::write(&unfinished, text + "\n"))
            .and_then(|()| fs::rename(&unfinished, &file))
            .map_err(|e| failure(&file, "write", &e))
    }

    /// Removes the file of a device, if there is one.
    pub(super) fn remove(directory: &Path, device: &Device) -> Result<(), Failure> {
        let file = file(directory, device);
        match fs::remove_file(&file) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(failure(&file, "remove", &error))
            }
            _ => Ok(()),
        }
    }
}

fn file(directory: &Path, device: &Device) -> PathBuf {
    directory.join(format!("{device}.json"))
}

fn failure(file: &Path, what: &str, error: &dyn std::fmt::Display) -> Failure {
    let advice = match what {
        "understand" => {
            "remove the file; the queue that was there before weir's is then not brought back"
        }
        _ => "run weir as root, or name another directory with --state",
    };
    let message = format!("cannot {what} {}: {error}; {advice}", file.display());
    Failure { message, code: 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_until_it_is_removed() {
        let directory = tempfile::tempdir().expect("a directory");
        let directory = directory.path().join("run");
        let device: Device = "eth0".parse().expect("a device");
        let read = || State::read(&directory, &device).expect("it is readable");
        assert_eq!(read(), None);
        let before = Before { queue: "pfifo 9:".into(), words: "root handle 9: pfifo".into() };
        let rate = "10mbit".parse().expect("a rate");
        let state = State::new(rate, 14, Mechanism::Htb, Some(before));
        state.write(&directory, &device).expect("it is written");
        assert_eq!(read().as_ref(), Some(&state));
        State::remove(&directory, &device).expect("it is there");
        State::remove(&directory, &device).expect("nothing is to be done");
        assert_eq!(read(), None);
        fs::write(file(&directory, &device), "{").expect("it is written");
        let failure = State::read(&directory, &device).expect_err("it is no state");
        assert!(failure.message.contains("remove the file"), "{}", failure.message);
    }
}
