//! Routes as they are read from a file and from flags.

mod refused;

use std::time::Duration;

use http::HeaderValue;
use http::StatusCode;
use weir_sched::balance::Balance;
use weir_sched::{BackendOrder, CallLimit};

use super::read::key_names;
use super::*;
use crate::config::settings::ServerKeys;
use crate::config::{Config, Settings, parse};

/// The routes of a file.
fn routes(text: &str) -> Vec<RouteConfig> {
    Config::from_settings(parse(text).unwrap()).unwrap().routes
}

/// The only route of a file, which has backends.
fn proxied(text: &str) -> ProxyConfig {
    let mut routes = routes(text);
    assert_eq!(routes.len(), 1, "{routes:?}");
    match routes.remove(0).action {
        Action::Proxy(proxy) => *proxy,
        other => panic!("{other:?}"),
    }
}

/// Settings as flags give them.
fn flags(keys: ServerKeys) -> Settings {
    Settings { keys, ..Settings::default() }
}

fn error(text: &str) -> String {
    let config = parse(text).and_then(Config::from_settings);
    config.map(|config| format!("no error: {:?}", config.routes)).unwrap_or_else(|e| e.to_string())
}

/// A route to a backend, which begins in line 1 and ends in line 3.
const ROUTE: &str = "[[route]]\npath = \"/app\"\nbackends = \"http://127.0.0.1:9000\"\n";

#[test]
fn every_key_is_read() {
    let text = r#"
        [[route]]
        host = "App.Example.org"
        path = "/app/"
        priority = 7
        allow = ["10.0.0.0/8", "2001:db8::1"]
        deny = "10.1.0.0/16"
        basic_auth = "/etc/passwords"
        basic_auth_realm = "Staff \"only\""
        limit_requests = "30/m"
        limit_burst = 4
        backends = ["http://127.0.0.1:9000", "http://[::1]", "https://Name:81/", "unix:/run/app.sock"]
        weights = [3, 1, 1, 1000]
        backend_ca = "/etc/ca.pem"
        backend_name = "App.Internal"
        backend_certificate = "/etc/weir.pem"
        backend_key = "/etc/weir.key"
        balance = "two-choices"
        backend_limit = 12
        backend_order = "edf"
        cancels_on_disconnect = true
        queue_timeout = "3s"
        max_queue = 99
        disconnect_detection = "event"
        detect_when = "overload"
        half_closed = "probe"
        connect-timeout = "1s"
        first_byte_timeout = "2s"
        idle_timeout = 4
        total_timeout = "5m"
        keep_alive = "6s"
        retries = 0
        max_fails = 8
        fail_timeout = "9s"
        rewrite = "/v2"
        host_header = "app.internal:8080"
        forwarded = "both"
        trust_forwarded = true
        request_headers = { set = { "X-B" = " two ", "x-a" = "one" }, remove = ["Cookie"] }
        buffer = "64kib"
        buffering = false
        overflow = "spill"
        max_spill = "5mb"
        max_body = "10mb"
        compress = true

        [route.response_headers]
        remove = ["Server"]

        [route.health]
        path = "/ok?deep=1"
        interval = "10s"
        timeout = "1s"
        healthy = 1
        unhealthy = 2
    "#;
    let routes = routes(text);
    let [RouteConfig { host, path, priority, access, action: Action::Proxy(proxy) }] = &routes[..]
    else {
        panic!("{routes:?}")
    };
    assert_eq!((host.as_deref(), path.as_str(), *priority), (Some("app.example.org"), "/app", 7));
    let printed: Vec<String> =
        access.allow.iter().chain(&access.deny).map(ToString::to_string).collect();
    assert_eq!(printed, ["10.0.0.0/8", "2001:db8::1/128", "10.1.0.0/16"]);
    assert_eq!(access.basic_auth.as_deref(), Some(std::path::Path::new("/etc/passwords")));
    assert_eq!(access.basic_auth_realm, "Staff \"only\"");
    let rate = access.limit_requests.map(|rate| rate.per_second());
    assert_eq!((rate, access.limit_burst), (Some(0.5), Some(4)));
    assert_eq!((proxy.weights.as_deref(), proxy.buffering), (Some(&[3, 1, 1, 1000][..]), false));
    let printed: Vec<String> = proxy.backends.iter().map(ToString::to_string).collect();
    let expected =
        ["http://127.0.0.1:9000", "http://[::1]:80", "https://name:81", "unix:/run/app.sock"];
    assert_eq!(printed, expected);
    let path = std::path::Path::new;
    let tls = BackendTls {
        ca: Some(path("/etc/ca.pem")),
        name: Some("app.internal"),
        identity: Some((path("/etc/weir.pem"), path("/etc/weir.key"))),
    };
    assert_eq!(proxy.tls(), tls);
    assert_eq!(proxy.balance, Balance::TwoChoices);
    let gate = proxy.gate();
    assert_eq!((gate.limit, gate.order), (CallLimit::Fixed(12), BackendOrder::Edf));
    assert_eq!((proxy.cancels_on_disconnect, gate.max_queue), (true, 99));
    let seconds = Duration::from_secs;
    assert_eq!(gate.queue_timeout, seconds(3));
    let detection = Detection { by: DisconnectDetection::Event, when: DetectWhen::Overload };
    assert_eq!(proxy.detection(), detection);
    assert_eq!(proxy.half_closed, HalfClosed::Probe);
    assert_eq!((proxy.connect_timeout, proxy.first_byte_timeout), (seconds(1), seconds(2)));
    assert_eq!((proxy.idle_timeout, proxy.total_timeout), (seconds(4), Some(seconds(300))));
    assert_eq!((proxy.keep_alive, proxy.retries), (seconds(6), 0));
    assert_eq!((proxy.max_fails, proxy.fail_timeout), (8, seconds(9)));
    assert_eq!((proxy.strip_prefix, proxy.prefix_becomes()), (false, Some("/v2")));
    assert_eq!(proxy.host_header, HostHeader::Fixed(HeaderValue::from_static("app.internal:8080")));
    assert_eq!((proxy.forwarded, proxy.trust_forwarded), (Forwarded::Both, true));
    assert_eq!((proxy.buffer, proxy.overflow), (65_536, Overflow::Spill));
    assert_eq!(proxy.max_spill, 5_000_000);
    assert_eq!(proxy.max_body, Some(10_000_000));
    assert!(proxy.compress && routes[0].compresses());
    let set: Vec<(&str, &[u8])> =
        proxy.request_headers.set.iter().map(|(n, v)| (n.as_str(), v.as_bytes())).collect();
    assert_eq!(set, [("x-a", &b"one"[..]), ("x-b", &b"two"[..])]);
    assert_eq!(proxy.request_headers.remove, ["cookie"]);
    assert!(proxy.response_headers.set.is_empty());
    assert_eq!(proxy.response_headers.remove, ["server"]);
    let health = HealthCheck {
        path: "/ok?deep=1".to_owned(),
        interval: seconds(10),
        timeout: seconds(1),
        healthy: 1,
        unhealthy: 2,
    };
    assert_eq!(proxy.health, Some(health));
}

