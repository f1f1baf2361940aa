//! Running other programs to their end, with errors that name the Debian package
//! of what is missing. Knows no server.

use std::io;
use std::process::{Command, Output};

use crate::Result;

/// Run to the end; the standard output of a success.
pub(crate) fn output(program: &str, words: &[&str]) -> Result<String> {
    let out = Command::new(program).args(words).output();
    let Output { status, stdout, stderr } = out.map_err(|e| missing(program, &e))?;
    if status.success() {
        return Ok(String::from_utf8_lossy(&stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&stderr);
    Err(format!("`{program} {}` ended with {status}: {}", words.join(" "), said.trim()))
}

/// What to do when a program cannot be started.
pub(crate) fn missing(program: &str, error: &io::Error) -> String {
    let package = match program {
        "nginx" => "nginx-light",
        "perf" => "linux-perf",
        "setpriv" | "taskset" | "mount" => "util-linux",
        other => other,
    };
    match error.kind() {
        io::ErrorKind::NotFound => format!("no program {program}: apt-get install {package}"),
        _ => format!("{program} does not start: {error}"),
    }
}
