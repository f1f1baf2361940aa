//! A loop device on the file of the disk, by losetup(8), and its settings in sysfs. The file system
//! is made on it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::error::Error;
use crate::mounts::PATIENCE;

/// A loop device that has a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LoopDevice {
    /// Such as `/dev/loop0`.
    pub(crate) device: PathBuf,
}

impl LoopDevice {
    /// Give `file` to a free loop device, with direct I/O: what the device is asked
    /// for, the file is asked for, once and in full.
    pub(crate) fn attach(file: &Path, read_ahead: u32, largest: u32) -> Result<LoopDevice, Error> {
        let mut losetup = Command::new("losetup");
        losetup.args(["--find", "--show", "--direct-io=on"]).arg(file);
        let device = PathBuf::from(run(&mut losetup, "mount")?.trim());
        let attached = LoopDevice { device };
        if let Err(error) = attached.settle(read_ahead, largest) {
            attached.detach(PATIENCE);
            return Err(error);
        }
        Ok(attached)
    }

    fn settle(&self, read_ahead: u32, largest: u32) -> Result<(), Error> {
        let direct = self.attribute("loop/dio");
        let found = std::fs::read_to_string(&direct).unwrap_or_default();
        if found.trim() != "1" {
            let direct = direct.display();
            return Err(Error::new(format!(
                "{direct} is not 1: this kernel has no direct I/O from loop devices to FUSE"
            )));
        }
        self.set("queue/max_sectors_kb", largest / 1024)?;
        self.set("queue/read_ahead_kb", read_ahead)
    }

    fn set(&self, name: &str, value: u32) -> Result<(), Error> {
        let file = self.attribute(name);
        std::fs::write(&file, value.to_string()).map_err(|e| {
            let file = file.display();
            Error::new(format!("cannot set {file} to {value}: {e}"))
        })
    }

    fn attribute(&self, name: &str) -> PathBuf {
        let short = self.device.file_name().unwrap_or_default();
        Path::new("/sys/block").join(short).join(name)
    }

    /// Take the file away again, and wait until nobody uses the device any more, but not longer than
    /// `patience`.
    /// True if it is free now; if not, it will be when its last user goes.
    pub(crate) fn detach(&self, patience: Duration) -> bool {
        let mut losetup = Command::new("losetup");
        losetup.arg("--detach").arg(&self.device);
        let asked = run(&mut losetup, "mount").is_ok();
        let file = self.attribute("loop/backing_file");
        let deadline = Instant::now() + patience;
        while asked && file.exists() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(2));
        }
        !file.exists()
    }
}

/// The loop devices on files below `directory`.
pub(crate) fn below(directory: &Path) -> Vec<LoopDevice> {
    let Ok(blocks) = std::fs::read_dir("/sys/block") else { return Vec::new() };
    let on_it = |name: &Path| {
        let file = Path::new("/sys/block").join(name).join("loop/backing_file");
        std::fs::read_to_string(file).is_ok_and(|file| Path::new(&file).starts_with(directory))
    };
    let names = blocks.flatten().map(|block| PathBuf::from(block.file_name()));
    let found = names.filter(|name| on_it(name));
    found.map(|name| LoopDevice { device: Path::new("/dev").join(name) }).collect()
}

/// Run a command that prints to stdout, which comes from a Debian package.
pub(crate) fn run(command: &mut Command, package: &str) -> Result<String, Error> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|e| {
        Error::new(format!("cannot run {name}: {e}; it is in the Debian package {package}"))
    })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        // What was wrong comes first, then pages of help.
        let said: Vec<&str> = said.lines().take_while(|line| !line.starts_with("Usage")).collect();
        let said = said.join(" ");
        return Err(Error::new(format!("{name} failed ({}): {}", output.status, said.trim())));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
