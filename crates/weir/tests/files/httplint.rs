//! Shows that httplint, which knows the rules of HTTP, finds nothing bad in any kind of response. The test
//! needs httplint in target/tools (`./test --install`).

use std::fs;
use std::io::Write;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use flate2::Compression;
use flate2::write::GzEncoder;
use rcgen::{CertifiedKey, generate_simple_self_signed};

use crate::coding::{CODINGS, compressed, text};
use crate::support::passwords::{HASH, RIGHT};
use crate::support::{Backend, Client, Refusing, Response, Server, Then};
use crate::support::{asking, curl, end_of, held, noise, one_at_a_time, route};

/// Heads of requests, and what came for each. httplint sees them all at once: it takes longer to start
/// than to look.
#[derive(Default)]
struct Seen(Vec<(String, Vec<u8>)>);

/// The head of a request: this line and these fields, each with its CRLF.
fn head(line: &str, fields: &str) -> String {
    format!("{line} HTTP/1.1\r\nHost: weir\r\n{fields}\r\n")
}

impl Seen {
    fn note(&mut self, request: &str, answer: &Response) {
        self.0.push((request.to_owned(), [answer.head.as_bytes(), &answer.body].concat()));
    }

    /// Sends this on a connection of its own, which some answers end.
    fn send(&mut self, to: SocketAddr, request: &str, status: u16) {
        let mut client = Client::connect(to);
        client.send(request);
        let answer = if request.starts_with("HEAD ") { client.head() } else { client.response() };
        assert_eq!(answer.status, status, "{}", &request[..request.len().min(200)]);
        self.note(request, &answer);
    }

    fn ask(&mut self, to: SocketAddr, line: &str, fields: &str, status: u16) {
        self.send(to, &head(line, fields), status);
    }

    /// What httplint calls bad, one note a line, behind the status and the request line.
    fn bad_notes(&self) -> String {
        let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
        let python = tests.join("../../target/tools/httplint/bin/python");
        assert!(python.is_file(), "{} is missing: run ./test --install", python.display());
        let directory = tempfile::tempdir().expect("a directory");
        for (number, (request, response)) in self.0.iter().enumerate() {
            let file = |what: &str| directory.path().join(format!("{number}.{what}"));
            fs::write(file("request"), request).expect("a file");
            fs::write(file("response"), response).expect("a file");
        }
        let mut command = Command::new(python);
        command.arg(tests.join("tests/files/lint_response.py")).arg(directory.path());
        let output = end_of(command);
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).expect("text")
    }
}

/// A file that was modified so many seconds ago.
fn put(site: &Path, name: &str, content: impl AsRef<[u8]>, age: u64) {
    let name = site.join(name);
    fs::write(&name, content).expect("a file");
    let file = fs::File::options().append(true).open(&name).expect("the file");
    file.set_modified(SystemTime::now() - Duration::from_secs(age)).expect("a modification time");
}

fn plain_files(seen: &mut Seen) {
    let site = tempfile::tempdir().expect("a directory");
    fs::create_dir(site.path().join("directory")).expect("a directory");
    fs::write(site.path().join("page.html"), "<!DOCTYPE html><title>a</title>").expect("a file");
    fs::write(site.path().join("large.bin"), noise(1, 60_000)).expect("a file");
    fs::write(site.path().join("empty"), "").expect("a file");
    let server = Server::of(site.path(), &[]);
    let page = server.get("/page.html");
    let same = format!("If-None-Match: {}\r\n", page.field("ETag").expect("a tag"));
    let modified = page.field("Last-Modified").expect("a date");
    let as_new = format!("If-Modified-Since: {modified}\r\n");
    let long_line = format!("GET /{}", "a".repeat(9000));
    let long_field = format!("X: {}\r\n", "a".repeat(33_000));
    for (line, fields, status) in [
        ("GET /page.html", "", 200),
        ("HEAD /page.html", "", 200),
        ("GET /large.bin", "", 200),
        ("GET /empty", "", 200),
        ("GET /page.html", "Connection: close\r\n", 200),
        ("OPTIONS *", "", 204),
        ("OPTIONS /page.html", "", 204),
        ("GET /large.bin", "Range: bytes=0-99\r\n", 206),
        ("GET /large.bin", "Range: bytes=0-99,1000-\r\n", 206),
        ("GET /directory", "", 301),
        ("GET /page.html", same.as_str(), 304),
        ("GET /page.html", as_new.as_str(), 304),
        ("GET /%zz", "", 400),
        ("GET /directory/", "", 403),
        ("GET /missing", "", 404),
        ("HEAD /missing", "", 404),
        ("POST /page.html", "", 405),
        ("TRACE /page.html", "", 405),
        ("GET /page.html", "If-Match: \"other\"\r\n", 412),
        (long_line.as_str(), "", 414),
        ("GET /large.bin", "Range: bytes=60000-\r\n", 416),
        ("GET /", long_field.as_str(), 431),
        ("BREW /page.html", "", 501),
    ] {
        seen.ask(server.address(), line, fields, status);
    }
    seen.send(server.address(), "GET / HTTP/2.0\r\n\r\n", 505);
}

