//! What the figures depend on stands in the configurations: limits, time-outs, ways of reading files.

use std::path::Path;
use std::time::Duration;

use weir_peers::apache::{Asking, Opening, Workers};
use weir_peers::haproxy::Limit;
use weir_peers::nginx::{AccessLog, FileCache, KeepAlive, LogFormat, Nginx, Proxy, Reading};
use weir_peers::{Certificate, Compression, Content, Options};
use weir_peers::{apache, caddy, h2o, haproxy, lighttpd, nginx};

fn options(content: Content<'static>) -> Options<'static> {
    Options {
        listen: "10.77.0.1:8080".parse().expect("an address"),
        tls: None,
        backlog: 512,
        content,
        directory: Path::new("/srv/run"),
        error_log: Some(Path::new("/srv/run/error.log")),
        critical_only: false,
        user: Some("root"),
        connections: 8192,
        open_files: Some(16_384),
        idle_timeout: Some(15),
        requests_per_connection: Some(65_535),
    }
}

fn files() -> Options<'static> {
    options(Content::Files(Path::new("/srv/files")))
}

fn proxy() -> Options<'static> {
    options(Content::Proxy("127.0.0.1:9000".parse().expect("an address")))
}

/// All lines are there, whatever stands before and after them.
fn has(text: &str, lines: &[&str]) {
    let found: Vec<&str> = text.lines().map(str::trim).collect();
    for line in lines {
        assert!(found.contains(line), "no line `{line}` in\n{text}");
    }
}

#[test]
fn nginx_reads_files_as_it_is_told() {
    let of = |reading| {
        let file_cache = Some(FileCache { files: 2000, inactive: 600, valid: 600, errors: false });
        nginx::configuration(&files(), &Nginx { reading, file_cache, ..Nginx::default() })
    };
    let common = [
        "worker_processes 1;",
        "worker_rlimit_nofile 16384;",
        "error_log /srv/run/error.log;",
        "events { worker_connections 8192; }",
        "access_log off;",
        "keepalive_timeout 15s;",
        "keepalive_requests 65535;",
        "open_file_cache max=2000 inactive=600s;",
        "open_file_cache_valid 600s;",
        "listen 10.77.0.1:8080 backlog=512;",
        "root /srv/files;",
    ];
    for (reading, lines) in [
        (Reading::Sendfile, ["sendfile on;", "tcp_nopush on;"]),
        (Reading::Copy, ["sendfile off;", "output_buffers 2 128k;"]),
        (Reading::Threads, ["sendfile on;", "aio threads;"]),
    ] {
        has(&of(reading), &common);
        has(&of(reading), &lines);
    }
}

#[test]
fn nginx_passes_requests_on_as_it_is_told() {
    let of =
        |proxy_as| nginx::configuration(&proxy(), &Nginx { proxy: proxy_as, ..Nginx::default() });
    let plain = of(Proxy::default());
    has(&plain, &["server 127.0.0.1:9000;", "proxy_pass http://backend;"]);
    assert!(!plain.contains("limit_conn") && !plain.contains("keepalive 256"), "{plain}");
    let expert = of(Proxy {
        keep_alive: Some(KeepAlive::OwnRequests),
        most_requests: Some(100),
        forwarded_fields: false,
    });
    has(&expert, &["limit_conn all 100;", "keepalive 256;", "proxy_http_version 1.1;"]);
}

#[test]
fn nginx_serves_files_and_passes_uploads_on() {
    let uploads = Some("127.0.0.1:9000".parse().expect("an address"));
    let text = nginx::configuration(&files(), &Nginx { uploads, ..Nginx::default() });
    let lines = ["root /srv/files;", "location /upload {", "proxy_pass http://backend;"];
    has(&text, &lines);
}

#[test]
fn servers_compress_what_they_are_told() {
    let nginx =
        |compression| nginx::configuration(&files(), &Nginx { compression, ..Nginx::default() });
    has(&nginx(Compression::OnTheFly(6)), &["gzip on;", "gzip_comp_level 6;"]);
    has(&nginx(Compression::Siblings), &["gzip_static on;"]);
    assert!(!nginx(Compression::Off).contains("gzip"));
    let h2o = |compression| h2o::configuration(&files(), compression);
    has(&h2o(Compression::OnTheFly(1)), &["compress: ON"]);
    has(&h2o(Compression::Siblings), &["file.send-compressed: ON"]);
    assert!(!h2o(Compression::Off).contains("compress"));
}

