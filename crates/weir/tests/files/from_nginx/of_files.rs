//! The snippets about files: directories, pages, fields, compression, redirects.

use super::both::{Stand, at, get, get_with, nginx_has, place};
use crate::coding::{compressed, content, text};
use crate::support::{Refusing, Response};

#[test]
fn static_files() {
    let both = Stand::of("Static files")
        .files(&[
            ("srv/www/index.html", "home"),
            ("srv/www/a.txt", "0123456789"),
            ("srv/www/sub/index.html", "sub"),
            ("srv/www/old/index.htm", "old"),
            ("srv/www/empty/.keep", ""),
            ("srv/www/.env", "secret"),
            ("srv/www/config.php", "secret"),
        ])
        .start();
    // By design: weir says of larger files alone that it has parts of them.
    let about = ["Content-Length", "Content-Type", "Last-Modified"];
    let [_, file] = both.same(&get("/a.txt"), &about);
    both.same("HEAD /a.txt HTTP/1.1\r\nHost: example.org\r\n\r\n", &about);
    for (path, status) in [
        ("/", 200),
        ("/sub/", 200),
        ("/sub", 301),
        ("/old/", 200),
        ("/empty/", 403),
        ("/missing", 404),
        ("/sub/../a.txt", 200),
        ("/%61.txt?query", 200),
    ] {
        let [_, answer] = both.same(&get(path), &["Location"]);
        assert_eq!(answer.status, status, "{path}");
    }
    let modified = file.field("Last-Modified").unwrap();
    for (fields, status) in [
        (format!("If-Modified-Since: {modified}\r\n"), 304),
        ("If-Unmodified-Since: Sun, 06 Nov 1994 08:49:37 GMT\r\n".to_owned(), 412),
        ("Range: bytes=2-4\r\n".to_owned(), 206),
        ("Range: bytes=-3\r\n".to_owned(), 206),
        ("Range: bytes=99-\r\n".to_owned(), 416),
        (format!("Range: bytes=2-4\r\nIf-Range: {modified}\r\n"), 206),
    ] {
        let [_, answer] = both.same(&get_with("/a.txt", &fields), &["Content-Range"]);
        assert_eq!(answer.status, status, "{fields}");
    }
    let post = "POST /a.txt HTTP/1.1\r\nHost: example.org\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(both.same(post, &[])[1].status, 405);
    // By design: what was not meant for everybody is not served.
    for path in ["/.env", "/config.php"] {
        assert_eq!(both.ask(&get(path)).map(|answer| answer.status), [200, 404], "{path}");
    }
}

#[test]
fn several_server_names() {
    let both = Stand::of("Several server names")
        .files(&[("srv/www/index.html", "www"), ("srv/docs/index.html", "docs")])
        .start();
    for (host, expected) in [
        ("example.org", "www"),
        ("www.example.org", "www"),
        ("docs.example.org", "docs"),
        ("DOCS.example.org:8080", "docs"),
        ("a.docs.example.org", "docs"),
        ("elsewhere.example", "www"),
    ] {
        let [_, answer] = both.same(&at(host, "/", ""), &[]);
        assert_eq!(answer.text(), expected, "{host}");
    }
}

#[test]
fn other_directories() {
    let both = Stand::of("Other directories for some paths")
        .files(&[
            ("srv/www/index.html", "home"),
            ("srv/docs/a.html", "a"),
            ("srv/docs/sub/index.html", "sub"),
            ("srv/media/media/film.mp4", "film"),
        ])
        .start();
    for (path, status) in [
        ("/", 200),
        ("/docs/a.html", 200),
        ("/docs/sub/", 200),
        ("/docs/sub", 301),
        ("/docs/missing.html", 404),
        ("/docs/../index.html", 200),
        ("/docsa.html", 404),
        ("/media/film.mp4", 200),
        ("/film.mp4", 404),
    ] {
        let [_, answer] = both.same(&get(path), &["Location"]);
        assert_eq!(answer.status, status, "{path}");
    }
    // By design: the path of a route is part of it, with its slash or without.
    let [nginx, weir] = both.ask(&get("/docs"));
    assert_eq!((nginx.status, weir.status), (404, 301));
    assert_eq!(weir.field("Location"), Some("/docs/"));
}

