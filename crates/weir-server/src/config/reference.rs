//! docs/configuration.md: every key, from the tables of keys. Its test fails where the file in git is
//! not what the tables say.

use std::fmt::Write;

use clap::{Args, Command};

use super::given::Settings;
use super::key::Key;
use super::routes;

/// How values are written, by what stands for them.
const VALUES: [(&str, &str); 29] = [
    (
        "ADDRESS",
        "an IP address and a port, such as `127.0.0.1:8080` or `[::1]:8080`; `localhost` is `127.0.0.1`, other names are not looked up",
    ),
    ("AGE", "a time such as `365d`, perhaps with words behind it, as listed"),
    ("BOOL", "`true` or `false`; a flag without a value is `true`"),
    ("CACHING", "a text as listed, or a table of such texts by pattern"),
    ("DIR", "a directory"),
    ("FILE", "a file"),
    ("HOST", "a name or an address, such as `www.example.org`"),
    ("KIND", "a word or a number, as listed"),
    ("LEVEL", "one of the words listed"),
    ("METHOD", "a method of HTTP, such as `GET`"),
    ("N", "a whole number"),
    ("NAME", "one of the words listed"),
    ("NETWORK", "a network or an address, such as `10.0.0.0/8` or `192.0.2.1`"),
    ("NETWORK,...", "`true`, `false`, or networks: an array in the file, with commas in a flag"),
    ("ORIGIN", "a scheme and a host, such as `https://app.example.org`, or `*`"),
    ("PATH", "a path that begins with a slash"),
    ("PATH=URL[,URL]", "a path, `=`, and its backends with commas between them"),
    ("PATTERN", "a path below the root that holds `{path}`"),
    (
        "RATE",
        "bits per second with a unit (`bit`, `kbit`, `mbit`, `gbit`), such as `300mbit` or `1.5gbit`, at least `8kbit`; or a word, as listed",
    ),
    ("REQUESTS", "requests in a second, minute or hour, such as `100/s`, `5/m` or `1000/h`"),
    (
        "ROUTE",
        "the path of a route, after its host if it has one, such as `/app` or `www.example.org/app`",
    ),
    ("SHARE", "a fraction or a percentage, such as `0.99` or `99%`"),
    (
        "SIZE",
        "bytes: a whole number, alone or with `KB`, `MB`, `GB`, `TB` (powers of 1000) or `KiB`, `MiB`, `GiB`, `TiB` (powers of 1024), such as `64MB`",
    ),
    ("SIZES", "a word, or sizes with commas between them, as listed"),
    ("STATUS", "a status code of HTTP"),
    ("TARGET", "one of the words listed, or a file"),
    (
        "TIME",
        "a time above zero and up to a day, such as `500ms`, `30s` or `2m 30s`; a plain number is seconds",
    ),
    ("TYPE", "a media type, such as `application/json`, or several: `text/*`, `*+xml`"),
    ("URL", "`http://host:port`, `https://host:port`, or as described"),
];

const HEAD: &str = "\
# Configuration

<!-- Generated from the tables of keys in crates/weir-server/src/config by
     UPDATE_DOCS=1 cargo test -p weir-server --lib reference -->

`weir serve` takes its settings from flags and from the file that `--config FILE` names; flags win over the file, and the file over the defaults. Every flag but `--config`, `--check` and `--take-over` has a key of the same name in the file, with `_` for `-`: `--uplink-pace 0.98` is `uplink_pace = 0.98`. The directory `DIR` is `root`. `weir serve --check` checks keys, values, addresses and the names of backends, and ends.

