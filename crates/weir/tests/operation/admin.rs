//! Shows that the admin address gives figures and health to operators and nothing to the public.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::process::Stdio;

use crate::support::{
    Backend, Client, Metrics, Refusing, Server, Then, chromium_command, eventually, route, tool,
    weir,
};
use rustix::process::Signal;

/// What a metric's name ends in beside the name that HELP and TYPE say.
const SUFFIXES: [&str; 5] = ["_total", "_bucket", "_sum", "_count", ""];

#[test]
fn metrics_are_open_metrics() {
    let server = Server::builtin(&["--uplink", "10mbit"]);
    assert_eq!(server.get("/files/1kb.bin").status, 200);
    assert_eq!(server.get("/missing").status, 404);
    let accept = "Accept: application/openmetrics-text\r\n";
    let answer = Client::connect(server.admin()).get_with("/metrics", accept);
    let media = answer.field("Content-Type");
    assert_eq!(media, Some("application/openmetrics-text; version=1.0.0; charset=utf-8"));
    let text = answer.text();
    assert!(text.ends_with("# EOF\n") && text.matches("# EOF").count() == 1);
    let mut types = HashMap::new();
    let mut helped = HashSet::new();
    let mut series = HashSet::new();
    for line in text.lines().filter(|line| *line != "# EOF") {
        if let Some(rest) = line.strip_prefix("# ") {
            let mut words = rest.splitn(3, ' ');
            let (kind, name, what) = (words.next(), words.next().unwrap(), words.next());
            match kind {
                Some("HELP") => assert!(helped.insert(name), "HELP of {name} comes twice"),
                Some("TYPE") => assert_eq!(types.insert(name, what), None, "TYPE of {name}"),
                Some("UNIT") => assert!(name.ends_with(what.unwrap()), "{line}"),
                _ => panic!("no such comment: {line}"),
            }
            assert!(name.starts_with("weir_") || name.starts_with("process_"), "{line}");
            assert!(what.is_some_and(|what| !what.is_empty()), "{line}");
            continue;
        }
        let (name_and_labels, value) = line.rsplit_once(' ').unwrap();
        assert!(value.parse::<f64>().is_ok(), "{line}");
        assert!(series.insert(name_and_labels), "{name_and_labels} comes twice");
        let (name, labels) = name_and_labels.split_once('{').unwrap_or((name_and_labels, "}"));
        assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'), "{line}");
        let labels = labels.strip_suffix('}').unwrap();
        for label in labels.split(',').filter(|label| !label.is_empty()) {
            let (key, value) = label.split_once('=').unwrap();
            assert!(key.chars().all(|c| c.is_ascii_lowercase()), "{line}");
            assert!(value.len() >= 2 && value.starts_with('"') && value.ends_with('"'), "{line}");
        }
        let known = |suffix: &&str| {
            name.strip_suffix(*suffix).is_some_and(|family| types.contains_key(family))
        };
        assert!(SUFFIXES.iter().any(known), "{line} has no TYPE before it");
    }
    assert_eq!(helped, types.keys().copied().collect());
    let metrics = server.metrics();
    assert_eq!(metrics.value("weir_responses_total", "{status=\"404\"}"), Some(1.0));
    assert!(metrics.sum("weir_response_bytes_total") > 1000.0);
    assert!(metrics.sum("weir_response_time_seconds_count") >= 2.0);
}

#[test]
fn the_process_and_the_program_are_told() {
    let server = Server::builtin(&[]);
    let before = server.metrics();
    assert_eq!(server.get("/files/1mb.bin").status, 200);
    let metrics = server.metrics();
    let version = format!("version=\"{}\"", env!("CARGO_PKG_VERSION"));
    let build = metrics.samples().find(|(name, ..)| *name == "weir_build_info").unwrap();
    assert!(build.1.contains(&version) && build.1.contains("commit=\"") && build.2 == 1.0);
    let cpu = |metrics: &Metrics| metrics.sum("process_cpu_seconds_total");
    assert!(0.0 < cpu(&before) && cpu(&before) < cpu(&metrics));
    let resident = metrics.sum("process_resident_memory_bytes");
    assert!(resident > 1e6 && resident < 1e9, "{resident}");
    let (open, most) = (metrics.sum("process_open_fds"), metrics.sum("process_max_fds"));
    assert!(3.0 < open && open < most, "{open} of {most}");
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs_f64();
    let up_for = now - metrics.sum("process_start_time_seconds");
    assert!((0.0..600.0).contains(&up_for), "{up_for} s");
}

