//! Shows that the dashboard of Grafana and the rules of Prometheus ask for what servers tell: promtool
//! (Debian package prometheus) evaluates them over the series of real servers.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::support::{Backend, Server, end_of, output_of, route, tool};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use serde_json::{Value, json};

fn dist(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../dist").join(file)
}

fn dashboard() -> Value {
    let text = fs::read_to_string(dist("grafana/weir.json")).expect("the dashboard");
    serde_json::from_str(&text).expect("JSON")
}

/// When a certificate is renewed.
const RENEWAL: &str = "weir_tls_certificate_renewal_timestamp_seconds";

/// What stands between `before` and `after`, wherever it does.
fn between(text: &str, before: &str, after: &str) -> Vec<String> {
    let parts = text.split(before).skip(1).filter_map(|rest| rest.split(after).next());
    parts.map(str::to_owned).collect()
}

fn is_part_of_a_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// A query of the dashboard or of the rules.
#[derive(Debug)]
struct Query {
    expression: String,
    /// Labels of its results that people are shown.
    shown: Vec<String>,
}

impl Query {
    /// The series that it asks for: names of weir's metrics, with what is asked of their labels.
    fn selectors(&self) -> Vec<&str> {
        let text = self.expression.as_str();
        let begins = |at: usize| {
            let is_name = ["weir_", "process_"].iter().any(|start| text[at..].starts_with(start));
            is_name && !text[..at].ends_with(is_part_of_a_name)
        };
        let starts = text.char_indices().map(|(at, _)| at).filter(|at| begins(*at));
        let selector = |at: usize| {
            let rest = &text[at..];
            let name = rest.find(|letter: char| !is_part_of_a_name(letter)).unwrap_or(rest.len());
            match rest[name..].split_once('}') {
                Some((labels, _)) if labels.starts_with('{') => &rest[..=name + labels.len()],
                _ => &rest[..name],
            }
        };
        starts.map(selector).collect()
    }

    /// The labels by which it tells series apart.
    fn groups(&self) -> Vec<String> {
        let lists = ["by (", "on ("].map(|before| between(&self.expression, before, ")")).concat();
        lists.iter().flat_map(|list| list.split(", ")).map(str::to_owned).collect()
    }

    /// What promtool is to find: results with all that is shown, of series with all labels that the query
    /// goes by.
    fn tests(&self) -> Vec<Value> {
        let groups = self.groups();
        let of_series = self.selectors().into_iter().flat_map(|it| has_results(it, &groups));
        has_results(&self.expression, &self.shown).into_iter().chain(of_series).collect()
    }
}

/// Tests for promtool: the expression has results, and all of them have each of these labels.
fn has_results(expression: &str, labels: &[String]) -> Vec<Value> {
    let test = |label: &str, value: &str| {
        let from = format!("\"{label}\", \"{value}\"");
        let told = format!("label_replace(({expression}), \"told\", \"yes\", {from})");
        json!({
            "expr": format!("count by (told) ({told}) > bool 0"),
            "eval_time": "15m",
            "exp_samples": [{ "labels": "{told=\"yes\"}", "value": 1 }],
        })
    };
    match labels {
        // With this label or without.
        [] => vec![test("instance", ".*")],
        labels => labels.iter().map(|label| test(label, ".+")).collect(),
    }
}

/// What the dashboard asks for, with values in place of its variables.
fn of_dashboard() -> Vec<Query> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let dashboard = dashboard();
    let mut queries = Vec::new();
    for target in list(&dashboard["panels"]).iter().flat_map(|panel| list(&panel["targets"])) {
        let expression = text(&target["expr"]).replace("$__rate_interval", "5m");
        let expression = expression.replace("$instance", ".*");
        assert!(!expression.is_empty() && !expression.contains('$'), "{target}");
        let shown = between(&text(&target["legendFormat"]), "{{", "}}");
        queries.push(Query { expression, shown });
    }
    for variable in list(&dashboard["templating"]["list"]) {
        if variable["type"] == "query" {
            let query = text(&variable["query"]["query"]);
            let values = query.strip_prefix("label_values(");
            let values = values.and_then(|rest| rest.strip_suffix(')')?.split_once(", "));
            let (metric, label) = values.expect("the values that a label of a metric has");
            queries.push(Query { expression: metric.to_owned(), shown: vec![label.to_owned()] });
        }
    }
    queries
}