#[test]
fn an_application_of_one_page() {
    let both = Stand::of("An application of one page")
        .files(&[
            ("srv/app/index.html", "page"),
            ("srv/app/app.js", "script"),
            ("srv/app/assets/a.css", "style"),
        ])
        .start();
    let browser = "Accept: text/html,application/xhtml+xml,*/*;q=0.8\r\n";
    for path in ["/", "/users/5", "/users/5/", "/index.html", "/assets", "/assets/"] {
        let [_, answer] = both.same(&get_with(path, browser), &["Content-Type"]);
        assert_eq!((answer.status, answer.text().as_str()), (200, "page"), "{path}");
    }
    assert_eq!(both.same(&get_with("/app.js", "Accept: */*\r\n"), &[])[1].text(), "script");
    // By design: a script that is missing is no page.
    let [nginx, weir] = both.ask(&get_with("/old.js", "Accept: */*\r\n"));
    assert_eq!((nginx.text().as_str(), weir.status), ("page", 404));
}

#[test]
fn clean_urls() {
    let both = Stand::of("Clean URLs")
        .files(&[
            ("srv/www/index.html", "home"),
            ("srv/www/about.html", "about"),
            ("srv/www/blog/index.html", "blog"),
        ])
        .start();
    for (path, status) in [
        ("/", 200),
        ("/about", 200),
        ("/about.html", 200),
        ("/blog", 200),
        ("/blog/", 200),
        ("/missing", 404),
    ] {
        let [_, answer] = both.same(&get(path), &["Content-Type"][..usize::from(status == 200)]);
        assert_eq!(answer.status, status, "{path}");
    }
}

#[test]
fn error_pages() {
    let refusing = Refusing::new();
    let both = Stand::of("Error pages")
        .files(&[("srv/www/404.html", "nothing"), ("srv/www/50x.html", "broken")])
        .with("127.0.0.1:9000", place(&refusing.url()))
        .start();
    for (path, status, page) in [("/missing", 404, "nothing"), ("/app/x", 502, "broken")] {
        for answer in both.same(&get(path), &["Content-Type", "Content-Length"]) {
            assert_eq!((answer.status, answer.text().as_str()), (status, page), "{path}");
        }
    }
}

/// Where the links of a list lead.
fn links(list: &Response) -> Vec<String> {
    let text = list.text();
    let links = text.split("<a href=\"").skip(1).filter_map(|rest| rest.split('"').next());
    // By design: weir has none above the root.
    links.filter(|link| *link != "../").map(str::to_owned).collect()
}

#[test]
fn lists_of_directories() {
    let both = Stand::of("Lists of directories")
        .files(&[
            ("srv/files/a.txt", "a"),
            ("srv/files/b c.txt", "b"),
            ("srv/files/sub/d.txt", "d"),
            ("srv/files/.hidden", "secret"),
        ])
        .start();
    for (path, expected) in [("/", &["sub/", "a.txt", "b%20c.txt"][..]), ("/sub/", &["d.txt"])] {
        let answers = both.ask(&get(path));
        assert_eq!(answers.each_ref().map(|answer| answer.status), [200, 200], "{path}");
        assert_eq!(answers.each_ref().map(links), [expected, expected], "{path}");
    }
    let [_, json] = both.ask(&get_with("/", "Accept: application/json\r\n"));
    assert_eq!(json.field("Content-Type"), Some("application/json"));
}

#[test]
fn fields_of_responses() {
    let both = Stand::of("Header fields of responses")
        .files(&[("srv/www/index.html", "home"), ("srv/www/sub/a.txt", "a")])
        .start();
    for (path, status) in [("/", 200), ("/sub", 301), ("/sub/", 403), ("/missing", 404)] {
        let [_, answer] = both.same(&get(path), &["X-Content-Type-Options", "X-Frame-Options"]);
        assert_eq!(
            (answer.status, answer.field("X-Frame-Options")),
            (status, Some("DENY")),
            "{path}"
        );
    }
}