#[test]
fn answers_of_backends_are_counted_by_status_with_their_times() {
    let backend = Backend::new(|call| match call.asked.target() {
        "/missing" => {
            call.send("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
            Then::Keep
        }
        _ => call.ok("yes"),
    });
    let server = Server::before(&backend, &[]);
    for path in ["/", "/missing", "/again"] {
        server.get(path);
    }
    let metrics = server.metrics();
    let count = |status: u16| {
        let labels = format!("{{backend=\"{}\",status=\"{status}\"}}", backend.url);
        metrics.value("weir_backend_responses_total", &labels)
    };
    assert_eq!((count(200), count(404), count(502)), (Some(2.0), Some(1.0), None));
    let of_backend = format!("{{backend=\"{}\"}}", backend.url);
    let times = metrics.value("weir_backend_response_time_seconds_count", &of_backend);
    assert_eq!(times, Some(3.0));
    assert!(metrics.sum("weir_backend_response_time_seconds_sum") > 0.0);
}

#[test]
fn readiness_can_depend_on_a_route() {
    let refusing = Refusing::new();
    let app = route("/app", &[&refusing.url()]) + "max_fails = 1\nretries = 0\n";
    let server = Server::configured(&format!("ready_routes = \"/app\"\n{app}"), &[]);
    let ready = || Client::connect(server.admin()).get("/readyz");
    assert_eq!(ready().status, 200);
    assert_eq!(server.get("/app").status, 502);
    eventually("the backend is marked unhealthy", || ready().status == 503);
    assert_eq!(ready().text(), "no backend of /app is healthy\n");
    // It is alive, and a server whose readiness depends on no route is ready.
    assert_eq!(Client::connect(server.admin()).get("/healthz").status, 200);
    let other = Server::configured(&app, &[]);
    assert_eq!(other.get("/app").status, 502);
    other.wait_for_metric("weir_backend_up", 0.0);
    assert_eq!(Client::connect(other.admin()).get("/readyz").status, 200);
}

/// What `promtool` (Debian package prometheus) finds in what readers get who ask for nothing else.
#[test]
fn promtool_finds_nothing_to_mend() {
    let backend = Backend::saying("yes");
    let server = Server::before(&backend, &["--uplink", "10mbit"]);
    assert_eq!(server.get("/").text(), "yes");
    for accept in ["", "Accept: text/plain\r\n", "Accept: text/html, */*\r\n"] {
        let answer = Client::connect(server.admin()).get_with("/metrics", accept);
        let media = answer.field("Content-Type");
        assert_eq!(media, Some("text/plain; version=0.0.4; charset=utf-8"), "{accept}");
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("metrics");
        std::fs::write(&file, answer.body).unwrap();
        let mut command = tool("promtool", "prometheus");
        command.args(["check", "metrics"]).stdin(std::fs::File::open(file).unwrap());
        let found = command.output().unwrap();
        let said = String::from_utf8_lossy(&found.stderr);
        assert!(found.status.success() && said.is_empty(), "{said}");
    }
    let metrics = server.metrics();
    let of_backend = format!("{{backend=\"{}\"}}", backend.url);
    assert_eq!(metrics.value("weir_backend_up", &of_backend), Some(1.0));
}

#[test]
fn every_figure_of_a_scrape_is_documented() {
    let documented = include_str!("../../../../docs/metrics.md");
    let backend = Backend::saying("yes");
    let server = Server::before(&backend, &["--uplink", "10mbit"]);
    assert_eq!(server.get("/").text(), "yes");
    // Devices are told of in kernel mode alone.
    let in_kernel = Server::builtin(&["--uplink", "kernel", "--uplink-device", "lo"]);
    let text = [&server, &in_kernel]
        .map(|server| Client::connect(server.admin()).get("/metrics").text())
        .concat();
    let families = text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split_once(' '));
    let families: BTreeSet<(&str, &str)> = families.collect();
    for (name, kind) in &families {
        assert!(documented.contains(&format!("| `{name}` | {kind} |")), "{name}");
    }
    // Where no certificates are served, nothing is told of them.
    let count = |begin: &str| documented.matches(&format!("| `{begin}")).count();
    let without_certificates = count("weir_") - count("weir_tls_certificate");
    assert_eq!(without_certificates + count("process_"), families.len());
}