fn compressed_files(seen: &mut Seen) {
    let site = tempfile::tempdir().expect("a directory");
    let long = text(50_000);
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&long).expect("memory takes all");
    put(site.path(), "long.txt", &long, 3600);
    put(site.path(), "beside.css", &long, 3600);
    put(site.path(), "beside.css.gz", encoder.finish().expect("memory takes all"), 1800);
    // What one worker has looked up and compressed, another may not have.
    let one = ["--workers", "1"];
    let on_the_fly = Server::of(site.path(), &[&one[..], &["--compress"]].concat());
    let precompressed = Server::of(site.path(), &[&one[..], &["--precompressed"]].concat());
    let all = CODINGS.map(|coding| (&on_the_fly, "/long.txt", coding)).into_iter();
    for (server, path, coding) in all.chain([(&precompressed, "/beside.css", "gzip")]) {
        let (line, accept) = (format!("GET {path}"), format!("Accept-Encoding: {coding}\r\n"));
        let answer = compressed(&mut server.connect(), path, coding);
        seen.note(&head(&line, &accept), &answer);
        let tag = answer.field("ETag").expect("a tag");
        let same = format!("{accept}If-None-Match: {tag}\r\n");
        seen.ask(server.address(), &line, &same, 304);
        // A part is one of the file as it is, or of the one beside it.
        let part = format!("{accept}Range: bytes=0-99\r\n");
        seen.ask(server.address(), &line, &part, 206);
        seen.ask(server.address(), &format!("HEAD {path}"), &accept, 200);
    }
}

fn lists(seen: &mut Seen) {
    let site = tempfile::tempdir().expect("a directory");
    fs::create_dir(site.path().join("directory")).expect("a directory");
    fs::write(site.path().join("\u{fc}ber & <so>.txt"), "text").expect("a file");
    let server = Server::site(site.path(), "listing = true");
    for (line, accept) in [
        ("GET /", "Accept: text/html\r\n"),
        ("GET /directory/", ""),
        ("GET /", "Accept: application/json\r\n"),
        ("HEAD /", ""),
    ] {
        seen.ask(server.address(), line, accept, 200);
    }
}

/// Of a script that may read the site, and of one that may not.
const ORIGINS: [&str; 2] = ["Origin: https://a.example\r\n", "Origin: https://b.example\r\n"];

/// What a browser asks before it lets a script ask.
const PREFLIGHT: &str = "Access-Control-Request-Method: GET\r\n\
                         Access-Control-Request-Headers: x-a, range\r\n";

