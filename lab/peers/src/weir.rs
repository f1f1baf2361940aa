//! `weir serve`: the flags of whoever compares it, and the user's in their place.

use std::path::Path;

use crate::certificate::Certificate;
use crate::error::{Error, Result};
use crate::program::Program;

/// The first word of what the user says of weir (a policy), and the flags of `weir serve` after it.
pub fn words(options: &str) -> (Option<&str>, Vec<&str>) {
    let mut words = options.split_whitespace();
    (words.next(), words.collect())
}

/// `weir serve` with `defaults`, flags and their values, but for those that are among the user's
/// `flags`.
///
/// # Errors
///
/// When there is no program at `weir`.
pub fn program(weir: &Path, defaults: &[(&str, String)], flags: &[&str]) -> Result<Program> {
    if !weir.is_file() {
        return Err(Error(format!("there is no weir at {}: build it first", weir.display())));
    }
    let mut program = Program::new(weir).arg("serve");
    for (flag, value) in defaults {
        let same = |word: &&str| word == flag || word.starts_with(&format!("{flag}="));
        if !flags.iter().any(same) {
            program = program.args([*flag, value.as_str()]);
        }
    }
    Ok(program.args(flags))
}

/// The flags of TLS with a certificate, for [`program`].
pub fn tls(certificate: &Certificate) -> [(&'static str, String); 2] {
    let path = |path: &Path| path.display().to_string();
    [("--tls", path(&certificate.chain)), ("--tls-key", path(&certificate.key))]
}

/// A rate as weir's `--uplink` takes it.
pub fn rate(bits_per_second: u64) -> String {
    match bits_per_second {
        whole if whole % 1_000_000 == 0 => format!("{}mbit", whole / 1_000_000),
        whole if whole % 1000 == 0 => format!("{}kbit", whole / 1000),
        bits => format!("{bits}bit"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_exact() {
        let rates = [10_000_000, 1_500_000, 56_001].map(rate);
        assert_eq!(rates, ["10mbit", "1500kbit", "56001bit"]);
    }

    #[test]
    fn the_users_flags_stand_in_place_of_the_defaults() {
        let defaults = [("--workers", "1".to_owned()), ("--log", "warn".to_owned())];
        let (policy, flags) = words("srpt --workers=4 --verbose");
        assert_eq!(policy, Some("srpt"));
        let program = program(Path::new("/bin/sh"), &defaults, &flags).expect("a program");
        assert_eq!(program.words(), ["serve", "--log", "warn", "--workers=4", "--verbose"]);
        assert!(super::program(Path::new("/nowhere/weir"), &defaults, &flags).is_err());
    }
}
