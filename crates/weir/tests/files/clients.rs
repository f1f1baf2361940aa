//! Shows that the programs people use get what they ask for: curl, wget, wrk, h2load, Chromium.

use std::fs;
use std::path::Path;

use crate::support::{Server, chromium, curl, noise, output_of, tool};

fn wget(directory: &Path, arguments: &[&str], url: &str) {
    let mut command = tool("wget", "wget");
    command.args(["--no-config", "--no-proxy", "--no-verbose", "--tries=1", "--timeout=60"]);
    command.args(arguments).arg(url).current_dir(directory);
    output_of(command);
}

#[test]
fn curl_downloads_and_resumes() {
    let site = tempfile::tempdir().unwrap();
    let content = noise(1, 3_000_000);
    fs::write(site.path().join("file.bin"), &content).unwrap();
    for flags in [&[][..], &["--uplink", "100mbit"]] {
        let server = Server::of(site.path(), flags);
        let url = format!("http://{}/file.bin", server.address());
        let here = tempfile::tempdir().unwrap();
        let to = here.path().join("download");
        let name = to.to_str().unwrap();
        curl(&["-o", name], &url);
        assert!(fs::read(&to).unwrap() == content, "the whole");
        fs::write(&to, &content[..1_234_567]).unwrap();
        curl(&["-C", "-", "-o", name], &url);
        assert!(fs::read(&to).unwrap() == content, "the resumed");
        let parts = server.metrics().value("weir_responses_total", "{status=\"206\"}");
        assert_eq!(parts, Some(1.0), "only the missing part was sent");
        curl(&["--compressed", "-o", name], &url);
        assert!(fs::read(&to).unwrap() == content, "what nobody compressed");
        // A body of the request that the server refuses to wait for.
        let status = ["-o", "/dev/null", "-w", "%{http_code}"];
        let root = format!("http://{}/", server.address());
        assert_eq!(curl(&[&status[..], &["-I"]].concat(), &url), "200");
        let mut posting = tool("curl", "curl");
        posting.args(["-q", "--noproxy", "*", "-sS", "--max-time", "60"]).args(status);
        posting.args(["--data-binary", &format!("@{name}"), &root]);
        assert_eq!(output_of(posting), "405");
    }
}

#[test]
fn wget_mirrors_and_continues() {
    let site = tempfile::tempdir().unwrap();
    fs::create_dir_all(site.path().join("sub dir")).unwrap();
    let page = "<a href=\"one.html\">1</a><a href=\"sub%20dir/\">2</a><img src=\"p.png\">";
    fs::write(site.path().join("index.html"), page).unwrap();
    fs::write(site.path().join("one.html"), "<a href=\"/sub%20dir/deep.txt\">deep</a>").unwrap();
    fs::write(site.path().join("p.png"), noise(2, 5000)).unwrap();
    fs::write(site.path().join("sub dir/index.html"), "<a href=\"../\">up</a>").unwrap();
    fs::write(site.path().join("sub dir/deep.txt"), noise(3, 700_000)).unwrap();
    let server = Server::of(site.path(), &[]);
    let here = tempfile::tempdir().unwrap();
    let root = format!("http://{}/", server.address());
    for _ in 0..2 {
        // The second time nothing has changed.
        wget(here.path(), &["--mirror", "--no-host-directories", "-e", "robots=off"], &root);
    }
    let names = ["index.html", "one.html", "p.png", "sub dir/index.html", "sub dir/deep.txt"];
    for name in names {
        let copy = fs::read(here.path().join(name)).expect(name);
        assert!(copy == fs::read(site.path().join(name)).unwrap(), "{name}");
    }
    fs::write(here.path().join("deep.txt"), &noise(3, 700_000)[..123_456]).unwrap();
    wget(here.path(), &["-c"], &format!("{root}sub%20dir/deep.txt"));
    assert!(fs::read(here.path().join("deep.txt")).unwrap() == noise(3, 700_000));
    let parts = server.metrics().value("weir_responses_total", "{status=\"206\"}");
    assert_eq!(parts, Some(1.0), "only the missing part was sent");
}

#[test]
fn wrk_meets_no_error() {
    for flags in [&[][..], &["--uplink", "50mbit"]] {
        let server = Server::builtin(flags);
        let mut command = tool("wrk", "wrk");
        command.args(["-t1", "-c20", "-d1s", "--timeout", "30s"]);
        command.arg(format!("http://{}/files/10kb.bin", server.address()));
        let said = output_of(command);
        assert!(said.contains("requests in"), "{said}");
        for trouble in ["Socket errors", "Non-2xx"] {
            assert!(!said.contains(trouble), "{said}");
        }
        let answered = server.metrics().value("weir_responses_total", "{status=\"200\"}");
        assert!(answered.is_some_and(|answered| answered >= 20.0), "{said}");
    }
}

#[test]
fn h2load_gets_every_response() {
    for flags in [&[][..], &["--uplink", "100mbit", "--policy", "fair"]] {
        let server = Server::builtin(flags);
        let mut command = tool("h2load", "nghttp2-client");
        command.args(["--h1", "-n", "600", "-c", "10", "-t", "1"]);
        command.arg(format!("http://{}/files/10kb.bin", server.address()));
        let said = output_of(command);
        assert!(said.contains("600 done, 600 succeeded, 0 failed, 0 errored, 0 timeout"), "{said}");
        assert!(said.contains("status codes: 600 2xx, 0 3xx, 0 4xx, 0 5xx"), "{said}");
    }
}

#[test]
fn chromium_shows_the_built_in_site() {
    let server = Server::builtin(&["--uplink", "10mbit"]);
    let here = tempfile::tempdir().unwrap();
    let picture = here.path().join("picture.png");
    let url = format!("http://{}/", server.address());
    let chromium = |what: &str| chromium(here.path(), what, &url);
    let page = chromium("--dump-dom");
    for part in ["<table>", "files/1gb.bin", "1,000,000,000", "<h1>weir</h1>"] {
        assert!(page.contains(part), "{part} is not in {page}");
    }
    chromium(&format!("--screenshot={}", picture.display()));
    let picture = fs::read(picture).unwrap();
    assert!(picture.starts_with(b"\x89PNG") && picture.len() > 5000, "{} bytes", picture.len());
    // The page brings its icon along, and beside a file to try there is one, too.
    assert!(page.contains("rel=\"icon\" href=\"data:"), "{page}");
    let icon = server.get("/favicon.ico");
    assert_eq!((icon.status, icon.field("Content-Type")), (200, Some("image/svg+xml")));
    assert!(icon.text().starts_with("<svg ") && icon.body.len() < 300, "{}", icon.text());
    assert_eq!(server.get("/favicon.ico/").status, 404);
}