/// What the rules ask for.
fn of_rules() -> Vec<Query> {
    let text = fs::read_to_string(dist("prometheus/rules.yml")).expect("the rules");
    text.split("- alert: ").skip(1).map(of_rule).collect()
}

/// The query of a rule, which stands in one line or in several that are indented further.
fn of_rule(text: &str) -> Query {
    let (_, rest) = text.split_once("expr:").expect("a query");
    let mut lines = rest.lines();
    let first = lines.next().unwrap_or_default().trim().trim_start_matches('|');
    let further = lines.take_while(|line| line.starts_with("          "));
    let expression = further.fold(first.to_owned(), |all, line| all + " " + line.trim());
    let named = text.split("$labels.").skip(1);
    let name =
        |rest: &str| -> String { rest.chars().take_while(|it| is_part_of_a_name(*it)).collect() };
    Query { expression, shown: named.map(name).collect() }
}

/// Series for promtool, of everything that these servers tell, as on a bad day: everything grows, nearly
/// all answers take longer than any bucket has, no backend is healthy, and no certificate was renewed.
fn series(servers: &[&Server]) -> Vec<Value> {
    let mut all = Vec::new();
    for (number, server) in servers.iter().enumerate() {
        let metrics = server.metrics();
        for (name, labels, _) in metrics.samples() {
            let own = labels.trim_matches(['{', '}']);
            let comma = if own.is_empty() { "" } else { "," };
            let series = format!("{name}{{{own}{comma}job=\"weir\",instance=\"{number}\"}}");
            let values = match name {
                "weir_backend_up" | RENEWAL => "0+0x20",
                _ if own.contains("le=\"+Inf\"") => "0+6000x20",
                _ => "0+60x20",
            };
            all.push(json!({ "series": series, "values": values }));
        }
    }
    all
}

/// Has promtool do these tests over these series, which have a value each minute.
fn promtool(series: &[Value], tests: &[Value]) -> Output {
    let group = json!({ "interval": "1m", "input_series": series, "promql_expr_test": tests });
    test_rules(&json!({ "evaluation_interval": "1m", "tests": [group] }))
}

/// What promtool says of these tests.
fn test_rules(tests: &Value) -> Output {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("tests.yml");
    // It reads YAML, of which JSON is a part.
    fs::write(&file, format!("{tests:#}")).expect("a file");
    let mut command = tool("promtool", "prometheus");
    command.args(["test", "rules"]).arg(file);
    end_of(command)
}

