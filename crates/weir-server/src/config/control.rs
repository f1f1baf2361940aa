//! Where the control socket of a server is: as configured, or in the runtime directory. Made of the
//! configuration for the server, `weir reload` and a successor.

use std::env;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::address::{ListenAddress, check_socket_path};
use super::settings::Config;

/// The name of the socket in the runtime directory.
const CONTROL: &str = "control";

impl Config {
    /// Where the control socket is: as configured, or in the runtime directory; `None`: there is none.
    pub fn control_path(&self) -> Option<PathBuf> {
        let configured = self.operation.control.clone();
        configured.or_else(|| in_runtime_directory(env::var_os("RUNTIME_DIRECTORY")?.as_os_str()))
    }

    /// Whether there could be a control socket.
    ///
    /// # Errors
    ///
    /// What to write instead.
    pub(super) fn check_control(&self) -> Result<(), String> {
        let Some(path) = &self.operation.control else { return Ok(()) };
        check_socket_path(path)?;
        let mut others = self.listen.iter().chain(&self.listen_clear).chain(&self.admin);
        match others.any(|address| matches!(address, ListenAddress::Unix(other) if other == path)) {
            true => Err(format!("the Unix socket {} is named twice", path.display())),
            false => Ok(()),
        }
    }
}

/// `directories` are several with colons between them if the unit has several (systemd.exec(5)).
fn in_runtime_directory(directories: &OsStr) -> Option<PathBuf> {
    let first = directories.as_bytes().split(|byte| *byte == b':').next()?;
    (!first.is_empty()).then(|| Path::new(OsStr::from_bytes(first)).join(CONTROL))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::parse;

    #[test]
    fn the_socket_is_where_the_file_says_or_in_the_runtime_directory() {
        let read = |text: &str| Config::from_settings(parse(text).unwrap());
        let config = read("control = \"/run/weir/c\"").unwrap();
        assert_eq!(config.control_path().as_deref(), Some(Path::new("/run/weir/c")));
        for (directories, path) in [
            ("/run/weir", Some("/run/weir/control")),
            ("/run/weir:/run/other", Some("/run/weir/control")),
            ("", None),
        ] {
            let found = in_runtime_directory(OsStr::new(directories));
            assert_eq!(found.as_deref(), path.map(Path::new), "{directories}");
        }
        let long = format!("control = \"/{}\"", "a".repeat(107));
        assert!(read(&long).unwrap_err().to_string().contains("longer than 107 bytes"));
        let twice = "control = \"/run/a\"\nadmin = \"unix:/run/a\"";
        assert!(read(twice).unwrap_err().to_string().contains("is named twice"));
    }
}