#[test]
fn nginx_logs_to_a_file_as_it_is_told() {
    let of = |format, buffered| {
        let access_log = Some(AccessLog { file: "/srv/run/log".into(), format, buffered });
        nginx::configuration(&files(), &Nginx { access_log, ..Nginx::default() })
    };
    has(&of(LogFormat::Combined, false), &["access_log /srv/run/log combined;"]);
    let json = of(LogFormat::Json, true);
    has(&json, &["access_log /srv/run/log json buffer=64k flush=1s;"]);
    let format = json.lines().find(|line| line.contains("log_format")).expect("its format");
    assert!(format.contains("escape=json '{\"time\":\"$time_iso8601\","), "{format}");
    assert!(format.ends_with("\"ended\":\"$request_completion\"}';"), "{format}");
}

/// A line of weir's stands in the guide "Logs".
#[test]
fn nginx_logs_the_fields_of_weirs_json_in_their_order() {
    let guide = include_str!("../../../docs/guide/logs.md");
    let line = guide.lines().find(|line| line.starts_with("{\"time\":")).expect("a line in JSON");
    let access_log =
        Some(AccessLog { file: "/srv/run/log".into(), format: LogFormat::Json, buffered: false });
    let json = nginx::configuration(&files(), &Nginx { access_log, ..Nginx::default() });
    let format = json.lines().find(|line| line.contains("log_format")).expect("its format");
    assert_eq!(names(format), names(line));
}

/// The names in an object of JSON without objects in it. No value is followed by a colon.
fn names(object: &str) -> Vec<&str> {
    let before = object.split("\":").map(|text| text.rsplit('"').next().unwrap_or_default());
    let mut names: Vec<&str> = before.collect();
    // What follows the last colon.
    names.pop();
    names
}

#[test]
fn only_a_limit_bounds_the_wait_at_haproxy() {
    let backend = "127.0.0.1:9000".parse().expect("an address");
    let of = |limit| haproxy::configuration(&proxy(), backend, limit);
    let plain = of(None);
    has(&plain, &["maxconn 8192", "nbthread 1", "server one 127.0.0.1:9000"]);
    assert!(!plain.contains("abortonclose"), "{plain}");
    let limit = Limit { connections: 4, longest_wait: Duration::from_millis(100) };
    has(
        &of(Some(limit)),
        &["option abortonclose", "timeout queue 100ms", "server one 127.0.0.1:9000 maxconn 4"],
    );
}

#[test]
fn the_others_have_their_limits_and_time_outs() {
    has(
        &lighttpd::configuration(&files()),
        &[
            "server.max-connections = 8192",
            "server.max-fds = 16384",
            "server.max-keep-alive-idle = 15",
            "server.max-keep-alive-requests = 65535",
            "server.network-backend = \"sendfile\"",
        ],
    );
    has(&lighttpd::configuration(&proxy()), &["server.modules = (\"mod_proxy\")"]);
    let h2o = |options: &Options<'_>| h2o::configuration(options, Compression::Off);
    has(
        &h2o(&files()),
        &["user: root", "num-threads: 1", "max-connections: 8192", "http1-request-timeout: 15"],
    );
    has(&h2o(&proxy()), &["proxy.reverse.url: \"http://127.0.0.1:9000/\""]);
    let prefork = apache::configuration(&files(), Workers::Prefork(350), Opening::Itself);
    has(&prefork, &["MaxRequestWorkers 350", "StartServers 350", "KeepAliveTimeout 15"]);
    let event = apache::configuration(&files(), Workers::Event, Opening::Itself);
    has(&event, &["MaxRequestWorkers 400", "ThreadsPerChild 25", "ListenBacklog 512"]);
    let passing = apache::configuration(&proxy(), Workers::Event, Opening::Itself);
    has(&passing, &["ProxyPass \"/\" \"http://127.0.0.1:9000/\""]);
    has(&caddy::configuration(&files()), &["idle 15s", "root * /srv/files", "file_server"]);
    has(&caddy::configuration(&proxy()), &["reverse_proxy 127.0.0.1:9000"]);
}