#[test]
fn what_the_uplink_carries_is_told_beside_its_rate() {
    let server = Server::builtin(&["--uplink", "8mbit"]);
    assert_eq!(server.get("/files/100kb.bin").body.len(), 100_000);
    let metrics = server.metrics();
    assert_eq!(metrics.sum("weir_uplink_configured_bytes_per_second"), 1e6);
    // Heads, packets and acknowledgements, and nothing that is not on the wire.
    let carried = metrics.sum("weir_uplink_used_bytes_total");
    assert!((100_000.0..120_000.0).contains(&carried), "{carried} bytes");
    eventually("what was carried is in the rate", || {
        server.metrics().sum("weir_uplink_used_bytes_per_second") > 0.0
    });
}

/// Without bands, and without a cap that would hold responses back in weir.
#[test]
fn in_kernel_mode_it_is_told_what_is_known() {
    let kernel = ["--uplink", "kernel", "--uplink-device", "lo", "--uplink-kernel-cap", "off"];
    let server = Server::builtin(&kernel);
    assert_eq!(server.get("/files/100kb.bin").body.len(), 100_000);
    // Head and body, and not what packets add.
    let sent = || server.metrics().sum("weir_uplink_used_bytes_total");
    eventually("what was sent is counted", || (100_000.0..101_000.0).contains(&sent()));
    assert_eq!(server.metrics().sum("weir_uplink_configured_bytes_per_second"), 0.0);
    let mut reads_nothing = server.connect();
    reads_nothing.ask("/files/100mb.bin");
    eventually("what its client has not acknowledged is told", || {
        server.metrics().sum("weir_uplink_bytes_in_flight") > 0.0
    });
    let text = Client::connect(server.admin()).get("/").text();
    assert!(text.contains("policy bands, uplink in the kernel"), "{text}");
    assert!(text.contains("At present they do not"), "{text}");
}

/// Who scrapes is no client: a site that nobody asks has answered nothing.
#[test]
fn operators_are_not_counted_among_clients() {
    let server = Server::builtin(&[]);
    let mut admin = Client::connect(server.admin());
    for path in ["/metrics", "/nowhere", "/"] {
        admin.get(path);
    }
    let metrics = server.metrics();
    for name in ["weir_connections", "weir_accepted_connections_total", "weir_responses_total"] {
        assert_eq!(metrics.sum(name), 0.0, "{name}");
    }
}

#[test]
fn the_page_shows_who_waits_and_what_was_won() {
    let server = Server::builtin(&["--uplink", "1mbit"]);
    let page = || Client::connect(server.admin()).get("/");
    assert_eq!(page().field("Content-Type"), Some("text/html; charset=utf-8"));
    // A row of the table of those who wait: size and number.
    let waits = |size: &str, count: usize| {
        page().text().contains(&format!("<tr><td>{size}</td><td>{count}</td>"))
    };
    assert!(waits("to 1 MB", 0) && waits("above 10 MB", 0), "{}", page().text());
    let mut large: Vec<Client> = (0..3).map(|_| server.connect()).collect();
    for client in &mut large {
        client.ask("/files/100mb.bin");
    }
    eventually("the large ones wait", || waits("above 10 MB", 3) && waits("to 1 MB", 0));
    let mut small = server.connect();
    assert_eq!(small.get("/files/100kb.bin").body.len(), 100_000);
    // With a fourth of the line it would have ended later.
    let won = "<td>to 1 MB</td><td>1</td><td class=\"more\">1</td>";
    eventually("the small one has won", || page().text().contains(won));
    let text = page().text();
    assert!(text.contains("policy protective, uplink 1 Mbit/s"), "{text}");
    for outside in ["src=", "@import", "url(", "https://"] {
        assert!(!text.contains(outside), "the page needs {outside}");
    }
    let plain = Server::builtin(&[]);
    let text = Client::connect(plain.admin()).get("/").text();
    assert!(text.contains("No uplink is configured"), "{text}");
}

