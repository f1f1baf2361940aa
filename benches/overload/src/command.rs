//! Running `ip` and `tc`, with errors that say what was run and what is missing.

use std::io::ErrorKind;
use std::process::Command;

use crate::Result;

/// Run a command given as one line (words have no blanks); return its output.
pub(crate) fn run(line: &str) -> Result<String> {
    let mut words = line.split_whitespace();
    let program = words.next().unwrap_or_default();
    let output =
        Command::new(program).args(words).output().map_err(|e| start_error(program, &e))?;
    if !output.status.success() {
        let complaint = String::from_utf8_lossy(&output.stderr);
        return Err(format!("`{line}` failed: {}", complaint.trim()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Why a program could not be started, and which package has it.
pub(crate) fn start_error(program: &str, error: &std::io::Error) -> String {
    if error.kind() != ErrorKind::NotFound {
        return format!("cannot start {program}: {error}");
    }
    let package = match program {
        "ip" | "tc" => "iproute2",
        "nginx" => "nginx-light",
        "chrt" => "util-linux",
        _ => "the one that has it",
    };
    format!("{program} is not installed: apt-get install {package}")
}

/// Namespaces and traffic control need root.
pub(crate) fn need_root() -> Result<()> {
    if rustix::process::geteuid().is_root() {
        return Ok(());
    }
    Err("this makes network namespaces and needs root: run it with sudo".into())
}
