//! The systems that can be measured, by the names that the command line and the tables have for them.

use std::fmt::{self, Display};
use std::str::FromStr;

use weir_peers::nginx::Reading;
use weir_peers::{Error, Result};

/// What can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum System {
    Weir,
    Nginx(Reading),
    Lighttpd,
    H2o,
    Haproxy,
    Caddy,
}

impl FromStr for System {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<System, String> {
        Ok(match name {
            "weir" => System::Weir,
            "nginx" | "nginx-sendfile" => System::Nginx(Reading::Sendfile),
            "nginx-copy" => System::Nginx(Reading::Copy),
            "nginx-aio" => System::Nginx(Reading::Threads),
            "lighttpd" => System::Lighttpd,
            "h2o" => System::H2o,
            "haproxy" => System::Haproxy,
            "caddy" => System::Caddy,
            _ => {
                let known = "weir, nginx-sendfile, nginx-copy, nginx-aio, lighttpd, h2o, haproxy, \
                             caddy";
                return Err(format!("no system {name:?}: choose from {known}"));
            }
        })
    }
}

/// An error unless all are weir or nginx, which alone can be told what `command` measures.
pub(crate) fn weir_and_nginx_only(systems: &[System], command: &str) -> Result<()> {
    let other = systems.iter().find(|s| !matches!(s, System::Weir | System::Nginx(_)));
    other.map_or(Ok(()), |other| {
        Err(Error(format!("{other} is not measured by {command}: --systems weir,nginx")))
    })
}

impl Display for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            System::Weir => "weir",
            System::Nginx(Reading::Sendfile) => "nginx-sendfile",
            System::Nginx(Reading::Copy) => "nginx-copy",
            System::Nginx(Reading::Threads) => "nginx-aio",
            System::Lighttpd => "lighttpd",
            System::H2o => "h2o",
            System::Haproxy => "haproxy",
            System::Caddy => "caddy",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn systems_are_named_as_they_are_written() {
        for name in [
            "weir",
            "nginx-sendfile",
            "nginx-copy",
            "nginx-aio",
            "lighttpd",
            "h2o",
            "haproxy",
            "caddy",
        ] {
            assert_eq!(name.parse::<System>().expect("it is known").to_string(), name);
        }
        assert!("apache".parse::<System>().is_err());
    }

    #[test]
    fn what_others_are_not_told_they_are_not_measured_for() {
        let nginx = System::Nginx(Reading::Copy);
        assert!(weir_and_nginx_only(&[System::Weir, nginx], "x").is_ok());
        let refused = weir_and_nginx_only(&[nginx, System::H2o], "`weir-costs logs`");
        let refused = refused.expect_err("h2o is among them").to_string();
        assert!(refused.starts_with("h2o is not measured by `weir-costs logs`"), "{refused}");
    }
}
