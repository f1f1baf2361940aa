//! Reads `weir.toml`: one strict file. An unknown key is an error that names the line. Used by the
//! program for `--config`.

use std::ops::Range;
use std::path::Path;

use serde::de::DeserializeOwned;
use toml::Spanned;
use toml::de::{DeTable, Deserializer};

use super::access::AccessKeys;
use super::acme::AcmeKeys;
use super::compression::CompressionKeys;
use super::environment;
use super::error::ConfigError;
use super::given::Settings;
use super::key::Table;
use super::keys::{Keys, Source, apart};
use super::logs::LogKeys;
use super::operation::OperationKeys;
use super::routes;
use super::settings::ServerKeys;
use super::site::FileKeys;

/// The key of the tables of routes.
const ROUTE: &str = "route";

/// Reads a configuration file. Paths in it are relative to its own directory.
///
/// # Errors
///
/// A file that cannot be read, and what is wrong in it: file, line, what would be right.
pub fn read(path: &Path) -> Result<Settings, ConfigError> {
    let name = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| ConfigError::new(format!("cannot read {name}: {error}")))?;
    let mut settings = parse(&text).map_err(|wrong| ConfigError::new(format!("{name}:{wrong}")))?;
    settings.move_beside(path.parent().unwrap_or(Path::new("")));
    Ok(settings)
}

/// Reads the text of a configuration file.
///
/// # Errors
///
/// What is wrong in it, beginning with the line.
pub fn parse(text: &str) -> Result<Settings, ConfigError> {
    let source = Source(text);
    let mut table = DeTable::parse(text).map_err(|error| source.refused(&error))?;
    environment::expand(source, table.get_mut(), &environment::of_process)?;
    let span = table.span();
    let known = [&Settings::names()[..], &[ROUTE]].concat();
    let of_routes = routes::key_names();
    let elsewhere = (&of_routes[..], "it belongs to a [[route]]");
    let keys = Keys { known: &known, place: "", elsewhere };
    let mut table = keys.check(source, table.into_inner())?;
    let tables = table.remove(ROUTE);
    let proxy_line = table.get_key_value("proxy").map(|(key, _)| source.line(key.span().start));
    let (acme, table) = take_keys::<AcmeKeys>(source, &span, table)?;
    let (access, table) = take_keys::<AccessKeys>(source, &span, table)?;
    let (compression, table) = take_keys::<CompressionKeys>(source, &span, table)?;
    let (logs, table) = take_keys::<LogKeys>(source, &span, table)?;
    let (operation, table) = take_keys::<OperationKeys>(source, &span, table)?;
    let (files, table) = apart(table, &FileKeys::names());
    let (keys, _) = take_keys::<ServerKeys>(source, &span, table)?;
    let files = FileKeys::read(source, span, files)?;
    let routes = Vec::new();
    let mut settings = Settings { keys, operation, logs, acme, access, files, compression, routes };
    if let Some(tables) = tables {
        settings.routes = routes::read(source, tables, &known)?;
    }
    routes::check_once(settings.keys.proxies(), &settings.routes, proxy_line)?;
    Ok(settings)
}

