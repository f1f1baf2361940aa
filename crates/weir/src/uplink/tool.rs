//! Runs `tc`, `ip`, `nft` and `unshare` to their end, and tells apart why they fail. Used by all commands of
//! `weir uplink`.

use std::ffi::OsString;
use std::io::{ErrorKind, Write};
use std::process::{Command, Stdio};

use super::step::Step;
use crate::failure::Failure;

/// Where these programs are on Debian; the PATH of users who are not root lacks them.
const DIRECTORIES: &str = "/usr/sbin:/sbin:/usr/bin:/bin";

/// Why a program did not do what it was asked for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Trouble {
    /// It is not installed.
    Missing(&'static str),
    /// The kernel refuses it to this user.
    Denied(String),
    /// There is no such device; the program's own words.
    NoDevice(String),
    /// Anything else: the command line, and what the program complained of.
    Failed(String, String),
}

/// What a program writes to its standard output.
pub(super) fn output(program: &'static str, words: &[&str]) -> Result<String, Trouble> {
    let words = words.iter().map(|word| (*word).to_owned()).collect();
    run(&Step { program, words, input: None })
}

/// Runs one command to its end; what it writes to its standard output.
pub(super) fn run(step: &Step) -> Result<String, Trouble> {
    let line = || format!("{} {}", step.program, step.words.join(" "));
    let not_started = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => Trouble::Missing(step.program),
        _ => Trouble::Failed(line(), error.to_string()),
    };
    let mut command = Command::new(step.program);
    command.args(&step.words).env("LC_ALL", "C").env("PATH", path());
    command.stdin(if step.input.is_some() { Stdio::piped() } else { Stdio::null() });
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(not_started)?;
    if let (Some(input), Some(mut pipe)) = (&step.input, child.stdin.take()) {
        // A program that ends before it has read everything says why itself.
        let _ = pipe.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().map_err(not_started)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(trouble(line(), String::from_utf8_lossy(&output.stderr).trim()))
}

fn trouble(line: String, complaint: &str) -> Trouble {
    if complaint.contains("Operation not permitted") {
        Trouble::Denied(line)
    } else if complaint.contains("Cannot find device") || complaint.contains("does not exist") {
        Trouble::NoDevice(complaint.to_owned())
    } else {
        Trouble::Failed(line, complaint.to_owned())
    }
}

fn path() -> OsString {
    let mut path = std::env::var_os("PATH").unwrap_or_default();
    if !path.is_empty() {
        path.push(":");
    }
    path.push(DIRECTORIES);
    path
}

impl From<Trouble> for Failure {
    fn from(trouble: Trouble) -> Failure {
        let message = match trouble {
            Trouble::Missing(program) => {
                let package = match program {
                    "nft" => "nftables",
                    "unshare" => "util-linux",
                    _ => "iproute2",
                };
                format!("{program} is not installed: apt-get install {package}")
            }
            Trouble::Denied(line) => format!(
                "`{line}`: not permitted; run weir as root, or with the capability CAP_NET_ADMIN \
                 (--dry-run prints the commands and changes nothing)"
            ),
            Trouble::NoDevice(complaint) => {
                format!("{complaint}; `ip link` lists the devices of this machine")
            }
            Trouble::Failed(line, complaint) => {
                format!("`{line}` failed: {complaint}{}", advice(&complaint))
            }
        };
        Failure { message, code: 1 }
    }
}

/// What helps against a complaint whose own words do not say.
fn advice(complaint: &str) -> &'static str {
    if complaint.contains("qdisc kind is unknown") || complaint.contains("Unknown qdisc") {
        "; this kernel has no such queue: load its module (sch_htb, sch_prio, sch_ets, sch_fifo), or \
         choose another with --mechanism"
    } else if complaint.contains("Operation not supported") {
        "; this kernel lacks what the rules need: `modprobe nf_tables`, or a kernel with CONFIG_NF_TABLES_INET"
    } else {
        ""
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(trouble: Trouble) -> String {
        Failure::from(trouble).message
    }

    #[test]
    fn what_fails_says_what_to_do() {
        let denied = trouble("tc qdisc add".into(), "RTNETLINK answers: Operation not permitted");
        assert!(message(denied).contains("as root"));
        let gone = trouble("tc qdisc show".into(), "Cannot find device \"x\"");
        assert!(message(gone).contains("ip link"));
        let old = trouble("tc qdisc add".into(), "Error: Specified qdisc kind is unknown.");
        assert!(message(old).contains("load its module"));
        for (program, package) in [("tc", "iproute2"), ("nft", "nftables"), ("ip", "iproute2")] {
            assert!(message(Trouble::Missing(program)).contains(package));
        }
    }

    #[test]
    fn programs_read_their_input_and_are_missed() {
        let cat = Step { program: "cat", words: vec![], input: Some("rules\n".into()) };
        assert_eq!(run(&cat).as_deref(), Ok("rules\n"));
        let missing = output("weir-no-such-program", &[]);
        assert_eq!(missing, Err(Trouble::Missing("weir-no-such-program")));
        assert!(matches!(output("false", &[]), Err(Trouble::Failed(..))));
    }
}