fn pages_and_fields(seen: &mut Seen) {
    let site = tempfile::tempdir().expect("a directory");
    fs::create_dir(site.path().join("directory")).expect("a directory");
    for name in ["index.html", "404.html", "app.3f9a01c2.js", "directory/index.html"] {
        fs::write(site.path().join(name), name).expect("a file");
    }
    let keys = "fallback = \"/index.html\"\nerror_pages = { 404 = \"/404.html\" }\n\
                cache_control = \"hashed\"\ncors = [\"https://a.example\"]\ncors_max_age = \"2h\"\n\
                headers = { set = { X-Frame-Options = \"DENY\" }, remove = [\"Last-Modified\"] }";
    let server = Server::site(site.path(), keys);
    let tag = server.get("/app.3f9a01c2.js").field("ETag").expect("a tag").to_owned();
    let same = format!("If-None-Match: {tag}\r\n");
    for (line, fields, status) in [
        ("GET /users/5", "Accept: text/html\r\n", 200),
        ("GET /old.js", "Accept: */*\r\n", 404),
        ("HEAD /old.js", "Accept: */*\r\n", 404),
        ("GET /", "", 200),
        ("GET /app.3f9a01c2.js", "", 200),
        ("GET /app.3f9a01c2.js", same.as_str(), 304),
        ("GET /app.3f9a01c2.js", "Range: bytes=0-3\r\n", 206),
        ("GET /app.3f9a01c2.js", "Range: bytes=100-\r\n", 416),
        ("GET /directory", "", 301),
        ("DELETE /", "", 405),
    ] {
        seen.ask(server.address(), line, fields, status);
    }
    let for_all = Server::site(site.path(), "cors = \"*\"\ncors_max_age = \"2h\"");
    for to in [server.address(), for_all.address()] {
        for origin in ORIGINS {
            seen.ask(to, "GET /app.3f9a01c2.js", origin, 200);
            seen.ask(to, "OPTIONS /app.3f9a01c2.js", &format!("{origin}{PREFLIGHT}"), 204);
        }
    }
}

fn redirects(seen: &mut Seen) {
    let statuses = [301, 302, 307, 308];
    let redirect = |status: u16| {
        let to = "redirect = \"/new/{rest}\"";
        format!("[[route]]\npath = \"/{status}\"\n{to}\nstatus = {status}\n")
    };
    let server = Server::configured(&statuses.map(redirect).concat(), &[]);
    for status in statuses {
        seen.ask(server.address(), &format!("GET /{status}/a%20b?c=d"), "", status);
    }
}

fn refusals(seen: &mut Seen) {
    let directory = tempfile::tempdir().expect("a directory");
    let users = directory.path().join("users");
    fs::write(&users, format!("me:{HASH}\n")).expect("a file");
    let routes = [
        format!("path = \"/private\"\nfiles = true\nbasic_auth = {users:?}\n"),
        "path = \"/denied\"\nfiles = true\ndeny = \"127.0.0.0/8\"\n".to_owned(),
        "path = \"/seldom\"\nfiles = true\nlimit_requests = \"1/h\"\nlimit_burst = 1\n".to_owned(),
    ];
    let routes = routes.map(|route| format!("[[route]]\n{route}")).concat();
    let server = Server::site(directory.path(), &routes);
    for (line, fields, status) in [
        ("GET /private/page", "", 401),
        ("HEAD /private/page", "", 401),
        ("GET /private/page", RIGHT, 404),
        ("GET /denied/page", "", 403),
        ("GET /seldom/page", "", 404),
        ("GET /seldom/page", "", 429),
    ] {
        seen.ask(server.address(), line, fields, status);
    }
    let server = Server::builtin(&["--header-timeout", "300ms", "--limit-connections", "1"]);
    seen.send(server.address(), "GET / HTTP/1.1\r\nHost: we", 408);
    server.wait_for_metric("weir_connections", 0.0);
    let mut only = server.connect();
    assert_eq!(only.get("/").status, 200);
    // It is told so before it asks.
    seen.send(server.address(), "", 429);
}

fn answers_of_backends(seen: &mut Seen) {
    let backend = Backend::new(|call| match call.asked.target() {
        "/coming" => {
            let head = "Content-Type: text/plain\r\nTransfer-Encoding: chunked\r\n";
            call.send(format!("HTTP/1.1 200 OK\r\n{head}\r\n2\r\nok\r\n0\r\n\r\n"));
            Then::Keep
        }
        "/nonsense" => {
            call.send("nonsense\r\n\r\n");
            Then::Close
        }
        "/text" => call.ok_with("Content-Type: text/html\r\nETag: \"a\"\r\n", text(10_000)),
        _ => call.ok_with("Content-Type: text/plain\r\nSet-Cookie: a=b\r\n", "ok"),
    });
    let keys = "max_body = \"1000\"\ncompress = true\n";
    let server = Server::routed(&[&backend.url], keys);
    for coding in CODINGS {
        let accept = format!("Accept-Encoding: {coding}\r\n");
        let answer = compressed(&mut server.connect(), "/text", coding);
        seen.note(&head("GET /text", &accept), &answer);
    }
    for (line, fields, status) in [
        ("GET /", "", 200),
        ("GET /coming", "", 200),
        ("POST /", "Content-Length: 1001\r\n", 413),
        ("POST /", "Expect: miracles\r\nContent-Length: 5\r\n", 417),
        ("TRACE /", "", 501),
        ("GET /nonsense", "", 502),
    ] {
        seen.ask(server.address(), line, fields, status);
    }
    let rate = "min_rate = \"10\"\nmin_rate_period = \"1s\"\n";
    let server = Server::configured(&format!("{rate}{}", route("/", &[&backend.url])), &[]);
    seen.ask(server.address(), "POST /", "Content-Length: 100000\r\n", 408);
}

