//! Shows that several directories are served by one server, each in its own way, and which names are:
//! indexes, files that are tried, clean URLs, sources that are kept back.

use std::fs;
use std::path::Path;

use crate::support::{Server, eventually};
use tempfile::TempDir;

/// A directory with these files, whose content is their name unless it is given.
fn directory(files: &[&str]) -> TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    for name in files {
        put(directory.path(), name, name);
    }
    directory
}

fn put(directory: &Path, name: &str, content: &str) {
    let file = directory.join(name);
    fs::create_dir_all(file.parent().expect("it is below one")).expect("a directory");
    fs::write(file, content).expect("a file");
}

#[test]
fn routes_have_directories_of_their_own() {
    let (main, docs, kept) = (
        directory(&["a.txt", "docs/hidden.txt"]),
        directory(&["a.txt", "sub/index.html"]),
        directory(&["kept/a.txt"]),
    );
    put(main.path(), "a.txt", "main");
    put(docs.path(), "a.txt", "docs");
    let routes = format!(
        "[[route]]\npath = \"/docs\"\nroot = {:?}\nstrip_prefix = true\n\
         [[route]]\npath = \"/kept\"\nroot = {:?}\n\
         [[route]]\npath = \"/\"\nhost = \"docs.example\"\nroot = {:?}\n",
        docs.path(),
        kept.path(),
        docs.path(),
    );
    let server = Server::site(main.path(), &routes);
    let mut client = server.connect();
    // Twice: the second time what is known of one site must not be taken for another's.
    for _ in 0..2 {
        for (path, text) in [
            ("/a.txt", "main"),
            ("/docs/a.txt", "docs"),
            ("/x/../d%6fcs//a.txt", "docs"),
            ("/docs/sub/", "sub/index.html"),
            ("/kept/a.txt", "kept/a.txt"),
        ] {
            assert_eq!(client.get(path).text(), text, "{path}");
        }
        client.send("GET /a.txt HTTP/1.1\r\nHost: docs.example\r\n\r\n");
        assert_eq!(client.response().text(), "docs");
        for (path, status) in [
            ("/docs/hidden.txt", 404),
            ("/docs/../docs/docs/a.txt", 404),
            ("/docsa.txt", 404),
            ("/docs/%2e%2e/%2e%2e/etc/passwd", 400),
            ("/kept/missing", 404),
        ] {
            assert_eq!(client.get(path).status, status, "{path}");
        }
        // Redirects keep the whole path.
        for (path, location) in [("/docs/sub?x=1", "/docs/sub/?x=1"), ("/docs", "/docs/")] {
            let moved = client.get(path);
            assert_eq!((moved.status, moved.field("Location")), (301, Some(location)), "{path}");
        }
    }
    // A file of a route's own directory is sent as any, in parts and large, too.
    put(docs.path(), "large", &"0123456789".repeat(100_000));
    let part = client.get_with("/docs/large", "Range: bytes=500000-500009\r\n");
    assert_eq!((part.status, part.text().as_str()), (206, "0123456789"));
    assert_eq!(client.get("/docs/large").body.len(), 1_000_000);
}

#[test]
fn a_server_can_have_directories_of_routes_alone() {
    let docs = directory(&["a.txt"]);
    let text = format!(
        "[[route]]\npath = \"/docs\"\nroot = {:?}\nstrip_prefix = true\nlisting = true\n",
        docs.path()
    );
    let server = Server::configured(&text, &[]);
    let mut client = server.connect();
    assert_eq!(client.get("/docs/a.txt").text(), "a.txt");
    assert_eq!((client.get("/").status, client.get("/files/1kb.bin").status), (404, 404));
    let text = text.replace("root = \"", "root = \"/nowhere");
    let mut command = crate::support::weir();
    let file = docs.path().join("weir.toml");
    fs::write(&file, text).unwrap();
    command.args(["serve", "--check", "--config"]).arg(&file);
    let output = crate::support::end_of(command);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("cannot serve /nowhere"), "{said}");
}

#[test]
fn the_first_index_that_is_there_stands_for_its_directory() {
    let site = directory(&["a/index.htm", "b/index.htm", "b/main.html"]);
    let server = Server::site(site.path(), "index = [\"main.html\", \"index.htm\"]");
    let mut client = server.connect();
    assert_eq!(client.get("/a/").text(), "a/index.htm");
    assert_eq!(client.get("/b/").text(), "b/main.html");
    assert_eq!(client.get("/").status, 403);
    // One that comes to stand before another is noticed.
    put(site.path(), "a/main.html", "new");
    eventually("the better index is served", || client.get("/a/").text() == "new");
    fs::remove_file(site.path().join("a/main.html")).unwrap();
    eventually("the other is served again", || client.get("/a/").text() == "a/index.htm");
}

