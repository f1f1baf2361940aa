//! The command line of a server, before it is decided what runs it: `chrt`, `taskset`, `setpriv` or a
//! shell may stand before it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::Result;
use crate::tool::must_exist;

/// A program, its arguments and its environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    program: PathBuf,
    arguments: Vec<OsString>,
    environment: Vec<(&'static str, OsString)>,
}

impl Program {
    /// A program without arguments.
    pub fn new(program: impl Into<PathBuf>) -> Program {
        Program { program: program.into(), arguments: Vec::new(), environment: Vec::new() }
    }

    /// A program of Debian's, asked for its version to see whether it is installed.
    ///
    /// # Errors
    ///
    /// When it cannot be started; names the package of one that is missing.
    pub(crate) fn installed(name: &str, version: &str) -> Result<Program> {
        must_exist(name, version)?;
        Ok(Program::new(name))
    }

    /// With another argument.
    pub fn arg(mut self, argument: impl AsRef<OsStr>) -> Program {
        self.arguments.push(argument.as_ref().to_owned());
        self
    }

    /// With more arguments.
    pub fn args(mut self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Program {
        self.arguments.extend(arguments.into_iter().map(|word| word.as_ref().to_owned()));
        self
    }

    /// With a variable of the environment set.
    pub fn env(mut self, name: &'static str, value: impl AsRef<OsStr>) -> Program {
        self.environment.push((name, value.as_ref().to_owned()));
        self
    }

    /// Its arguments, as text.
    pub fn words(&self) -> Vec<String> {
        self.arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect()
    }

    /// The program itself.
    pub fn path(&self) -> &Path {
        &self.program
    }

    /// The command that starts it by way of the words `before`, each of which may be a program that
    /// becomes what follows it.
    pub fn command(self, before: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Command {
        let mut words: Vec<OsString> =
            before.into_iter().map(|word| word.as_ref().to_owned()).collect();
        words.push(self.program.into_os_string());
        words.extend(self.arguments);
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).envs(self.environment);
        command
    }
}
