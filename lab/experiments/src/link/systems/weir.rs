//! How `weir serve` is started: its defaults for a cell, and the flags of the cell in their place.

use std::net::SocketAddr;
use std::process::Command;

use super::{KEEP_ALIVE, Place, first};
use crate::error::{Error, Result};
use crate::settings::Settings;

/// Where its figures are.
pub(super) const ADMIN: ([u8; 4], u16) = ([127, 0, 0, 1], 9900);

/// `options` are the policy and then flags of `weir serve`.
pub(super) fn command(options: &str, place: &Place<'_>, settings: &Settings) -> Result<Command> {
    let (policy, flags) = words(options);
    let policy = policy.unwrap_or("protective");
    let defaults = [
        ("--listen", place.address.to_string()),
        ("--admin", SocketAddr::from(ADMIN).to_string()),
        ("--access-log", "off".into()),
        ("--policy", policy.into()),
        ("--uplink", rate(place.rate)),
        ("--workers", "1".into()),
        ("--idle-timeout", format!("{KEEP_ALIVE}s")),
    ];
    let mut command = serve(settings, &defaults, flags)?;
    command.arg(place.root);
    Ok(command)
}

/// The first word of a system's options, and the flags after it.
pub(crate) fn words(options: &str) -> (Option<&str>, Vec<&str>) {
    let mut words = options.split_whitespace();
    (words.next(), words.collect())
}

/// `weir serve` with `defaults`, or the cell's `flags` in their place.
pub(crate) fn serve(
    settings: &Settings,
    defaults: &[(&str, String)],
    flags: Vec<&str>,
) -> Result<Command> {
    let binary = &settings.weir;
    if !binary.is_file() {
        return Err(Error(format!("there is no weir at {}: build it first", binary.display())));
    }
    let mut command = first(binary);
    command.arg("serve");
    for (flag, value) in defaults {
        let same = |word: &&str| word == flag || word.starts_with(&format!("{flag}="));
        if !flags.iter().any(same) {
            command.args([*flag, value.as_str()]);
        }
    }
    command.args(flags);
    Ok(command)
}

/// A rate as people write it.
fn rate(bits: u64) -> String {
    match bits {
        whole if whole % 1_000_000 == 0 => format!("{}mbit", whole / 1_000_000),
        whole if whole % 1000 == 0 => format!("{}kbit", whole / 1000),
        bits => format!("{bits}bit"),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn rates_are_exact() {
        let rates = [10_000_000, 1_500_000, 56_001].map(super::rate);
        assert_eq!(rates, ["10mbit", "1500kbit", "56001bit"]);
    }
}