/// A key that is read into nothing would not be noticed above if its value were the default.
#[test]
fn the_test_above_has_every_key() {
    let source = include_str!("mod.rs");
    let keys = key_names();
    assert!(keys.len() > 30, "{keys:?}");
    // Those about files have a test of their own.
    let of_files = crate::config::site::FileKeys::names();
    let elsewhere = ["files", "root", "redirect", "status", "strip_prefix"];
    for key in keys.iter().filter(|key| !elsewhere.contains(key) && !of_files.contains(key)) {
        let written = [format!("\n        {key} = "), format!("[route.{key}]")];
        let dashed = format!("\n        {} = ", key.replace('_', "-"));
        let found = written.iter().chain([&dashed]).any(|text| source.contains(text.as_str()));
        assert!(found, "{key} is not tested");
    }
}

#[test]
fn what_is_not_said_has_its_default() {
    let proxy = proxied(ROUTE);
    assert_eq!(format!("{proxy:?}"), format!("{:?}", ProxyConfig::to(proxy.backends.clone())));
    assert_eq!(proxy.tls(), BackendTls::default());
    assert_eq!((proxy.buffer, proxy.retries, proxy.health), (1_000_000, 1, None));
    assert_eq!(proxy.backend_limit, CallLimit::Auto);
    let health = proxied(&format!("{ROUTE}health = {{}}")).health.unwrap();
    assert_eq!((health.path.as_str(), health.healthy, health.unhealthy), ("/", 2, 3));
    let (five, two) = (Duration::from_secs(5), Duration::from_secs(2));
    assert_eq!((health.interval, health.timeout), (five, two));
    let health = proxied(&format!("{ROUTE}health = {{ interval = \"1s\" }}")).health.unwrap();
    assert_eq!(health.timeout, Duration::from_secs(1));
    assert_eq!(proxied(&format!("{ROUTE}strip-prefix = true")).prefix_becomes(), Some("/"));
}

