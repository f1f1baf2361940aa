//! Running other programs to their end (`ip`, `tc`, `chrt`, `wrk`, `mount`), with errors that say what
//! was run and which Debian package has what is missing.

use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::error::{Error, Result};

/// Run a program to its end; its output.
///
/// # Errors
///
/// When it cannot be started, or ends with another status than 0: then with what it complained of.
pub fn output(program: &str, words: &[&str]) -> Result<String> {
    let mut command = Command::new(program);
    // Ctrl-C is ours: what it interrupts must not be the removal of a network.
    let output = command.args(words).process_group(0).output();
    let output = output.map_err(|e| start_error(program, &e))?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        let line = words.join(" ");
        return Err(Error(format!("`{program} {line}` failed: {}", complaint.trim())));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The same for a command given as one line; its words have no blanks.
///
/// # Errors
///
/// As [`output`].
pub fn run(line: &str) -> Result<String> {
    let mut words = line.split_whitespace();
    let program = words.next().unwrap_or_default();
    output(program, &words.collect::<Vec<_>>())
}

/// An error if a program cannot be started at all; it is asked for its version.
///
/// # Errors
///
/// As [`start_error`].
pub fn must_exist(program: &str, version: &str) -> Result<()> {
    let started = Command::new(program).arg(version).output();
    started.map(|_| ()).map_err(|e| start_error(program, &e))
}

/// Why a program could not be started, and which Debian package has it.
pub fn start_error(program: &str, error: &std::io::Error) -> Error {
    if error.kind() != ErrorKind::NotFound {
        return Error(format!("cannot start {program}: {error}"));
    }
    let package = match program {
        "ip" | "tc" => "iproute2",
        "chrt" | "setpriv" | "taskset" | "mount" => "util-linux",
        "nginx" => "nginx-light",
        "apache2" => "apache2-bin",
        "apxs" => "apache2-dev",
        "perf" => "linux-perf",
        "varnishd" => "varnish",
        "lighttpd" | "h2o" | "caddy" | "haproxy" | "vmtouch" | "wrk" => program,
        _ => return Error(format!("there is no program {program}: install it or name its path")),
    };
    Error(format!("{program} is not installed: apt-get install {package}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_names_its_package() {
        let missing = std::io::Error::from(ErrorKind::NotFound);
        assert!(start_error("apache2", &missing).to_string().ends_with("install apache2-bin"));
        assert!(must_exist("/nowhere/weir-peer", "-v").is_err());
        assert!(run("false").is_err());
        assert_eq!(run("echo a b").expect("it runs"), "a b\n");
    }
}