/// The page in a browser, as a backend that counts how often it is asked for.
#[test]
fn the_page_asks_for_itself_anew() {
    let server = Server::builtin(&["--uplink", "1mbit"]);
    let page = Client::connect(server.admin()).get("/").text();
    let backend = Backend::new(move |call| call.ok_with("Content-Type: text/html\r\n", &page));
    let directory = tempfile::tempdir().unwrap();
    let mut command = chromium_command(directory.path());
    command.arg(&backend.url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut browser = command.spawn().unwrap();
    let asked = || backend.targets().iter().filter(|target| *target == "/").count();
    eventually("it is asked for again", || asked() >= 3);
    browser.kill().unwrap();
    browser.wait().unwrap();
    // Its icon is in it.
    assert_eq!(backend.targets().len(), asked(), "{:?}", backend.targets());
}

#[test]
fn health_is_for_operators_only() {
    let server = Server::builtin(&[]);
    let mut admin = Client::connect(server.admin());
    for (path, status) in [
        ("/healthz", 200),
        ("/readyz", 200),
        ("/metrics", 200),
        ("/", 200),
        ("/files/1kb.bin", 404),
        ("/metrics/", 404),
    ] {
        assert_eq!(admin.get(path).status, status, "{path} at the admin address");
    }
    admin.send("POST /metrics HTTP/1.1\r\nHost: weir\r\n\r\n");
    assert_eq!(admin.response().status, 405);
    let mut public = server.connect();
    for path in ["/metrics", "/healthz", "/readyz"] {
        assert_eq!(public.get(path).status, 404, "{path} at the public address");
    }
}

#[test]
fn there_is_no_admin_address_unless_it_is_named() {
    let mut command = weir();
    command.args(["serve", "--listen", "127.0.0.1:0", "--access-log", "off"]);
    let server = Server::run(command, 1, false);
    assert_eq!(server.get("/").status, 200);
    assert!(!server.log().iter().any(|line| line.contains("metrics")), "{:#?}", server.log());
}

#[test]
fn the_gauges_say_what_waits_and_who_is_connected() {
    let server = Server::builtin(&["--uplink", "1mbit", "--policy", "fifo"]);
    let mut clients: Vec<Client> = (0..5).map(|_| server.connect()).collect();
    server.wait_for_metric("weir_connections", 5.0);
    for client in &mut clients {
        client.ask("/files/1mb.bin");
    }
    server.wait_for_metric("weir_uplink_waiting_jobs", 5.0);
    let metrics = server.metrics();
    let of_size =
        |size: &str| metrics.value("weir_uplink_waiting_jobs", &format!("{{size=\"{size}\"}}"));
    assert_eq!((of_size("to 10 MB"), of_size("to 1 MB")), (Some(5.0), Some(0.0)));
    clients.truncate(1);
    server.wait_for_metric("weir_uplink_waiting_jobs", 1.0);
    eventually("the others are gone", || server.metrics().sum("weir_connections") <= 1.0);
}

/// A load balancer asks again and again, each time anew: it must hear that the server is stopping.
#[test]
fn a_server_that_stops_is_alive_and_not_ready() {
    let mut server = Server::builtin(&["--uplink", "8mbit"]);
    let mut client = server.connect();
    client.ask("/files/1mb.bin");
    assert_eq!(client.head().status, 200);
    server.signal(Signal::TERM);
    eventually("the server has heard of it", || {
        server.log().iter().any(|line| line.contains("stopping"))
    });
    let admin = server.admin();
    let ready = std::net::TcpStream::connect(admin).map(|_| Client::connect(admin).get("/readyz"));
    assert_eq!(ready.map(|answer| answer.status).ok(), Some(503), "/readyz while stopping");
    assert_eq!(Client::connect(admin).get("/healthz").status, 200);
    assert_eq!(Client::connect(admin).get("/metrics").status, 200);
    assert_eq!(client.read(1_000_000).len(), 1_000_000);
    drop(client);
    assert_eq!(server.wait().code(), Some(0));
}
