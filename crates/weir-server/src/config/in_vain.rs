//! Which keys were given and change nothing, and why. Asked where the configuration is resolved; the program
//! warns of them.

use weir_sched::policy;

use super::given::Settings;
use super::settings::Config;
use super::uplink::UplinkMode;
use super::values::SwiftRoundTrip;

/// What keys need that no key of the server stands for alone: some route to backends, a directory to serve,
/// an uplink that weir paces, an uplink in the kernel, certificates that weir obtains, something that is
/// compressed.
const BACKENDS: &str = "backends";
const FILES: &str = "a directory to serve";
const PACED: &str = "a rate as uplink";
const IN_KERNEL: &str = "kernel as uplink";
const AUTO: &str = "auto among `tls`";
const COMPRESSION: &str = "compression switched on";

/// What the keys of the server and those of routes come to together.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Has {
    /// Some route has backends.
    pub(super) backends: bool,
    /// There is a directory, of the server or of a route.
    pub(super) files: bool,
    /// Something is compressed, or sent as it was compressed before.
    pub(super) compression: bool,
}

/// The keys that were given and change nothing, with what they would need.
pub(super) fn without_effect(settings: &Settings, has: Has) -> Vec<String> {
    let (given, keys) = (settings.given(), &settings.keys);
    let is_auto = keys.tls.iter().flatten().any(|source| source.file().is_none());
    let missing = |needs: &str| match needs {
        BACKENDS if has.backends => None,
        BACKENDS => Some("no route has backends".to_owned()),
        FILES if has.files => None,
        FILES => Some("no directory is served".to_owned()),
        COMPRESSION if has.compression => None,
        COMPRESSION => Some("nothing says `compress = true` or `precompressed = true`".to_owned()),
        PACED if keys.is_in_kernel() => {
            Some("with `uplink = \"kernel\"` the kernel keeps the queue".to_owned())
        }
        IN_KERNEL if keys.is_in_kernel() => None,
        IN_KERNEL => Some("`uplink` is not `kernel`".to_owned()),
        AUTO if is_auto => None,
        AUTO => Some("`tls` does not say auto".to_owned()),
        PACED if given.contains(&"uplink") => None,
        key if given.contains(&key) => None,
        // Who turned the uplink off knows.
        "uplink" | PACED => Some(
            "there is no `uplink`, so everything is sent as fast as the kernel takes it".to_owned(),
        ),
        key => Some(format!("there is no `{key}`")),
    };
    let all = Settings::known();
    let in_vain = all.iter().filter(|key| given.contains(&key.name)).filter_map(|key| {
        let why = missing(key.needs?)?;
        Some(format!("`{}` has no effect: {why}", key.name))
    });
    let mut in_vain: Vec<String> = in_vain.collect();
    if keys.is_in_kernel() && keys.policy == Some(policy::SWIFT) && keys.uplink_bands.is_some() {
        in_vain
            .push("`uplink_bands` has no effect: policy swift has cutoffs of its own".to_owned());
    }
    in_vain
}

/// Where the round trip comes from was given, and the policy does not look at it: neither its rule
/// does, nor where fair sharing stands, which opens windows once a round trip.
pub(super) fn round_trip(config: &Config, given: Option<SwiftRoundTrip>) -> Option<String> {
    let policy = config.policy_with_order();
    let needs = policy.needs();
    let looks = needs.fair_server || needs.path_updates || policy == policy::SWIFT;
    let in_vain = given.is_some() && config.uplink != UplinkMode::Off && !looks;
    in_vain.then(|| {
        format!(
            "`swift_round_trip` has no effect: the policy {policy} does not look at the round trip"
        )
    })
}

#[cfg(test)]
mod tests {
    use weir_sched::PolicyKind;

    use super::*;
    use crate::config::settings::ServerKeys;

    #[test]
    fn what_a_key_needs_is_a_key_or_something_that_there_is() {
        let names = Settings::names();
        let others = [BACKENDS, FILES, PACED, IN_KERNEL, AUTO, COMPRESSION];
        for key in Settings::known() {
            let known = |needs| others.contains(&needs) || names.contains(&needs);
            assert!(key.needs.is_none_or(known), "{}: {:?}", key.name, key.needs);
        }
    }

    #[test]
    fn where_the_round_trip_comes_from_is_for_policies_that_look_at_it() {
        let told = |text: &str| {
            let text = format!("{text}\nswift_round_trip = \"request\"");
            Config::from_settings(crate::config::parse(&text).unwrap()).unwrap().without_effect
        };
        for policy in ["swift", "srrt", "burst", "protective", "fsp"] {
            let text = format!("uplink = \"1mbit\"\npolicy = \"{policy}\"");
            assert_eq!(told(&text), [""; 0], "{policy}");
        }
        for (text, why) in [
            ("uplink = \"1mbit\"\npolicy = \"srpt\"", "the policy srpt does not look at"),
            ("uplink = \"kernel\"", "the policy bands does not look at the round trip"),
            ("", "there is no `uplink`"),
        ] {
            let told = told(text);
            assert!(told.len() == 1 && told[0].contains(why), "{told:?}");
        }
    }

    #[test]
    fn a_key_without_what_it_needs_is_told() {
        let told = |keys: ServerKeys| {
            without_effect(&Settings { keys, ..Settings::default() }, Has::default())
        };
        let keys = ServerKeys { policy: Some(PolicyKind::default()), ..ServerKeys::default() };
        let in_vain = told(keys);
        assert!(
            in_vain.len() == 1 && in_vain[0].starts_with("`policy` has no effect: "),
            "{in_vain:?}"
        );
        assert!(told(ServerKeys::default()).is_empty());
    }
}
