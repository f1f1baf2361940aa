//! Shows that the dashboard of Grafana and the rules of Prometheus ask for what a server tells.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Backend, Client, Server, output_of, tool};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use serde_json::Value;

fn dist(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dist").join(file)
}

/// The names of metrics in queries: of words, those that begin as names of weir's metrics do.
fn names(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let is_name = |word: &&str| word.starts_with("weir_") || word.starts_with("process_");
    words.filter(is_name).map(str::to_owned).collect()
}

/// What servers say that have an uplink, backends and certificates, after some traffic.
fn scrape() -> BTreeSet<String> {
    let backend = Backend::saying("yes");
    let site = Server::before(&backend, &["--uplink", "10mbit"]);
    assert_eq!(site.get("/").text(), "yes");
    let directory = tempfile::tempdir().expect("a directory");
    let file = |name: &str| directory.path().join(name).to_str().expect("UTF-8").to_owned();
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["a.test".to_owned()]).expect("a certificate");
    fs::write(file("cert"), cert.pem()).expect("a file");
    fs::write(file("key"), signing_key.serialize_pem()).expect("a file");
    let with_tls = Server::builtin(&["--tls", &file("cert"), "--tls-key", &file("key")]);
    let texts = [&site, &with_tls].map(|server| Client::connect(server.admin()).get("/metrics"));
    let texts = texts.map(|answer| answer.text()).concat();
    let lines = texts.lines().filter(|line| !line.starts_with('#'));
    lines.flat_map(|line| line.split(['{', ' ']).next()).map(str::to_owned).collect()
}

/// The queries of a dashboard: its panels', and those of its variables.
fn queries(part: &Value, found: &mut String) {
    match part {
        Value::Object(keys) => {
            for (key, value) in keys {
                match value {
                    Value::String(query) if ["expr", "query"].contains(&key.as_str()) => {
                        found.push_str(query);
                        found.push('\n');
                    }
                    value => queries(value, found),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| queries(value, found)),
        _ => {}
    }
}

#[test]
fn every_query_asks_for_what_a_server_tells() {
    let dashboard = fs::read_to_string(dist("grafana/weir.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&dashboard).unwrap();
    let mut of_dashboard = String::new();
    queries(&dashboard, &mut of_dashboard);
    let of_rules = fs::read_to_string(dist("prometheus/rules.yml")).unwrap();
    let told = scrape();
    for (what, text, least) in [("dashboard", of_dashboard, 30), ("rules", of_rules, 10)] {
        let asked = names(&text);
        assert!(asked.len() >= least, "{what}: {asked:?}");
        let missing: Vec<_> = asked.difference(&told).collect();
        assert!(missing.is_empty(), "the {what} asks for {missing:?}, of {told:#?}");
    }
}

/// What `promtool` (Debian package prometheus) says of the rules.
#[test]
fn promtool_takes_the_rules() {
    let mut command = tool("promtool", "prometheus");
    command.args(["check", "rules"]).arg(dist("prometheus/rules.yml"));
    let said = output_of(command);
    assert!(said.contains("SUCCESS") && said.contains("10 rules found"), "{said}");
}

#[test]
fn panels_of_the_dashboard_have_places_of_their_own() {
    let dashboard = fs::read_to_string(dist("grafana/weir.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&dashboard).unwrap();
    let mut seen = BTreeSet::new();
    let mut covered = BTreeSet::new();
    for panel in dashboard["panels"].as_array().unwrap() {
        assert!(seen.insert(panel["id"].as_u64().unwrap()), "{} comes twice", panel["id"]);
        let [x, y, w, h] =
            ["x", "y", "w", "h"].map(|side| panel["gridPos"][side].as_u64().unwrap());
        assert!(x + w <= 24, "{}", panel["title"]);
        for place in (x..x + w).flat_map(|x| (y..y + h).map(move |y| (x, y))) {
            assert!(covered.insert(place), "{} covers another panel", panel["title"]);
        }
    }
}