#[test]
fn all_have_the_same_tls_as_far_as_they_can_be_told() {
    let certificate = Certificate {
        chain: "/srv/run/certificate.pem".into(),
        key: "/srv/run/certificate.pem.key".into(),
    };
    let secure = Options { tls: Some(&certificate), ..files() };
    has(
        &nginx::configuration(&secure, &Nginx::default()),
        &[
            "listen 10.77.0.1:8080 ssl backlog=512;",
            "ssl_certificate /srv/run/certificate.pem;",
            "ssl_certificate_key /srv/run/certificate.pem.key;",
            "ssl_protocols TLSv1.3;",
            "ssl_ecdh_curve X25519;",
            "ssl_conf_command Ciphersuites TLS_AES_128_GCM_SHA256;",
            "access_log off;",
        ],
    );
    has(
        &h2o::configuration(&secure, Compression::Off),
        &[
            "certificate-file: /srv/run/certificate.pem",
            "key-file: /srv/run/certificate.pem.key",
            // No program that asks for the certificate's status, and none that comes and goes.
            "ocsp-update-interval: 0",
            "neverbleed: OFF",
        ],
    );
    has(
        &caddy::configuration(&secure),
        &[
            "https://:8080 {",
            "tls /srv/run/certificate.pem /srv/run/certificate.pem.key {",
            "protocols tls1.3",
            "curves x25519",
        ],
    );
    let backend = "127.0.0.1:9000".parse().expect("an address");
    let passing = Options { tls: Some(&certificate), ..proxy() };
    has(
        &haproxy::configuration(&passing, backend, None),
        &[
            "ssl-default-bind-options ssl-min-ver TLSv1.3",
            "ssl-default-bind-ciphersuites TLS_AES_128_GCM_SHA256",
            "ssl-default-bind-curves X25519",
            "bind 10.77.0.1:8080 backlog 512 ssl crt /srv/run/certificate.pem alpn http/1.1",
        ],
    );
    let refused = lighttpd::program(&secure).expect_err("it is not measured so");
    assert!(refused.to_string().contains("clear text only"), "{refused}");
}

#[test]
fn apache_comes_to_its_files_as_it_is_told() {
    let cached = ["/srv/files/a".into(), "/srv/files/b c".into()];
    let of = |opening| apache::configuration(&files(), Workers::Worker, opening);
    let itself = of(Opening::Itself);
    has(&itself, &["LoadModule mpm_worker_module /usr/lib/apache2/modules/mod_mpm_worker.so"]);
    assert!(!itself.contains("CacheFile") && !itself.contains("Weir"), "{itself}");
    let lines = ["CacheFile \"/srv/files/a\"", "CacheFile \"/srv/files/b c\""];
    has(&of(Opening::FileCache(&cached)), &lines);
    let (module, socket) = (Path::new("/srv/module.so"), Path::new("/run/opener"));
    let lines =
        ["LoadModule weir_opener_module \"/srv/module.so\"", "WeirOpenerSocket \"/run/opener\""];
    let opener = |asking| of(Opening::Opener { module, socket, asking });
    has(&opener(Asking::WhereItBlocks), &lines);
    assert!(!opener(Asking::WhereItBlocks).contains("WeirOpenerAlways"));
    has(&opener(Asking::Always), &lines);
    has(&opener(Asking::Always), &["WeirOpenerAlways On"]);
}

#[test]
fn all_files_below_a_root_are_found() {
    let root = tempfile::tempdir().expect("a directory");
    std::fs::create_dir_all(root.path().join("d/e")).expect("directories");
    for name in ["d/e/f", "a"] {
        std::fs::write(root.path().join(name), name).expect("a file");
    }
    let files = apache::files_below(root.path()).expect("it can be read");
    assert_eq!(files, [root.path().join("a"), root.path().join("d/e/f")]);
}