#[test]
fn other_actions() {
    let text = r#"
        root = "."
        [[route]]
        path = "/old"
        redirect = "https://www.example.org/new/{rest}"
        status = 302
        [[route]]
        host = "*.example.org"
        path = "/"
        redirect = "/fixed?x=1"
        [[route]]
        path = "/static"
        files = true
    "#;
    let routes = routes(text);
    let [old, wild, files, rest] = &routes[..] else { panic!("{routes:?}") };
    let Action::Redirect { to, status: StatusCode::FOUND } = &old.action else { panic!("{old:?}") };
    assert_eq!(to, "https://www.example.org/new/{rest}");
    let Action::Redirect { to, status: StatusCode::PERMANENT_REDIRECT } = &wild.action else {
        panic!("{wild:?}")
    };
    assert_eq!((to.as_str(), wild.host.as_deref()), ("/fixed?x=1", Some("*.example.org")));
    assert!(matches!(files.action, Action::Files));
    assert!(matches!(rest.action, Action::Files));
    assert_eq!((rest.host.as_deref(), rest.path.as_str(), rest.priority), (None, "/", 100));
}

#[test]
fn clients_that_left_are_detected_as_the_route_says() {
    let text =
        "[[route]]\npath = \"/\"\nbackends = [\"http://a\"]\ndisconnect_detection = \"tcp-info\"\n";
    let detection = Detection { by: DisconnectDetection::TcpInfo, when: DetectWhen::Always };
    assert_eq!(proxied(text).detection(), detection);
}

#[test]
fn flags_are_routes_too() {
    let flag = |text: &str| text.parse::<ProxyFlag>();
    let both = flag("/api/=http://10.0.0.1:9000,unix:/run/a=b.sock").unwrap();
    assert_eq!((both.path.as_str(), both.backends.len()), ("/api", 2));
    for (text, message) in [
        ("http://127.0.0.1:9000", "is not a path and its backends"),
        ("api=http://a", "does not begin with a slash"),
        ("/=", "not the address of a backend"),
        ("/=http://a,", "not the address of a backend"),
        ("/=http://a,http://a:80", "named twice"),
    ] {
        let error = flag(text).unwrap_err();
        assert!(error.contains(message), "{text}: {error}");
    }
    let twice = flags(ServerKeys {
        proxy: Some(vec![flag("/=http://a").unwrap(), flag("/=http://b").unwrap()]),
        ..ServerKeys::default()
    });
    let error = Config::from_settings(twice).unwrap_err().to_string();
    assert!(error.starts_with("`proxy` names \"/\" twice"), "{error}");
}

#[test]
fn flags_win_over_tables_and_say_what_tables_leave_open() {
    let file = parse(&format!(
        "backend_order = \"fifo\"\n{ROUTE}backend_limit = 3\n{ROUTE}host = \"a\"\n\n\
         [[route]]\npath = \"/b\"\nredirect = \"/\""
    ));
    let flags = flags(ServerKeys {
        proxy: Some(vec!["/app=http://b".parse().unwrap(), "/c=http://c".parse().unwrap()]),
        backend_limit: Some(CallLimit::Fixed(9)),
        ..ServerKeys::default()
    });
    let config = Config::from_settings(flags.over(file.unwrap())).unwrap();
    let seen: Vec<_> = config
        .routes
        .iter()
        .map(|route| {
            let gate = match &route.action {
                Action::Proxy(proxy) => Some((proxy.backend_limit, proxy.backend_order)),
                Action::Files | Action::Directory(_) | Action::Redirect { .. } => None,
            };
            (route.host.as_deref(), route.path.as_str(), gate)
        })
        .collect();
    let of_flags = Some((CallLimit::Fixed(9), BackendOrder::Fifo));
    let expected = [
        (None, "/app", of_flags),
        (None, "/c", of_flags),
        (Some("a"), "/app", of_flags),
        (None, "/b", None),
    ];
    assert_eq!(seen, expected);
    let own = proxied(&format!("backend_limit = 9\n{ROUTE}backend_limit = 3"));
    assert_eq!(own.backend_limit, CallLimit::Fixed(3));
}