The file is [TOML](https://toml.io). An unknown key or an invalid value is an error that names the line and what would be right. Paths in the file are relative to its own directory. In texts `${NAME}` stands for an environment variable, `${NAME:-default}` for one that may be missing, and `$$` for a dollar; a variable that is not set is an error. Keys of the server stand above the first `[[route]]`; each `[[route]]` begins a table for one route:

```toml
root = \"public\"
listen = [\"0.0.0.0:80\", \"[::]:80\"]
uplink = \"300mbit\"

[[route]]
path = \"/app\"
backends = [\"http://127.0.0.1:9000\"]

[route.health]
path = \"/healthz\"
```

";

const ROUTES: &str = "\
# Routes

A `[[route]]` needs a `path` and one of `backends`, `redirect`, `root` and `files = true`. A route of files (`root` or `files = true`) may also have the keys of [names and pages](#names-and-pages) and of [types and fields of files](#types-and-fields-of-files); what it does not say is as the keys above the routes say. What no route matches is answered from `root`, or with 404 if there is none; the built-in site is only served without routes. Routes have no flags; `--proxy` makes simple ones.

";

/// The text of docs/configuration.md.
pub fn reference() -> String {
    let mut page = HEAD.to_owned();
    page += "| value | how it is written |\n| --- | --- |\n";
    for (value, how) in VALUES {
        page += &format!("| `{value}` | {how} |\n");
    }
    let flags = Settings::augment_args(Command::new("serve"));
    sections(&mut page, &Settings::known(), &|key| flag(&flags, key));
    page.push('\n');
    page += ROUTES.trim_end();
    page.push('\n');
    sections(&mut page, &routes::keys(), &|_| None);
    page
}

/// The keys, a section for each group.
fn sections(page: &mut String, keys: &[Key], flag: &dyn Fn(&Key) -> Option<String>) {
    let mut group = "";
    for key in keys {
        if key.group != group {
            group = key.group;
            page.push_str(&format!("\n## {group}\n"));
        }
        entry(page, key, "", flag(key));
        for inner in &key.keys {
            entry(page, inner, key.name, None);
        }
    }
}

/// One key; `table` is the name of the table that it stands in, if there is one.
fn entry(page: &mut String, key: &Key, table: &str, flag: Option<String>) {
    let name = if table.is_empty() { key.name.to_owned() } else { format!("{table}.{}", key.name) };
    let (sentence, paragraphs) = key.sentence_and_paragraphs();
    let _ = write!(page, "\n### `{name}`\n\n{sentence}.");
    for paragraph in paragraphs {
        let _ = write!(page, " {paragraph}");
    }
    page.push_str("\n\n");
    let mut line = |text: &str| {
        let _ = writeln!(page, "{text}");
    };
    match key.value {
        "TABLE" => line("- value: a table"),
        value => line(&format!("- value: `{value}`{}", key.detail)),
    }
    for (word, meaning) in &key.words {
        let is_word = !word.contains(' ') && *word != "networks";
        let word = if is_word { format!("`{word}`") } else { (*word).to_owned() };
        match meaning.trim_end_matches('.') {
            "" => line(&format!("  - {word}")),
            meaning => line(&format!("  - {word}: {meaning}")),
        }
    }
    match (key.absent, &key.default) {
        (Some(absent), _) => line(&format!("- default: {absent}")),
        (None, Some(default)) => line(&format!("- default: `{default}`")),
        (None, None) => {}
    }
    if let Some(flag) = flag {
        line(&format!("- flag: `{flag}`"));
    }
    match key.needs {
        Some(needs) if needs.contains(' ') => line(&format!("- has no effect without {needs}")),
        Some(needs) => line(&format!("- has no effect without `{needs}`")),
        None => {}
    }
    line(&format!("- example: `{} = {}`", key.name, key.example));
}

/// The flag of a key, as it is written.
fn flag(flags: &Command, key: &Key) -> Option<String> {
    let argument = flags.get_arguments().find(|argument| argument.get_id() == key.name)?;
    let value = key.value;
    let needs_none = argument.get_num_args().is_some_and(|range| range.min_values() == 0);
    Some(match argument.get_long() {
        None => value.to_owned(),
        Some(long) if needs_none => format!("--{long}[={value}]"),
        Some(long) => format!("--{long} {value}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::access::AccessKeys;
    use crate::config::compression::CompressionKeys;
    use crate::config::key::Table as _;
    use crate::config::logs::LogKeys;
    use crate::config::operation::OperationKeys;
    use crate::config::settings::ServerKeys;
    use crate::config::site::FileKeys;
    use crate::config::{Config, parse};
    use crate::documents;

    fn all() -> Vec<Key> {
        let mut all = [Settings::known(), routes::keys()].concat();
        all.extend(all.clone().into_iter().flat_map(|key| key.keys));
        all
    }

    #[test]
    fn the_reference_in_git_is_current() {
        documents::assert_current("configuration.md", &reference());
    }

    #[test]
    fn every_kind_of_value_is_explained_once() {
        let mut names: Vec<&str> = all().iter().map(|key| key.value).collect();
        names.retain(|name| !["TABLE", "TEXT"].contains(name));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names, VALUES.map(|(name, _)| name));
    }

    #[test]
    fn every_key_is_a_sentence_with_an_example_that_is_read() {
        let proxied = "[[route]]\npath = \"/\"\nbackends = \"http://a\"\n";
        let in_route = |key: &Key| match key.name {
            "path" => format!("[[route]]\npath = {}\nfiles = true", key.example),
            "files" | "root" | "redirect" => {
                format!("[[route]]\npath = \"/\"\n{} = {}", key.name, key.example)
            }
            "status" => {
                format!("[[route]]\npath = \"/\"\nredirect = \"/\"\nstatus = {}", key.example)
            }
            "backends" => format!("[[route]]\npath = \"/\"\nbackends = {}", key.example),
            "weights" => {
                let two = proxied.replace("\"http://a\"", "[\"http://a\", \"http://b\"]");
                format!("{two}weights = {}", key.example)
            }
            "basic_auth_realm" => {
                format!("{proxied}basic_auth = \"f\"\n{} = {}", key.name, key.example)
            }
            "limit_burst" => format!("{proxied}limit_requests = 1\n{} = {}", key.name, key.example),
            name if key.group == "TLS to backends" => {
                let certificate = match name {
                    "backend_key" => "backend_certificate = \"weir.pem\"\n",
                    _ => "",
                };
                let over_tls = proxied.replace("http:", "https:");
                format!("{over_tls}{certificate}{name} = {}", key.example)
            }
            name => format!("{proxied}{name} = {}", key.example),
        };
        let alone = |key: &Key| format!("{} = {}", key.name, key.example);
        let keys = [ServerKeys::keys(), LogKeys::keys(), AccessKeys::keys()].concat();
        let keys = [keys, FileKeys::keys(), CompressionKeys::keys()].concat();
        let mut texts: Vec<String> = keys.iter().map(alone).collect();
        // The route is the one that `ready_routes` names.
        let app = "[[route]]\npath = \"/app\"\nbackends = \"http://a\"\n";
        let beside_route = |key: &Key| format!("{}\n{app}", alone(key));
        texts.extend(OperationKeys::keys().iter().map(beside_route));
        for key in FileKeys::keys() {
            let route = "root = \".\"\n[[route]]\npath = \"/a\"\nfiles = true\n";
            texts.push(format!("{route}{} = {}", key.name, key.example));
            for inner in &key.keys {
                let table = format!("[route.{}]\n{} = {}", key.name, inner.name, inner.example);
                texts.push(format!("{route}{table}"));
            }
        }
        for key in routes::keys() {
            texts.push(format!("root = \".\"\n{}", in_route(&key)));
            for inner in &key.keys {
                let table = format!("[route.{}]\n{} = {}", key.name, inner.name, inner.example);
                texts.push(format!("{proxied}{table}"));
            }
        }
        for text in texts {
            let config = parse(&text).and_then(Config::from_settings);
            assert!(config.is_ok(), "{text}\n{config:?}");
        }
        for key in all() {
            let (sentence, paragraphs) = key.sentence_and_paragraphs();
            assert!(!sentence.is_empty() && !sentence.ends_with('.'), "{}: {sentence}", key.name);
            assert!(paragraphs.iter().all(|text| text.ends_with('.')), "{}", key.name);
        }
    }

    #[test]
    fn a_default_that_is_written_down_changes_nothing() {
        let without = format!("{:?}", Config::from_settings(parse("").unwrap()).unwrap());
        let keys = [ServerKeys::keys(), OperationKeys::keys(), LogKeys::keys()].concat();
        for key in [keys, AccessKeys::keys(), CompressionKeys::keys()].concat() {
            // A list is written down as an array, which its default is not.
            if key.name == "compress_types" {
                continue;
            }
            let Some(default) = key.default.filter(|_| key.absent.is_none()) else { continue };
            let quoted = format!("{} = \"{default}\"", key.name);
            let plain = format!("{} = {default}", key.name);
            let settings = parse(&quoted).or_else(|_| parse(&plain)).unwrap();
            let mut config = Config::from_settings(settings).unwrap();
            config.without_effect.clear();
            assert_eq!(format!("{config:?}"), without, "{plain}");
        }
    }
}
