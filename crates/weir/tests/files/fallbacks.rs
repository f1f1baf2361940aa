//! Shows what stands for files that are not there: the page of an application, pages for errors.

use std::fs;

use crate::support::passwords::HASH;
use crate::support::{Refusing, Server, eventually, route};
use tempfile::TempDir;

fn site() -> TempDir {
    let site = tempfile::tempdir().expect("a directory");
    for (name, text) in [
        ("index.html", "app"),
        ("app.js", "script"),
        ("404.html", "nothing"),
        ("50x.html", "broken"),
    ] {
        fs::write(site.path().join(name), text).expect("a file");
    }
    for directory in ["empty", "indexed"] {
        fs::create_dir(site.path().join(directory)).expect("a directory");
    }
    fs::write(site.path().join("indexed/index.html"), "index").expect("a file");
    site
}

const BROWSER: &str = "Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\n";
const PROGRAM: &str = "Accept: application/json\r\n";

#[test]
fn an_application_of_one_page_answers_for_paths_without_a_file() {
    let site = site();
    let server = Server::site(site.path(), "fallback = \"/index.html\"");
    let mut client = server.connect();
    for _ in 0..2 {
        for (path, accept, status, text) in [
            ("/users/5", BROWSER, 200, "app"),
            ("/users/5/", BROWSER, 200, "app"),
            ("/users/5", "", 200, "app"),
            ("/app.js", "Accept: */*\r\n", 200, "script"),
            ("/old.js", "Accept: */*\r\n", 404, "404 Not Found\n"),
            ("/users/5", PROGRAM, 404, "404 Not Found\n"),
            // A view of the application may be called as a directory is.
            ("/empty/", BROWSER, 200, "app"),
            ("/empty", BROWSER, 200, "app"),
            ("/empty/", PROGRAM, 403, "403 Forbidden\n"),
            ("/empty", PROGRAM, 301, "301 Moved Permanently\n"),
            ("/indexed/", BROWSER, 200, "index"),
            ("/indexed", BROWSER, 301, "301 Moved Permanently\n"),
            ("/.git/config", BROWSER, 404, "404 Not Found\n"),
        ] {
            let answer = client.get_with(path, accept);
            assert_eq!((answer.status, answer.text().as_str()), (status, text), "{path} {accept}");
            let varies = text == "app" || status >= 300;
            let vary = answer.fields("Vary").join(", ");
            assert_eq!(vary.contains("Accept"), varies, "{path}: {vary}");
        }
    }
    let page = client.get_with("/users/5", BROWSER);
    assert_eq!(page.field("Content-Type"), Some("text/html; charset=utf-8"));
    assert_eq!(page.field("ETag"), client.get("/").field("ETag"), "it is the same page");
    client.send("POST /users/5 HTTP/1.1\r\nHost: weir\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(client.response().status, 405);
    client.send(format!("HEAD /users/5 HTTP/1.1\r\nHost: weir\r\n{BROWSER}\r\n"));
    let head = client.head();
    assert_eq!((head.status, head.field("Content-Length")), (200, Some("3")));
    assert_eq!(client.get("/app.js").text(), "script");
    // A file that comes is served at once it is noticed.
    fs::write(site.path().join("new"), "new").unwrap();
    eventually("the file is served", || client.get_with("/new", BROWSER).text() == "new");
}

#[test]
fn a_list_or_an_index_comes_before_the_page_for_others() {
    let site = site();
    let server = Server::site(site.path(), "fallback = \"/app.js\"\nlisting = true");
    let mut client = server.connect();
    assert_eq!(client.get_with("/empty", BROWSER).field("Location"), Some("/empty/"));
    assert!(client.get_with("/empty/", BROWSER).text().contains("../"));
    assert_eq!(client.get_with("/missing", BROWSER).text(), "script");
    // The root is a directory like any other.
    let server = Server::site(site.path(), "fallback = \"/app.js\"\nindex = \"none.html\"");
    let mut client = server.connect();
    for path in ["/", "/indexed", "/indexed/"] {
        assert_eq!(client.get_with(path, BROWSER).text(), "script", "{path}");
    }
    // An index that comes is served at once it is noticed.
    fs::write(site.path().join("indexed/none.html"), "here").unwrap();
    eventually("the index is served", || client.get_with("/indexed/", BROWSER).text() == "here");
    eventually("it is redirected to", || client.get_with("/indexed", BROWSER).status == 301);
}

#[test]
fn pages_are_found_by_their_names_wherever_paths_lead() {
    let site = site();
    // What `{path}.html` and `/v2/{path}` would make of the names of the pages.
    fs::write(site.path().join("404.html.html"), "wrong").expect("a file");
    for names in ["clean_urls = true", "try_files = \"{path}.html\"", "try_files = \"/v2/{path}\""]
    {
        let keys = "fallback = \"/index.html\"\nerror_pages = { 405 = \"/404.html\" }";
        let server = Server::site(site.path(), &format!("{names}\n{keys}"));
        let mut client = server.connect();
        for _ in 0..2 {
            assert_eq!(client.get_with("/users", BROWSER).text(), "app", "{names}");
            client.send("DELETE /users HTTP/1.1\r\nHost: weir\r\n\r\n");
            let refused = client.response();
            assert_eq!((refused.status, refused.text().as_str()), (405, "nothing"), "{names}");
            assert_eq!(refused.field("Allow"), Some("GET, HEAD, OPTIONS"));
        }
    }
}

#[test]
fn errors_have_pages_and_keep_their_statuses() {
    let site = site();
    let large = "large ".repeat(100_000);
    fs::write(site.path().join("416.html"), &large).unwrap();
    let keys = "error_pages = { 404 = \"/404.html\", 4xx = \"/gone.html\", 416 = \"/416.html\" }";
    let server = Server::site(site.path(), keys);
    let said = server.log().join("\n");
    assert!(said.contains("gone.html is named by `error_pages`"), "{said}");
    let mut client = server.connect();
    let tag = client.get("/404.html").field("ETag").unwrap().to_owned();
    for _ in 0..3 {
        let missing = client.get_with("/missing", &format!("If-None-Match: {tag}\r\n"));
        assert_eq!((missing.status, missing.text().as_str()), (404, "nothing"));
        assert_eq!(missing.field("Content-Type"), Some("text/html; charset=utf-8"));
        for field in ["ETag", "Last-Modified", "Accept-Ranges"] {
            assert_eq!(missing.field(field), None, "it is no copy of the page");
        }
        // A page for other errors is not there; that leads to no other error.
        let forbidden = client.get("/empty/");
        assert_eq!((forbidden.status, forbidden.text().as_str()), (403, "403 Forbidden\n"));
        // A part is asked of the file, not of the page.
        let part = client.get_with("/missing", "Range: bytes=0-1\r\n");
        assert_eq!((part.status, part.text().as_str()), (404, "nothing"));
        let beyond = client.get_with("/app.js", "Range: bytes=100-\r\n");
        assert_eq!((beyond.status, beyond.field("Content-Range")), (416, Some("bytes */6")));
        assert!(beyond.text() == large, "a large page comes whole");
        client.send("HEAD /missing HTTP/1.1\r\nHost: weir\r\n\r\n");
        assert_eq!(client.head().field("Content-Length"), Some("7"));
        assert_eq!(client.get("/404.html").status, 200);
    }
    fs::write(site.path().join("404.html"), "changed").unwrap();
    eventually("the new page is shown", || client.get("/missing").text() == "changed");
    fs::remove_file(site.path().join("404.html")).unwrap();
    eventually("the short text is back", || client.get("/missing").text() == "404 Not Found\n");
}

#[test]
fn the_pages_of_the_server_stand_for_backends_that_fail() {
    let site = site();
    let refusing = Refusing::new();
    let text =
        format!("error_pages = {{ 5xx = \"/50x.html\" }}\n{}", route("/app", &[&refusing.url()]));
    let server = Server::site(site.path(), &text);
    for _ in 0..3 {
        let answer = server.get("/app/x");
        assert!([502, 503].contains(&answer.status), "{}", answer.head);
        assert_eq!(answer.text(), "broken");
    }
    // What a backend answers itself is passed on.
    let backend = crate::support::Backend::new(|call| {
        call.send("HTTP/1.1 500 No\r\nContent-Length: 3\r\n\r\nown");
        crate::support::Then::Keep
    });
    let text =
        format!("error_pages = {{ 5xx = \"/50x.html\" }}\n{}", route("/app", &[&backend.url]));
    let answer = Server::site(site.path(), &text).get("/app/x");
    assert_eq!((answer.status, answer.text().as_str()), (500, "own"));
}

#[test]
fn who_is_not_let_in_sees_the_pages_of_the_files_that_were_asked_for() {
    let (main, docs) = (site(), tempfile::tempdir().expect("a directory"));
    fs::write(main.path().join("main.html"), "of the server").expect("a file");
    fs::write(docs.path().join("own.html"), "of the route").expect("a file");
    let users = docs.path().join("users");
    fs::write(&users, format!("me:{HASH}\n")).expect("a file");
    let (root, own) = (docs.path(), "error_pages = { 4xx = \"/own.html\" }");
    for (access, status) in [
        (format!("basic_auth = {users:?}"), 401),
        ("deny = \"127.0.0.0/8\"".to_owned(), 403),
        ("limit_requests = \"1/h\"".to_owned(), 429),
    ] {
        let keys = format!(
            "error_pages = {{ 4xx = \"/main.html\" }}\n\
             [[route]]\npath = \"/docs\"\nroot = {root:?}\n{own}\n{access}\n\
             [[route]]\nhost = \"docs.example\"\npath = \"/\"\nroot = {root:?}\n{own}\n{access}\n\
             [[route]]\npath = \"/bare\"\nroot = {root:?}\nerror_pages = {{}}\n{access}\n\
             [[route]]\npath = \"/private\"\nfiles = true\n{access}\n\
             [[route]]\npath = \"/old\"\nredirect = \"/new\"\n{access}\n"
        );
        let server = Server::site(main.path(), &keys);
        let mut client = server.connect();
        let short = format!("{status} ");
        for (path, host, page) in [
            ("/docs/x", "weir", "of the route"),
            ("/x", "docs.example", "of the route"),
            ("/bare/x", "weir", short.as_str()),
            ("/private/x", "weir", "of the server"),
            ("/old", "weir", "of the server"),
        ] {
            let mut ask = || {
                client.send(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
                client.response()
            };
            // The first request may be one that a limit lets through, and a page may come late.
            ask();
            eventually("the page is shown", || ask().text().starts_with(page));
            let refused = ask();
            assert_eq!(refused.status, status, "{path} of {host}");
            assert_eq!(refused.field("WWW-Authenticate").is_some(), status == 401);
        }
    }
}
