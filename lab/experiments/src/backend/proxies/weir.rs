//! `weir serve` as a proxy: its defaults, and the flags of the cell in their place.

use std::process::Command;

use super::Place;
use crate::error::Result;
use crate::link::systems::weir::{serve, words};
use crate::settings::Settings;

/// `options` are `proxy`, or a policy of the uplink, and then flags of `weir serve`.
pub(super) fn command(options: &str, place: &Place<'_>, settings: &Settings) -> Result<Command> {
    let (policy, flags) = words(options);
    let policy = policy.unwrap_or("proxy");
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
    serve(settings, &defaults, flags)
}
