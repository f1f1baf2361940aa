//! Reads `weir.toml`: one strict file. An unknown key is an error that names the line.

use std::path::{Path, PathBuf};

use clap::Args;

use super::{AccessLog, ConfigError, Settings};

/// Reads a configuration file. Paths in it are relative to its own directory.
pub fn read(path: &Path) -> Result<Settings, ConfigError> {
    let name = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| ConfigError::new(format!("cannot read {name}: {error}")))?;
    let mut settings =
        parse(&text).map_err(|ConfigError(wrong)| ConfigError::new(format!("{name}:{wrong}")))?;
    let beside = |file: PathBuf| path.parent().map(|dir| dir.join(&file)).unwrap_or(file);
    settings.root = settings.root.map(beside);
    settings.access_log = settings.access_log.map(|target| match target {
        AccessLog::File(file) => AccessLog::File(beside(file)),
        other => other,
    });
    Ok(settings)
}

/// Reads the text of a configuration file; errors begin with the line.
pub fn parse(text: &str) -> Result<Settings, ConfigError> {
    let table = toml::de::DeTable::parse(text).map_err(|error| at_line(text, &error))?;
    for key in table.get_ref().keys() {
        let name = key.get_ref().replace('-', "_");
        let known = keys();
        if !known.contains(&name) {
            let line = line_of(text, key.span().start);
            let written = key.get_ref();
            return Err(ConfigError::new(match nearest(&name, &known) {
                Some(near) => format!("{line}: unknown key `{written}`; did you mean `{near}`?"),
                None => {
                    format!("{line}: unknown key `{written}`; the keys are {}", known.join(", "))
                }
            }));
        }
    }
    toml::from_str(text).map_err(|error| at_line(text, &error))
}

/// The keys are the names of the flags.
fn keys() -> Vec<String> {
    Settings::augment_args(clap::Command::new("serve"))
        .get_arguments()
        .map(|flag| flag.get_id().to_string())
        .collect()
}

fn nearest<'a>(name: &str, known: &'a [String]) -> Option<&'a str> {
    let closeness = |key: &&String| (strsim::jaro_winkler(name, key) * 1000.0) as u32;
    let near = known.iter().max_by_key(closeness)?;
    (closeness(&near) > 700).then_some(near)
}

fn at_line(text: &str, error: &toml::de::Error) -> ConfigError {
    let line = line_of(text, error.span().map_or(0, |span| span.start));
    ConfigError::new(format!("{line}: {}", error.message()))
}

fn line_of(text: &str, offset: usize) -> usize {
    let before = text.as_bytes().get(..offset).unwrap_or(text.as_bytes());
    before.iter().filter(|byte| **byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Workers};
    use weir_sched::PolicyKind;

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
            "#,
        )
        .unwrap();
        assert_eq!(settings.workers, Some(Workers(2)));
        assert_eq!(settings.listen.as_ref().map(Vec::len), Some(2));
        let config = Config::from_settings(settings).unwrap();
        let uplink = config.uplink.unwrap();
        assert_eq!((uplink.rate.bits(), uplink.policy), (10_000_000, PolicyKind::Srpt));
        assert_eq!(config.send_timeout.as_secs(), 7);
    }

    #[test]
    fn an_unknown_key_names_its_line_and_the_nearest_key() {
        let error = parse("root = \".\"\n\nuplnk = \"1mbit\"\n").unwrap_err();
        assert_eq!(error.to_string(), "3: unknown key `uplnk`; did you mean `uplink`?");
        let error = parse("zzz = 1").unwrap_err().to_string();
        assert!(error.starts_with("1: unknown key `zzz`; the keys are root, listen,"), "{error}");
    }

    #[test]
    fn a_wrong_value_names_its_line() {
        for (text, start) in [
            ("\nuplink = \"0mbit\"", "2: a rate of \"0mbit\" cannot be paced"),
            ("uplink = 5", "1: \"5\" is not a rate"),
            ("policy = \"best\"", "1: no policy is called \"best\"; there are fair,"),
            ("workers = 0", "1: \"0\" is not a number of workers"),
            ("listen = [\"here\"]", "1: "),
            ("root = ", "1: "),
            ("root = \"a\"\nroot = \"b\"", "2: "),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.starts_with(start), "{text}: {error}");
        }
    }

    #[test]
    fn flags_win_over_the_file() {
        let file = parse("uplink = \"1mbit\"\nworkers = 3").unwrap();
        let flags = Settings { uplink: "2mbit".parse().ok(), ..Settings::default() };
        let config = Config::from_settings(flags.over(file)).unwrap();
        assert_eq!(config.uplink.map(|u| u.rate.bits()), Some(2_000_000));
        assert_eq!(config.workers, 3);
    }
}