#[test]
fn files_are_looked_for_where_the_configuration_says() {
    let site = directory(&["a", "a.txt", "b.txt", "v2/c", "d/index.html"]);
    let server =
        Server::site(site.path(), "try_files = [\"{path}\", \"{path}.txt\", \"/v2/{path}\"]");
    let mut client = server.connect();
    for _ in 0..2 {
        for (path, text) in [("/a", "a"), ("/a.txt", "a.txt"), ("/b", "b.txt"), ("/c", "v2/c")] {
            assert_eq!(client.get(path).text(), text, "{path}");
        }
        assert_eq!(client.get("/e").status, 404);
        assert_eq!(client.get("/d").field("Location"), Some("/d/"));
    }
    // The type is that of the file, not of the path.
    assert_eq!(client.get("/b").field("Content-Type"), Some("text/plain; charset=utf-8"));
    put(site.path(), "b", "before");
    eventually("the first place counts", || client.get("/b").text() == "before");
}

#[test]
fn clean_urls_are_served_and_others_lead_to_them() {
    let site = directory(&["index.html", "a.html", "b/index.html", "c", "c.html", "d.htm"]);
    let server = Server::site(site.path(), "clean_urls = true");
    let mut client = server.connect();
    for _ in 0..2 {
        for (path, text) in [
            ("/", "index.html"),
            ("/a", "a.html"),
            ("/b", "b/index.html"),
            ("/b/", "b/index.html"),
            ("/c", "c"),
            // `/c` is another file.
            ("/c.html", "c.html"),
            ("/d.htm", "d.htm"),
        ] {
            let answer = client.get(path);
            assert_eq!((answer.status, answer.text().as_str()), (200, text), "{path}");
        }
        for (path, location) in [
            ("/a.html?x=1", "/a?x=1"),
            ("/index.html", "/"),
            ("/b/index.html", "/b/"),
            ("//a.html", "/a"),
        ] {
            let moved = client.get(path);
            assert_eq!((moved.status, moved.field("Location")), (301, Some(location)), "{path}");
        }
        for path in ["/missing.html", "/missing", "/a/", "/.html"] {
            assert_eq!(client.get(path).status, 404, "{path}");
        }
    }
}

#[test]
fn sources_and_backups_are_kept_back_unless_they_are_wanted() {
    let names = ["a.php", "b/app.py", "index.html~", "config.js.bak", "x.cgi", "old.html.swp"];
    let site = directory(&names);
    put(site.path(), "install.sh", "#!/bin/sh");
    put(site.path(), "mirror.py/index.html", "a directory");
    let plain = Server::site(site.path(), "");
    let wanted = Server::site(site.path(), "serve_sources = true");
    for name in names {
        let path = format!("/{name}");
        assert_eq!(plain.get(&path).status, 404, "{name}");
        assert_eq!(plain.get(&path).text(), "404 Not Found\n", "{name}");
        assert_eq!(wanted.get(&path).text(), name);
    }
    assert_eq!(plain.get("/install.sh").status, 200);
    // A directory of such a name is one all the same.
    assert_eq!(plain.get("/mirror.py/").text(), "a directory");
    for _ in 0..2 {
        let moved = plain.get("/mirror.py?x=1");
        assert_eq!((moved.status, moved.field("Location")), (301, Some("/mirror.py/?x=1")));
    }
    // What cannot be opened is no more there than what could be.
    std::os::unix::fs::symlink("/etc/passwd", site.path().join("out.php")).unwrap();
    for path in ["/out.php", "/out.php/", "/a.php/"] {
        assert_eq!(plain.get(path).status, 404, "{path}");
    }
    // Nor by way of another name.
    let tried =
        Server::site(site.path(), "try_files = [\"{path}\", \"{path}.php\"]\nindex = \"app.py\"");
    assert_eq!((tried.get("/a").status, tried.get("/b/").status), (404, 403));
    // What begins with a dot is never served.
    put(site.path(), ".env", "secret");
    assert_eq!(wanted.get("/.env").status, 404);
}
