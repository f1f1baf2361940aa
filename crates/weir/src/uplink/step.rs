//! One command of a plan: a program of iproute2 or nftables, its words and its input. Made by `plan`,
//! run by `tool`, printed by `--dry-run` in a form that a shell takes.

use std::fmt;

use super::device::Device;

/// A command that changes the kernel's queues or rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) program: &'static str,
    pub(super) words: Vec<String>,
    /// What it reads from its standard input.
    pub(super) input: Option<String>,
}

impl Step {
    /// `tc OBJECT VERB dev DEVICE REST`.
    pub(super) fn tc(object: &str, verb: &str, device: &Device, rest: &str) -> Step {
        let line = format!("{object} {verb} dev {device} {rest}");
        let words = line.split_whitespace().map(str::to_owned).collect();
        Step { program: "tc", words, input: None }
    }

    /// `nft` with these rules, which it takes all at once or not at all.
    pub(super) fn nft(rules: String) -> Step {
        Step { program: "nft", words: vec!["-f".into(), "-".into()], input: Some(rules) }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.program, self.words.join(" "))?;
        match &self.input {
            Some(input) => write!(f, " <<'END'\n{input}END"),
            None => Ok(()),
        }
    }
}
