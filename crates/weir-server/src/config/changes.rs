//! What differs between the configuration of a server that runs and a new one: what the server can take
//! while it runs, and what only a successor can have. Used by `app` before it takes a configuration.

use super::compression::CompressionKeys;
use super::key::{Resolved as _, Table as _};
use super::settings::Config;
use super::uplink::UplinkMode;

/// Keys whose values are built into what lives as long as the server.
const FOR_LIFE: &[&str] = &[
    "workers",
    "reuse_port",
    "cache",
    "disk_timeout",
    "disk_work",
    "file_departures",
    "swift_round_trip",
    "uplink_overhead",
    "uplink_in_kernel",
    "uplink_device",
    "uplink_bands",
    "uplink_kernel_cap",
    "proxy_temp_dir",
    "control",
];

/// What stands for all `[[route]]` tables.
const ROUTES: &str = "route";

/// What differs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    /// The keys with other values, in the order of the tables; `route` stands for the routes.
    pub(crate) keys: Vec<&'static str>,
    /// Those of them that only a successor can take.
    pub(crate) for_life: Vec<&'static str>,
}

impl Changes {
    /// Whether one of these keys has another value.
    pub(crate) fn contain(&self, any: &[&str]) -> bool {
        self.keys.iter().any(|key| any.contains(key))
    }

    /// Whether keys about compression differ.
    pub(crate) fn contain_compression(&self) -> bool {
        self.contain(CompressionKeys::NAMES)
    }
}

impl Config {
    /// What differs in `next`.
    pub(crate) fn changes(&self, next: &Config) -> Changes {
        let mut keys = self.differing(next);
        keys.extend(self.operation.differing(&next.operation));
        keys.extend(self.logs.differing(&next.logs));
        keys.extend(self.access.differing(&next.access));
        keys.extend(self.files.differing(&next.files));
        keys.extend(self.compression.differing(&next.compression));
        let acme = self.acme.differing(&next.acme);
        keys.extend(&acme);
        if format!("{:?}", self.routes) != format!("{:?}", next.routes) {
            keys.push(ROUTES);
        }
        let of_uplink = |key: &str| match key {
            "uplink" => !self.paces_as(next),
            // The kernel's bands are installed with their order.
            "policy" | "protective_order" => next.uplink == UplinkMode::Kernel,
            _ => false,
        };
        let lasts = |key: &str| FOR_LIFE.contains(&key) || acme.contains(&key) || of_uplink(key);
        let mut for_life: Vec<_> = keys.iter().copied().filter(|key| lasts(key)).collect();
        // The names come from `tls_names` or from the routes, the ways to prove them from `listen_clear`.
        let wanted = |config: &Config| format!("{:?}", config.acme_settings());
        if wanted(self) != wanted(next) && acme.is_empty() {
            for_life.push("tls_names");
        }
        Changes { keys, for_life }
    }

    /// Whether weir paces both, and nothing but the pace.
    fn paces_as(&self, next: &Config) -> bool {
        let by_rate =
            |config: &Config| config.uplink.rate().is_some() && config.uplink_in_kernel.is_none();
        by_rate(self) && by_rate(next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Settings, parse};

    fn read(text: &str) -> Config {
        Config::from_settings(parse(text).unwrap()).unwrap()
    }

    fn changes(before: &str, after: &str) -> Changes {
        read(before).changes(&read(after))
    }

    #[test]
    fn what_lasts_is_named_by_keys_that_there_are() {
        let all = Settings::names();
        for key in FOR_LIFE {
            assert!(all.contains(key), "{key}");
        }
    }

    #[test]
    fn every_key_that_differs_is_named_and_no_other() {
        assert_eq!(changes("workers = 3", "workers = 3"), Changes::default());
        let route = "[[route]]\npath = \"/\"\nbackends = \"http://a\"\n";
        let types = "types = { \".a\" = \"a/a\", \".b\" = \"a/b\", \".c\" = \"a/c\" }";
        for (before, after, keys, for_life) in [
            ("", "log = \"warn\"", &["log"][..], &[][..]),
            ("", "listen = \"127.0.0.1:1\"\nidle_timeout = 1", &["listen", "idle_timeout"], &[]),
            ("workers = 1", "workers = 2", &["workers"], &["workers"]),
            ("", "cache = 1\nroot = \"a\"", &["root", "cache"], &["cache"]),
            ("", "control = \"/a\"", &["control"], &["control"]),
            ("", "access_log = \"a\"\nlog_format = \"json\"", &["access_log", "log_format"], &[]),
            ("", "messages = \"json\"", &["messages"], &[]),
            (route, &format!("ready_routes = \"/\"\n{route}"), &["ready_routes"], &[]),
            ("", route, &["route"], &[]),
            (route, &format!("{route}retries = 0\n"), &["route"], &[]),
            ("", "allow = \"::1\"\nlimit_burst = 2", &["allow", "limit_burst"], &[]),
            ("", "listing = true\ncompress = true", &["listing", "compress"], &[]),
            (types, types, &[], &[]),
        ] {
            let found = changes(before, after);
            assert_eq!((&found.keys[..], &found.for_life[..]), (keys, for_life), "{after}");
        }
    }

    #[test]
    fn a_rate_and_a_policy_can_change_but_not_who_keeps_the_queue() {
        let paced = "workers = 1\nuplink = \"1mbit\"\n";
        let of = |before: &str, after: &str| changes(before, after).for_life;
        assert_eq!(of(paced, "workers = 1\nuplink = \"2mbit\"\npolicy = \"srpt\""), [""; 0]);
        assert_eq!(
            of(paced, &format!("{paced}uplink_pace = 0.9\nprotective_order = \"burst\"")),
            [""; 0]
        );
        assert_eq!(of(paced, "workers = 1"), ["uplink"]);
        assert_eq!(of("workers = 1", paced), ["uplink"]);
        assert_eq!(of(paced, &format!("{paced}uplink_overhead = 9")), ["uplink_overhead"]);
        let kernel = "workers = 1\nuplink = \"kernel\"\n";
        assert_eq!(of(kernel, &format!("{kernel}policy = \"swift\"")), ["policy"]);
        // Without `workers` there would be another number of them.
        assert!(of("", "uplink = \"1mbit\"").contains(&"uplink"));
    }

    #[test]
    fn certificates_that_are_obtained_stay_the_same() {
        let auto = "tls = \"auto\"\ntls_names = \"a.test\"\n";
        let of = |before: &str, after: &str| changes(before, after).for_life;
        assert_eq!(of(auto, &format!("{auto}tls_email = \"a@a.test\"")), ["tls_email"]);
        assert_eq!(of(auto, &format!("{auto}listen_clear = \"127.0.0.1:1\"")), ["tls_names"]);
        assert_eq!(of(auto, "tls = \"a.pem\"\ntls_names = \"a.test\""), ["tls_names"]);
        assert_eq!(of("", "tls = \"a.pem\""), [""; 0]);
        assert_eq!(of(auto, &format!("{auto}hsts = \"1d\"")), [""; 0]);
    }
}
