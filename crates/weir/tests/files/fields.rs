//! Shows what heads say of files: types, caching, fields of the configuration, CORS.

use std::fs;

use crate::support::passwords::{HASH, RIGHT};
use crate::support::{Client, Response, Server};
use tempfile::TempDir;

fn site(names: &[&str]) -> TempDir {
    let site = tempfile::tempdir().expect("a directory");
    for name in names {
        let file = site.path().join(name);
        fs::create_dir_all(file.parent().expect("it is below one")).expect("a directory");
        fs::write(file, name).expect("a file");
    }
    site
}

#[test]
fn the_type_is_what_the_file_is_served_for() {
    let types = [
        ("weir.x86_64.rpm", "application/x-rpm"),
        ("weir_amd64.deb", "application/vnd.debian.binary-package"),
        ("segment.ts", "video/mp2t"),
        ("live.m3u8", "application/vnd.apple.mpegurl"),
        ("app.js.map", "application/json"),
        ("weir.tgz", "application/gzip"),
        ("app.wasm", "application/wasm"),
        ("app.mjs", "text/javascript; charset=utf-8"),
        ("site.webmanifest", "application/manifest+json"),
        ("photo.avif", "image/avif"),
        ("weir.tar.zst", "application/zstd"),
        ("README.md", "text/markdown; charset=utf-8"),
    ];
    let site = site(&types.map(|(name, _)| name));
    let plain = Server::site(site.path(), "");
    for (name, media) in types {
        assert_eq!(plain.get(&format!("/{name}")).field("Content-Type"), Some(media), "{name}");
    }
    let keys = "types = { \".TS\" = \"text/typescript\", \".md\" = \"text/x-md\" }";
    let own = Server::site(site.path(), keys);
    for (name, media) in [
        ("segment.ts", "text/typescript"),
        ("README.md", "text/x-md"),
        ("app.wasm", "application/wasm"),
    ] {
        assert_eq!(own.get(&format!("/{name}")).field("Content-Type"), Some(media), "{name}");
    }
}

#[test]
fn caches_are_told_by_the_name_of_the_file() {
    let site = site(&["index.html", "assets/app.3f9a01c2.js", "assets/logo.svg", "a.txt"]);
    let keys = "cache_control = { \"*\" = \"hashed\", \"/assets/*.svg\" = \"max-age=60\" }";
    let server = Server::site(site.path(), keys);
    let mut client = server.connect();
    let year = "max-age=31536000, immutable";
    // The third time they come from memory.
    for _ in 0..3 {
        for (path, value) in [
            ("/", Some("no-cache")),
            ("/assets/app.3f9a01c2.js", Some(year)),
            ("/assets/logo.svg", Some("max-age=60")),
            ("/a.txt", None),
            ("/missing.3f9a01c2.js", None),
        ] {
            assert_eq!(client.get(path).field("Cache-Control"), value, "{path}");
        }
    }
    let tag = client.get("/").field("ETag").unwrap().to_owned();
    let same = client.get_with("/", &format!("If-None-Match: {tag}\r\n"));
    assert_eq!((same.status, same.field("Cache-Control")), (304, Some("no-cache")));
    let part = client.get_with("/assets/app.3f9a01c2.js", "Range: bytes=0-3\r\n");
    assert_eq!((part.status, part.field("Cache-Control")), (206, Some(year)));
    let all = Server::site(site.path(), "cache_control = \"no-store\"");
    assert_eq!(all.get("/a.txt").field("Cache-Control"), Some("no-store"));
}

#[test]
fn what_needs_a_password_is_not_for_shared_caches() {
    let site = site(&["index.html", "app.3f9a01c2.js"]);
    let users = tempfile::tempdir().unwrap();
    let file = users.path().join("users");
    fs::write(&file, format!("me:{HASH}\n")).unwrap();
    for preset in ["hashed", "immutable"] {
        let route = format!(
            "[[route]]\npath = \"/\"\nfiles = true\ncache_control = \"{preset}\"\nbasic_auth = {file:?}"
        );
        let server = Server::site(site.path(), &route);
        let answer = server.connect().get_with("/app.3f9a01c2.js", RIGHT);
        let said = answer.field("Cache-Control").unwrap();
        assert!(answer.status == 200 && said.contains("immutable"), "{preset}: {said}");
        // It would let them (RFC 9111, section 3.5).
        assert!(!said.contains("public"), "{preset}: {said}");
    }
}