#[test]
fn what_no_route_matches_is_of_the_root_or_of_nobody() {
    let config = |text: &str| Config::from_settings(parse(text).unwrap()).unwrap();
    assert!(config("").routes.is_empty() && config("").warnings().is_empty());
    assert!(config("root = \".\"").routes.is_empty());
    let nobody = config(ROUTE);
    assert_eq!((nobody.routes.len(), nobody.warnings().len()), (1, 1));
    let root = config(&format!("root = \".\"\n{ROUTE}"));
    assert_eq!((root.routes.len(), root.warnings().len()), (2, 0));
    let all = config("root = \".\"\nproxy = \"/=http://a\"");
    assert_eq!((all.routes.len(), all.warnings().len()), (1, 0));
}

#[test]
fn every_kind_of_route_can_be_guarded() {
    let keys = "allow = \"10.0.0.0/8\"\nbasic_auth = \"users\"\nlimit_requests = 5\n";
    let kinds = ["files = true", "root = \".\"", "redirect = \"/\"", "backends = \"http://a\""];
    for (number, kind) in kinds.into_iter().enumerate() {
        let text = format!(
            "root = \".\"\nlimit_ipv4_prefix = 24\n[[route]]\npath = \"/{number}\"\n{kind}\n{keys}"
        );
        let routes = routes(&text);
        let [guarded, rest] = &routes[..] else { panic!("{routes:?}") };
        assert_eq!((guarded.access.allow.len(), guarded.access.client_width.ipv4), (1, 24));
        assert_eq!(format!("{:?}", rest.access), format!("{:?}", RouteAccess::default()));
    }
}

#[test]
fn sockets_and_certificates_are_beside_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("weir.toml");
    let text = "proxy = \"/=unix:a.sock\"\n[[route]]\npath = \"/b\"\n\
                backends = [\"unix:/b.sock\", \"https://b\"]\nbackend_ca = \"ca.pem\"\n\
                backend_certificate = \"/weir.pem\"\nbackend_key = \"weir.key\"\nbasic_auth = \"users\"";
    std::fs::write(&file, text).unwrap();
    let settings = crate::config::read(&file).unwrap();
    let users = settings.routes[0].config.access.basic_auth.as_deref();
    assert_eq!(users, Some(&*directory.path().join("users")));
    let near = BackendAddress::Unix(directory.path().join("a.sock"));
    assert_eq!(settings.keys.proxy.as_ref().unwrap()[0].backends, [near]);
    let far = BackendAddress::Unix("/b.sock".into());
    let Action::Proxy(proxy) = &settings.routes[0].config.action else { panic!("{settings:?}") };
    assert_eq!(proxy.backends[0], far);
    let (ca, key) = (directory.path().join("ca.pem"), directory.path().join("weir.key"));
    let identity = Some((std::path::Path::new("/weir.pem"), &*key));
    assert_eq!(proxy.tls(), BackendTls { ca: Some(&ca), name: None, identity });
    let long = format!("proxy = \"/=unix:/{}\"", "x".repeat(107));
    let error = error(&long);
    assert!(error.contains("longer than 107 bytes"), "{error}");
}

#[test]
fn a_certificate_without_a_key_has_it_in_its_own_file() {
    let text =
        "[[route]]\npath = \"/\"\nbackends = \"https://a\"\nbackend_certificate = \"/a.pem\"";
    let file = std::path::Path::new("/a.pem");
    assert_eq!(proxied(text).tls().identity, Some((file, file)));
}

#[test]
fn routes_to_one_backend_over_tls_agree_about_it() {
    let route = |path: &str, keys: &str| {
        format!("[[route]]\npath = \"{path}\"\nbackends = [\"https://a\", \"http://b\"]\n{keys}\n")
    };
    let ca = "backend_ca = \"/ca.pem\"";
    assert_eq!(routes(&format!("{}{}", route("/", ca), route("/x", ca))).len(), 2);
    let differ = error(&format!("{}{}", route("/", ca), route("/x", "")));
    assert!(
        differ.starts_with("routes to the backend https://a:443 differ in `backend_ca`"),
        "{differ}"
    );
    let flag = error(&format!("proxy = \"/y=https://a\"\n{}", route("/", ca)));
    assert!(flag.contains("write the same in all of them"), "{flag}");
}
