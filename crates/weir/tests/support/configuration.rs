//! A configuration file that a test changes while a server runs by it, the site that it serves, and the
//! control socket at which the server is reached.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

use super::{Server, end_of, weir};

/// Bytes of `/small` and `/large` in the site `public`.
pub const SMALL: usize = 1000;
pub const LARGE: usize = 1_000_000;

/// The file, in a directory of its own.
#[derive(Debug)]
pub struct Configuration {
    directory: TempDir,
}

impl Configuration {
    /// With `text` behind the keys of the control socket and of an admin address.
    pub fn new(text: &str) -> Configuration {
        let configuration =
            Configuration { directory: tempfile::tempdir().expect("a temporary directory") };
        let public = configuration.path("public");
        fs::create_dir(&public).expect("a directory");
        for (name, length) in [("small", SMALL), ("large", LARGE)] {
            fs::write(public.join(name), super::noise(7, length)).expect("a file");
        }
        configuration.write(text);
        configuration
    }

    /// What is called `name` beside the file.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn file(&self) -> PathBuf {
        self.path("weir.toml")
    }

    pub fn control(&self) -> PathBuf {
        self.path("control")
    }

    /// Changes all but the keys that every text has.
    pub fn write(&self, text: &str) {
        let control = self.control();
        let text = format!("control = {control:?}\nadmin = \"127.0.0.1:0\"\n{text}");
        fs::write(self.file(), text).expect("the configuration is written");
    }

    /// `weir serve` by the file.
    pub fn command(&self) -> Command {
        let mut command = weir();
        command.arg("serve").arg("--config").arg(self.file());
        command
    }

    /// A server that listens on so many ports.
    pub fn start(&self, ports: usize) -> Server {
        Server::run(self.command(), ports, true)
    }

    /// A server that takes over from the one that runs.
    pub fn take_over(&self, ports: usize) -> Server {
        let mut command = self.command();
        command.arg("--take-over");
        Server::run(command, ports, true)
    }

    /// `weir reload`: its exit status and what it says.
    pub fn reload(&self) -> (Option<i32>, String) {
        let mut command = weir();
        command.arg("reload").arg("--control").arg(self.control());
        let output = end_of(command);
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    }

    /// Writes `text` and has the server take it.
    pub fn change(&self, text: &str) -> String {
        self.write(text);
        let (code, said) = self.reload();
        assert_eq!(code, Some(0), "{said}");
        said
    }
}