#[test]
fn every_query_asks_for_what_a_server_tells() {
    let backend = Backend::saying("yes");
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    fs::write(file("a.txt"), "text").unwrap();
    let keys = format!("uplink = \"10mbit\"\n{}", route("/app", &[&backend.url]));
    let site = Server::site(directory.path(), &keys);
    assert_eq!([site.get("/a.txt").text(), site.get("/app").text()], ["text", "yes"]);
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["a.test".to_owned()]).unwrap();
    fs::write(file("cert"), cert.pem()).unwrap();
    fs::write(file("key"), signing_key.serialize_pem()).unwrap();
    let with_tls = Server::builtin(&["--tls", &file("cert"), "--tls-key", &file("key")]);
    // One that has obtained its certificate; its ACME server is down.
    let kept = directory.path().join("certificates/127.0.0.1_1_directory");
    fs::create_dir_all(&kept).unwrap();
    fs::write(kept.join("a.test.pem"), signing_key.serialize_pem() + &cert.pem()).unwrap();
    let mut flags = vec!["--tls", "auto", "--tls-names", "a.test"];
    let (certificates, ca) = (file("certificates"), file("cert"));
    flags.extend(["--acme-directory-url", "https://127.0.0.1:1/directory", "--acme-ca", &ca]);
    flags.extend(["--tls-directory", &certificates]);
    let with_acme = Server::builtin(&flags);
    let series = series(&[&site, &with_tls, &with_acme]);
    let (of_dashboard, of_rules) = (of_dashboard(), of_rules());
    assert!(of_dashboard.len() >= 39 && of_rules.len() >= 11, "{of_dashboard:#?} {of_rules:#?}");
    let tests: Vec<Value> = of_dashboard.iter().chain(&of_rules).flat_map(Query::tests).collect();
    let output = promtool(&series, &tests);
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
    // It would tell.
    for (expression, shown) in [
        ("weir_backends_up == 0", None),
        ("weir_responses_total{status=~\"9..\"}", None),
        ("sum by (status) (weir_connections)", None),
        ("sum by (backend) (weir_backend_responses_total)", Some("status")),
    ] {
        let shown = shown.into_iter().map(str::to_owned).collect();
        let query = Query { expression: expression.to_owned(), shown };
        assert!(!promtool(&series, &query.tests()).status.success(), "{query:?}");
    }
}

/// One certificate lives for 90 days, one for six, both renewed by weir; a third is of a file.
#[test]
fn alerts_of_certificates_fire_when_their_renewal_is_late_and_not_before() {
    let series = |what: &str, name: &str, day: u64| {
        let series = format!("{what}{{name=\"{name}\",job=\"weir\",instance=\"0\"}}");
        json!({ "series": series, "values": format!("{}+0x2160", day * 86_400) })
    };
    let end = "weir_tls_certificate_expiry_timestamp_seconds";
    let input = [
        series(end, "long", 90),
        series(RENEWAL, "long", 60),
        series(end, "short", 6),
        series(RENEWAL, "short", 4),
        // Of a file.
        series(end, "file", 90),
    ];
    let test = |(name, alert, time, fires): (&str, &str, &str, bool)| {
        let of = format!("alertname=\"{alert}\",name=\"{name}\",alertstate=\"firing\"");
        json!({
            "expr": format!("count(ALERTS{{{of}}}) or vector(0)"),
            "eval_time": time,
            "exp_samples": [{ "labels": "{}", "value": u8::from(fires) }],
        })
    };
    let (not_renewed, ends_soon) = ("WeirCertificateNotRenewed", "WeirCertificateEndsSoon");
    let tests = [
        ("long", not_renewed, "74d", false),
        ("long", not_renewed, "76d", true),
        ("short", not_renewed, "4d12h", false),
        ("short", not_renewed, "5d3h", true),
        ("file", not_renewed, "89d", false),
        ("file", ends_soon, "82d", false),
        ("file", ends_soon, "84d", true),
        ("long", ends_soon, "89d", false),
        ("short", ends_soon, "5d3h", false),
    ];
    let tests = tests.map(test);
    let group = json!({ "interval": "1h", "input_series": input, "promql_expr_test": tests });
    let rules = dist("prometheus/rules.yml");
    let output = test_rules(&json!({
        "rule_files": [rules.to_str().unwrap()],
        "evaluation_interval": "1h",
        "tests": [group],
    }));
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&said));
}

/// What `promtool` (Debian package prometheus) says of the rules.
#[test]
fn promtool_takes_the_rules() {
    let mut command = tool("promtool", "prometheus");
    command.args(["check", "rules"]).arg(dist("prometheus/rules.yml"));
    let said = output_of(command);
    assert!(said.contains("SUCCESS") && said.contains("11 rules found"), "{said}");
}

#[test]
fn panels_of_the_dashboard_have_places_of_their_own() {
    let dashboard = dashboard();
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