fn backends_that_do_not_answer(seen: &mut Seen) {
    let refusing = Refusing::new();
    let server = Server::routed(&[&refusing.url()], "");
    let answer = server.get("/");
    assert!([502, 503].contains(&answer.status), "{}", answer.head);
    seen.note(&head("GET /", ""), &answer);
    let (backend, barrier) = held();
    let server = one_at_a_time(&backend, "queue_timeout = \"100ms\"\n");
    let mut first = asking(&server, "/first");
    backend.wait_for_requests(1);
    seen.ask(server.address(), "GET /other", "", 503);
    barrier.open(1);
    assert_eq!(first.response().status, 200);
    let server = Server::routed(&[&backend.url], "first_byte_timeout = \"200ms\"\n");
    seen.ask(server.address(), "GET /", "", 504);
    barrier.open(1);
}

fn ports_with_tls(seen: &mut Seen) {
    let directory = tempfile::tempdir().expect("a directory");
    let file = |name: &str| directory.path().join(name).to_str().expect("UTF-8").to_owned();
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(["a.test".to_owned()]).expect("a certificate");
    let (cert_file, key_file) = (file("cert"), file("key"));
    fs::write(&cert_file, cert.pem()).expect("a file");
    fs::write(&key_file, signing_key.serialize_pem()).expect("a file");
    let server = Server::builtin(&[
        "--tls",
        &cert_file,
        "--tls-key",
        &key_file,
        "--listen-clear",
        "127.0.0.1:0",
        "--hsts",
        "365d",
    ]);
    // This port does not speak clear text.
    seen.ask(server.address(), "GET /", "", 400);
    let log = server.log();
    let clear = log.iter().find_map(|line| line.split_once("redirecting to TLS on http://"));
    let clear = clear.and_then(|(_, address)| address.trim().parse().ok());
    seen.ask(clear.expect("it says where it redirects"), "GET /a?b=c", "", 308);
    let port = server.address().port();
    let (resolve, url) = (format!("a.test:{port}:127.0.0.1"), format!("https://a.test:{port}/"));
    let answer = curl(&["--insecure", "--include", "--resolve", &resolve], &url);
    assert!(answer.contains("\r\nStrict-Transport-Security: max-age="), "{answer}");
    seen.0.push((head("GET /", ""), answer.into_bytes()));
}

fn the_admin_address(seen: &mut Seen) {
    let server = Server::builtin(&["--uplink", "1gbit"]);
    for (line, fields, status) in [
        ("GET /", "", 200),
        ("GET /metrics", "", 200),
        ("GET /metrics", "Accept: application/openmetrics-text\r\n", 200),
        ("GET /healthz", "", 200),
        ("HEAD /readyz", "", 200),
        ("GET /missing", "", 404),
        ("POST /", "", 405),
    ] {
        seen.ask(server.admin(), line, fields, status);
    }
}

#[test]
fn nothing_is_bad_about_any_kind_of_response() {
    let mut seen = Seen::default();
    plain_files(&mut seen);
    compressed_files(&mut seen);
    lists(&mut seen);
    pages_and_fields(&mut seen);
    redirects(&mut seen);
    refusals(&mut seen);
    answers_of_backends(&mut seen);
    backends_that_do_not_answer(&mut seen);
    ports_with_tls(&mut seen);
    the_admin_address(&mut seen);
    // It would tell.
    let wrong =
        b"HTTP/1.1 200 OK\r\nDate: never\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\na";
    seen.0.push((head("GET /wrong", ""), wrong.to_vec()));
    let notes = seen.bad_notes();
    let (of_wrong, found): (Vec<&str>, Vec<&str>) =
        notes.lines().partition(|line| line.contains(" to GET /wrong "));
    assert!(found.is_empty(), "{found:#?}");
    assert!(!of_wrong.is_empty());
}
