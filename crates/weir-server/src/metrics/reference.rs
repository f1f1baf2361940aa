//! docs/metrics.md: every figure on `/metrics`, from the registry. Its test fails where the file in git
//! is not what the registry says.

use std::collections::BTreeMap;

use super::{Build, Format, Metrics, Reading, SIZES};
use crate::documents;

const HEAD: &str = "\
# Metrics

<!-- Generated from the registry in crates/weir-server/src/metrics by
     UPDATE_DOCS=1 cargo test -p weir-server --lib reference -->

With `--admin ADDRESS`, `http://ADDRESS/metrics` has these figures, in the text format of Prometheus or, for who asks for it, in OpenMetrics. Counters count from the start of the server. A histogram has `_bucket`, `_sum` and `_count`.

A gate is the queue in which weir decides what goes next to the uplink, a disk or a backend. A grant is its permission for one response to send some bytes over the uplink. A slot is one of the places for calls that a backend's limit allows. Kernel mode is `uplink = \"kernel\"`.
";

/// Sections, with what the names in each begin with, after `weir_`; the last one takes the rest.
const SECTIONS: [(&str, &[&str]); 7] = [
    ("The uplink", &["uplink_", "pacer_", "fairness_"]),
    ("Applications", &["backend_", "proxy_"]),
    ("TLS", &["tls_"]),
    ("Files and disks", &["name_cache_", "disk_"]),
    ("Compression", &["compress"]),
    (
        "The server itself",
        &["stalled_", "ready_", "access_log_", "messages_", "build_", "process_"],
    ),
    ("Connections and responses", &[""]),
];

/// Labels whose values are not few and known.
const OPEN: [(&str, &str); 6] = [
    ("backend", "its address"),
    ("commit", "its hash"),
    ("device", "its name"),
    ("name", "the name"),
    ("status", "the status code"),
    ("version", "its number"),
];

/// What is known of a metric.
#[derive(Default)]
struct Family {
    name: String,
    kind: String,
    help: String,
    labels: BTreeMap<String, Vec<String>>,
}

/// Every metric, each with a value at least.
fn registry() -> Metrics {
    let metrics = Metrics::new();
    metrics.backends.read("http://127.0.0.1:9000", &Reading::default());
    metrics.answers.of("http://127.0.0.1:9000").count(200, std::time::Duration::ZERO);
    metrics.process.is(Build { version: "0.2.0", commit: "0123456789" });
    metrics.in_force.bands("eth0", true);
    metrics.handshakes.expires("www.example.org", std::time::SystemTime::UNIX_EPOCH);
    metrics.obtained.read(&weir_acme::CertificateStatus {
        renewal: Some(std::time::SystemTime::UNIX_EPOCH),
        ..weir_acme::CertificateStatus::new("www.example.org")
    });
    metrics
}

/// The metrics in the text that Prometheus reads.
fn families(text: &str) -> Vec<Family> {
    let mut all: Vec<Family> = Vec::new();
    for line in text.lines() {
        let words = |keyword| line.strip_prefix(keyword)?.split_once(' ');
        if let Some((name, help)) = words("# HELP ") {
            let (name, help) = (name.to_owned(), help.trim_end_matches('.').to_owned());
            all.push(Family { name, help, ..Family::default() });
        } else if let (Some((_, kind)), Some(family)) = (words("# TYPE "), all.last_mut()) {
            family.kind = kind.to_owned();
        } else if let (Some((_, labels)), Some(family)) = (line.split_once('{'), all.last_mut()) {
            let labels = labels.rsplit_once('}').map_or("", |(labels, _)| labels);
            for (label, value) in labels.split(',').filter_map(|label| label.split_once('=')) {
                let values = family.labels.entry(label.to_owned()).or_default();
                let value = value.trim_matches('"').to_owned();
                if !values.contains(&value) {
                    values.push(value);
                }
                values.sort_by_key(|value| place(value));
            }
        }
    }
    all
}

/// Where a value of a label stands: sizes from small to large, others by name.
fn place(value: &str) -> (usize, String) {
    let size = SIZES.iter().position(|(_, size)| *size == value);
    (size.unwrap_or(SIZES.len()), value.to_owned())
}

fn labels(family: &Family) -> String {
    let labels = family.labels.iter().filter(|(label, _)| *label != "le");
    let texts = labels.map(|(label, values)| {
        let open = OPEN.iter().find(|(known, _)| known == label);
        let values = open.map_or_else(|| values.join(", "), |(_, what)| (*what).to_owned());
        format!("`{label}`: {values}")
    });
    texts.collect::<Vec<_>>().join("; ")
}

fn reference() -> String {
    let mut page = HEAD.to_owned();
    let mut left = families(&registry().text(Format::Prometheus));
    for (title, beginnings) in SECTIONS {
        let belongs = |family: &Family| {
            let name = family.name.trim_start_matches("weir_");
            beginnings.iter().any(|beginning| name.starts_with(beginning))
        };
        let (here, others) = left.into_iter().partition(belongs);
        left = others;
        page += &format!("\n## {title}\n\n| name | type | what it says | labels |\n");
        page += "| --- | --- | --- | --- |\n";
        for family in &here as &Vec<Family> {
            let Family { name, kind, help, .. } = family;
            page += &format!("| `{name}` | {kind} | {help} | {} |\n", labels(family));
        }
    }
    page
}

#[test]
fn the_reference_in_git_is_current() {
    documents::assert_current("metrics.md", &reference());
}

#[test]
fn every_figure_of_the_uplink_says_what_it_is_in_kernel_mode() {
    let page = reference();
    let after_title = page.split_once("\n## The uplink\n").expect("a section about the uplink").1;
    let section = after_title.split_once("\n## ").map_or(after_title, |(section, _)| section);
    let figures: Vec<&str> = section.lines().filter(|line| line.starts_with("| `weir_")).collect();
    assert!(!figures.is_empty(), "{section}");
    for figure in figures {
        assert!(figure.contains("kernel mode"), "{figure}");
    }
}

/// A family without values is not in the text; the registry's own description has it.
#[test]
fn no_registered_metric_is_missing() {
    let metrics = registry();
    let registries = format!("{:?} {:?}", metrics.registry, metrics.of_process);
    let registered = registries.matches("Descriptor {").count();
    let families = families(&metrics.text(Format::Prometheus));
    assert_eq!(families.len(), registered);
    let page = reference();
    for family in families {
        assert!(page.contains(&format!("| `{}` |", family.name)), "{}", family.name);
        assert!(!family.kind.is_empty() && !family.help.is_empty(), "{}", family.name);
    }
}
