//! The systems that are compared in front of the application.

use crate::choice::{Choice, Scale};

/// weir with its defaults.
pub(super) const WEIR: &str = "weir:proxy";
/// weir by expected service time.
pub(super) const SHORTEST: &str = "weir:proxy --backend-order shortest-expected";
/// Nothing in front.
pub(super) const DIRECT: &str = "direct";
/// The paper's server: the application looks for itself.
pub(super) const CHECKING: &str = "checking";

/// What all conditions compare.
pub(super) const MAIN: [&str; 9] = [
    WEIR,
    SHORTEST,
    CHECKING,
    DIRECT,
    "nginx",
    "nginx-expert",
    "haproxy",
    "haproxy-expert",
    "caddy",
];

/// What is compared where it matters most: other orders of weir's queue, and other proxies.
pub(super) const OTHERS: [&str; 8] = [
    "weir:proxy --backend-order newest-first",
    "weir:proxy --backend-order fifo",
    "weir:proxy --backend-order edf",
    "haproxy-limit",
    "varnish",
    "apache-event",
    "lighttpd",
    "h2o",
];

/// What other patience is tried with.
pub(super) const PATIENT: [&str; 4] = [WEIR, CHECKING, DIRECT, "nginx"];

/// What a quick run compares: no more than three minutes have room for.
pub(super) const QUICK: [&str; 8] =
    [WEIR, SHORTEST, CHECKING, DIRECT, "nginx", "nginx-expert", "haproxy", "haproxy-expert"];

/// Systems that are compared under all loads.
pub(super) fn main(choice: &Choice) -> Vec<String> {
    match choice.scale {
        Scale::Quick => choice.systems(&QUICK),
        Scale::Full | Scale::Paper => choice.systems(&MAIN),
    }
}

/// Systems that are compared at 150 and 300 % without retries.
pub(super) fn all(choice: &Choice) -> Vec<String> {
    let mut all = main(choice);
    if choice.scale != Scale::Quick && choice.systems.is_none() {
        all.extend(OTHERS.map(str::to_owned));
    }
    all
}