#[test]
fn how_long_files_are_kept() {
    let both = Stand::of("How long browsers keep files")
        .files(&[
            ("srv/www/index.html", "home"),
            ("srv/www/a.txt", "a"),
            ("srv/www/assets/app.js", "script"),
        ])
        .start();
    for (path, value) in [
        ("/", Some("no-cache")),
        ("/index.html", Some("no-cache")),
        ("/assets/app.js", Some("max-age=2592000")),
        ("/a.txt", None),
        ("/assets/missing.js", None),
        ("/missing.html", None),
    ] {
        let [nginx, weir] = both.same(&get(path), &["Cache-Control"]);
        assert_eq!(weir.field("Cache-Control"), value, "{path}");
        // By design: one field says it.
        let has_expires = nginx.field("Expires").is_some();
        assert_eq!(
            (has_expires, weir.field("Expires")),
            (path == "/assets/app.js", None),
            "{path}"
        );
        if let Some(modified) = weir.field("Last-Modified") {
            let since = format!("If-Modified-Since: {modified}\r\n");
            let [_, same] = both.same(&get_with(path, &since), &["Cache-Control"]);
            assert_eq!(same.status, 304, "{path}");
        }
    }
}

#[test]
fn files_that_are_compressed_before() {
    const GZIP: &str = "what lies beside it";
    let stand = Stand::of("Files that are compressed before")
        .file("srv/www/style.css", text(5000))
        .file("srv/www/style.css.gz", GZIP);
    let accepted = get_with("/style.css", "Accept-Encoding: gzip\r\n");
    if !nginx_has("http_gzip_static_module") {
        // This nginx cannot do it: weir is tried alone.
        let (weir, _directory) = stand.alone();
        assert_eq!(compressed(&mut weir.connect(), "/style.css", "gzip").text(), GZIP);
        return;
    }
    let both = stand.start();
    // What was written just now is not sent yet.
    compressed(&mut both.weir.connect(), "/style.css", "gzip");
    let fields = ["Content-Encoding", "Vary", "Content-Length", "Content-Type", "Last-Modified"];
    let [_, answer] = both.same(&accepted, &fields);
    assert_eq!((answer.text().as_str(), answer.field("Vary")), (GZIP, Some("Accept-Encoding")));
    let [_, plain] = both.same(&get("/style.css"), &fields);
    assert!(plain.body == text(5000) && plain.field("Content-Encoding").is_none());
}

#[test]
fn compression() {
    let both = Stand::of("Compression")
        .file("srv/www/style.css", text(50_000))
        .file("srv/www/small.css", text(500))
        .file("srv/www/photo.png", text(50_000))
        .start();
    let accepted = |path: &str| get_with(path, "Accept-Encoding: gzip\r\n");
    compressed(&mut both.weir.connect(), "/style.css", "gzip");
    // Each compresses in its own way; what comes of it is the same.
    let answers = both.ask(&accepted("/style.css"));
    for answer in &answers {
        assert_eq!(answer.field("Content-Encoding"), Some("gzip"), "{}", answer.head);
        assert_eq!(answer.field("Vary"), Some("Accept-Encoding"), "{}", answer.head);
        assert!(answer.field("ETag").is_some_and(|tag| tag.starts_with("W/")), "{}", answer.head);
        assert!(content(answer) == text(50_000));
    }
    both.same(&get("/style.css"), &["Content-Encoding", "Vary"]);
    both.same(&accepted("/photo.png"), &["Content-Encoding", "Vary"]);
    // By design: a small file is not worth it.
    let [nginx, weir] = both.ask(&accepted("/small.css"));
    assert_eq!(nginx.field("Content-Encoding"), Some("gzip"));
    assert!(weir.field("Content-Encoding").is_none() && weir.body == text(500));
}

#[test]
fn redirects() {
    let both = Stand::of("Redirects").files(&[("srv/www/new/index.html", "new")]).start();
    for (host, path, status, location) in [
        ("example.org", "/", 301, Some("https://www.example.org/")),
        ("example.org", "/a%20b/c?d=e", 301, Some("https://www.example.org/a%20b/c?d=e")),
        ("www.example.org", "/old/", 302, None),
        ("www.example.org", "/old/page?x", 302, None),
        ("www.example.org", "/new/", 200, None),
        ("www.example.org", "/older", 404, None),
    ] {
        let [_, weir] = both.same(&at(host, path, ""), &["Location"]);
        assert_eq!(weir.status, status, "{host}{path}");
        let location = location.or((status == 302).then_some("/new/"));
        assert_eq!(weir.field("Location"), location, "{host}{path}");
    }
}