#[test]
fn fields_are_set_and_removed_in_all_answers_of_the_site() {
    let site = site(&["a.txt", "sub/index.html"]);
    let keys = "headers = { set = { X-Frame-Options = \"DENY\", Content-Type = \"text/x-all\" }, \
                remove = [\"Last-Modified\"] }";
    let server = Server::site(site.path(), keys);
    let mut client = server.connect();
    for _ in 0..3 {
        for (path, status) in [("/a.txt", 200), ("/sub", 301), ("/missing", 404), ("/sub/", 200)] {
            let answer = client.get(path);
            assert_eq!((answer.status, answer.field("X-Frame-Options")), (status, Some("DENY")));
            assert_eq!(answer.field("Content-Type"), Some("text/x-all"), "{path}");
            assert_eq!(answer.field("Last-Modified"), None, "{path}");
            assert!(answer.field("Content-Length").is_some(), "{path}");
        }
    }
    // Of what caches go by nothing is lost.
    let varying = "precompressed = true\nlisting = true\n\
                   headers = { set = { Vary = \"Cookie\", Content-Type = \"text/x-all\" } }";
    let varying = Server::site(site.path(), varying);
    let mut client = varying.connect();
    for _ in 0..3 {
        let answer = client.get_with("/a.txt", "Accept-Encoding: gzip\r\n");
        assert_eq!(answer.fields("Vary"), ["Accept-Encoding", "Cookie"]);
        let list = client.get("/");
        assert_eq!(list.fields("Content-Type"), ["text/x-all"]);
        assert_eq!(list.fields("Vary"), ["Cookie", "Accept"]);
    }
    // A route says otherwise.
    let routes = format!(
        "{keys}\n[[route]]\npath = \"/sub\"\nfiles = true\nheaders = {{ set = {{ X-Sub = \"1\" }} }}"
    );
    let server = Server::site(site.path(), &routes);
    let answer = server.get("/sub/");
    assert_eq!((answer.field("X-Sub"), answer.field("X-Frame-Options")), (Some("1"), None));
    assert_eq!(server.get("/a.txt").field("X-Frame-Options"), Some("DENY"));
}

/// A request of a script of this origin.
fn ask(client: &mut Client, path: &str, origin: &str) -> Response {
    client.get_with(path, &format!("Origin: {origin}\r\n"))
}

/// What a browser asks before such a request.
fn preflight(client: &mut Client, origin: &str) -> Response {
    client.send(format!(
        "OPTIONS /a.txt HTTP/1.1\r\nHost: weir\r\nOrigin: {origin}\r\n\
         Access-Control-Request-Method: GET\r\nAccess-Control-Request-Headers: x-a, range\r\n\r\n"
    ));
    client.head()
}

const ALLOWED: &str = "Access-Control-Allow-Origin";

#[test]
fn every_origin_may_read_if_the_configuration_says_so() {
    let site = site(&["a.txt"]);
    let server = Server::site(site.path(), "cors = \"*\"\ncors_max_age = \"2h\"");
    let mut client = server.connect();
    for _ in 0..3 {
        for path in ["/a.txt", "/missing"] {
            let answer = ask(&mut client, path, "https://a.example");
            assert_eq!((answer.field(ALLOWED), answer.field("Vary")), (Some("*"), None), "{path}");
        }
        let told = preflight(&mut client, "https://a.example");
        assert_eq!((told.status, told.field(ALLOWED)), (204, Some("*")));
        assert_eq!(told.field("Access-Control-Allow-Methods"), Some("GET, HEAD"));
        assert_eq!(told.field("Access-Control-Allow-Headers"), Some("x-a, range"));
        assert_eq!(told.field("Access-Control-Max-Age"), Some("7200"));
        // There is no body, so there is no length (RFC 9110, section 8.6).
        assert_eq!((told.field("Content-Length"), told.field("Content-Type")), (None, None));
    }
    // Others are what they are.
    client.send("OPTIONS /a.txt HTTP/1.1\r\nHost: weir\r\n\r\n");
    assert_ne!(client.response().field("Access-Control-Allow-Methods"), Some("GET, HEAD"));
}

#[test]
fn of_several_origins_each_is_told_itself_and_others_nothing() {
    let site = site(&["a.txt"]);
    let keys = "cors = [\"https://a.example\", \"http://localhost:8080\"]\ncors_methods = \"GET\"";
    let server = Server::site(site.path(), keys);
    let mut client = server.connect();
    for _ in 0..3 {
        for origin in ["https://a.example", "http://localhost:8080"] {
            for path in ["/a.txt", "/missing"] {
                let answer = ask(&mut client, path, origin);
                assert_eq!(answer.field(ALLOWED), Some(origin), "{path}");
                assert!(answer.fields("Vary").contains(&"Origin"), "{}", answer.head);
            }
            let told = preflight(&mut client, origin);
            assert_eq!((told.status, told.field(ALLOWED)), (204, Some(origin)));
            assert_eq!(told.field("Access-Control-Allow-Methods"), Some("GET"));
        }
        for origin in
            ["https://b.example", "https://a.example.evil", "null", "https://a.example:444"]
        {
            let answer = ask(&mut client, "/a.txt", origin);
            assert_eq!((answer.status, answer.field(ALLOWED)), (200, None), "{origin}");
            assert!(answer.fields("Vary").contains(&"Origin"), "caches keep them apart");
            let told = preflight(&mut client, origin);
            assert_eq!(told.field(ALLOWED), None);
            assert_eq!(told.field("Access-Control-Allow-Methods"), None);
        }
    }
    assert_eq!(client.get("/a.txt").field(ALLOWED), None);
}
