//! `weir serve` as a proxy: its defaults, and the flags of the cell in their place.

use std::process::Command;

use super::Place;
use crate::error::{Error, Result};
use crate::settings::Settings;
use crate::systems::first;

/// `options` are `proxy`, or a policy of the uplink, and then flags of `weir serve`.
pub(super) fn command(options: &str, place: &Place<'_>, settings: &Settings) -> Result<Command> {
    let binary = &settings.weir;
    if !binary.is_file() {
        return Err(Error(format!("there is no weir at {}: build it first", binary.display())));
    }
    let mut words = options.split_whitespace();
    let policy = words.next().unwrap_or("proxy");
    let flags: Vec<&str> = words.collect();
    let mut command = first(binary);
    command.arg("serve");
    let mut defaults = vec![
        ("--listen", place.front.to_string()),
        ("--admin", place.admin.to_string()),
        ("--access-log", "off".into()),
        ("--workers", "1".into()),
        ("--proxy", format!("/=http://{}", place.application)),
    ];
    if policy != "proxy" {
        defaults.push(("--policy", policy.into()));
    }
    for (flag, value) in defaults {
        let same = |word: &&str| *word == flag || word.starts_with(&format!("{flag}="));
        if !flags.iter().any(same) {
            command.args([flag, &value]);
        }
    }
    command.args(flags);
    Ok(command)
}