/// Reads those keys of the file, which spans `span`, that are of one table of keys, and returns the others.
fn take_keys<'i, K: Table + DeserializeOwned>(
    source: Source<'_>,
    span: &Range<usize>,
    table: DeTable<'i>,
) -> Result<(K, DeTable<'i>), ConfigError> {
    let (here, others) = apart(table, K::NAMES);
    let keys = K::deserialize(Deserializer::from(Spanned::new(span.clone(), here)))
        .map_err(|error| source.refused(&error))?;
    Ok((keys, others))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, ProxyProtocol, Workers};
    use weir_sched::policy;

    #[test]
    fn every_kind_of_value_is_read() {
        let settings = parse(
            r#"
            root = "/srv"
            listen = ["127.0.0.1:80", "[::1]:80"]
            workers = 2
            uplink = "10mbit"
            uplink_pace = 0.98
            policy = "srpt"
            access-log = "off"
            admin = "127.0.0.1:9900"
            log = "warn"
            idle_timeout = "5s"
            send_timeout = 7
            proxy-protocol = true
            proxy_memory = "8mb"
            proxy_disk = "2gb"
            proxy_temp_dir = "/srv/tmp"
            min_rate = "1kb"
            min_rate_period = "10s"
            "#,
        )
        .unwrap();
        assert_eq!(settings.keys.workers, Some(Workers(2)));
        assert_eq!(settings.keys.listen.as_ref().map(Vec::len), Some(2));
        let config = Config::from_settings(settings).unwrap();
        let uplink = config.uplink_config().unwrap();
        assert_eq!((uplink.rate.bits(), uplink.policy), (10_000_000, policy::SRPT));
        assert_eq!(config.send_timeout.as_secs(), 7);
        assert_eq!(
            (config.proxy_protocol, config.proxy_memory),
            (ProxyProtocol::FromAnyone, 8_000_000)
        );
        assert_eq!(config.proxy_disk, 2_000_000_000);
        assert_eq!(config.proxy_temp_dir.as_deref(), Some(Path::new("/srv/tmp")));
        assert_eq!((config.min_rate, config.min_rate_period.as_secs()), (1000, 10));
    }

    #[test]
    fn an_unknown_key_names_its_line_and_the_nearest_key() {
        for (text, message) in [
            (
                "root = \".\"\n\nuplnk = \"1mbit\"\n",
                "3: unknown key `uplnk`; did you mean `uplink`?",
            ),
            ("zzz = 1\naaa = 1\n", "1: unknown key `zzz`; the keys are listen, reuse_port,"),
            ("admin-x-y-z-q = 1\nlog = 1\n", "1: unknown key `admin-x-y-z-q`"),
            ("log = \"info\"\n[[routes]]\n", "2: unknown key `routes`; did you mean `route`?"),
            ("balance = \"hash\"", "1: `balance` is not a key; it belongs to a [[route]]"),
            ("access_log = \"off\"\naccess-log = \"off\"", "2: `access_log` is written twice"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }

    #[test]
    fn a_wrong_value_names_its_line() {
        for (text, start) in [
            ("\nuplink = \"0mbit\"", "2: \"0mbit\" is not a rate of a link from 1bit"),
            ("uplink = 5", "1: \"5\" is not a rate"),
            ("policy = \"best\"", "1: no policy is called \"best\"; there are fair,"),
            ("workers = 0", "1: \"0\" is not a number of workers"),
            ("listen = [\"here\"]", "1: "),
            ("root = ", "1: "),
            ("root = \"a\"\nroot = \"b\"", "2: "),
            (
                "log = \"info\"\nproxy_protocol = \"yes\"",
                "2: \"yes\" is not an address or a network",
            ),
            ("proxy_protocol = []", "1: `proxy_protocol` names no network; write true, false,"),
            ("proxy_protocol = [\"10.0.0.0/8\", \"a\"]", "1: \"a\" is not an address"),
            (
                "proxy_protocol = 1",
                "1: invalid type: integer `1`, expected true, false, or an array",
            ),
            ("proxy_memory = \"1xb\"", "1: \"1xb\" is not a size"),
            ("backend_limit = 0", "1: "),
            ("backend_order = \"best\"", "1: "),
            ("\nproxy = \"/=ftp://a\"", "2: \"ftp://a\": not a scheme for backends"),
            ("\nroute = 1", "2: write each route as a table that begins with [[route]]"),
            ("[route]", "1: write each route as a table that begins with [[route]]"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.starts_with(start), "{text}: {error}");
        }
    }

    #[test]
    fn flags_win_over_the_file() {
        let file = parse("uplink = \"1mbit\"\nworkers = 3\nproxy_protocol = true").unwrap();
        let keys = ServerKeys {
            uplink: "2mbit".parse().ok(),
            proxy_protocol: Some(ProxyProtocol::Off),
            ..ServerKeys::default()
        };
        let flags = Settings { keys, ..Settings::default() };
        let config = Config::from_settings(flags.over(file)).unwrap();
        assert_eq!(config.uplink.rate().map(|rate| rate.bits()), Some(2_000_000));
        assert_eq!(config.workers, 3);
        assert_eq!(config.proxy_protocol, ProxyProtocol::Off);
    }

    #[test]
    fn balancers_are_named_as_one_text_or_several() {
        let balancers = |text: &str| parse(text).unwrap().keys.proxy_protocol;
        let two = balancers("proxy_protocol = [\"10.0.0.0/8\", \"192.0.2.1\"]");
        assert!(matches!(&two, Some(ProxyProtocol::From(networks)) if networks.len() == 2));
        assert_eq!(balancers("proxy_protocol = \"10.0.0.0/8,192.0.2.1\""), two);
        assert_eq!(balancers("proxy_protocol = false"), Some(ProxyProtocol::Off));
    }
}
