//! Keys about files as they are read: above the routes, in routes, and what is refused.

use super::super::{Action, Config, parse};
use super::FilesConfig;

fn config(text: &str) -> Config {
    Config::from_settings(parse(text).unwrap()).unwrap()
}

fn error(text: &str) -> String {
    let config = parse(text).and_then(Config::from_settings);
    config.map(|config| format!("no error: {:?}", config.files)).unwrap_or_else(|e| e.to_string())
}

/// How the files of a route are served.
fn of_route(config: &Config, route: usize) -> &FilesConfig {
    match &config.routes[route].action {
        Action::Directory(files) => files,
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_key_is_read() {
    let text = r#"
        root = "/srv"
        index = ["index.html", "index.htm"]
        try-files = ["{path}", "/v2/{path}"]
        fallback = "/app.html"
        listing = true
        serve_sources = true
        error_pages = { 404 = "/404.html", 5xx = "/50x.html" }
        types = { ".foo" = "text/x-foo" }
        cache_control = { "*.html" = "no-cache" }
        cors = ["https://a.example", "https://b.example"]
        cors_methods = "GET"
        cors_max_age = "1h"

        [headers]
        set = { "X-Frame-Options" = "DENY" }
        remove = ["Last-Modified"]
    "#;
    let config = config(text);
    assert!(config.without_effect.is_empty(), "{:?}", config.without_effect);
    let FilesConfig { root, strips, pages, fields } = &config.files;
    assert_eq!((root, strips), (&None, &None));
    assert_eq!(pages.index, ["index.html", "index.htm"]);
    let names: Vec<_> = pages.templates().iter().map(|t| t.apply(b"a")).collect();
    assert_eq!(names, [&b"a"[..], b"v2/a"]);
    assert_eq!(pages.fallback.as_deref(), Some("app.html"));
    assert!(pages.listing && pages.serve_sources && !pages.clean_urls);
    assert_eq!(fields.error_pages.name(http::StatusCode::BAD_GATEWAY), Some("50x.html"));
    assert_eq!(fields.types.of(b"a.foo"), Some("text/x-foo"));
    assert_eq!(fields.cache_control.of(b"a.html").unwrap(), "no-cache");
    assert_eq!((fields.cors.len(), fields.cors_methods.len()), (2, 1));
    assert_eq!(fields.cors_max_age.unwrap().as_secs(), 3600);
    let changes = config.files.changes();
    let written: Vec<_> = changes.written().map(|(name, _)| name.as_str()).collect();
    assert_eq!(written, ["x-frame-options", "vary"]);
    assert_eq!(changes.remove, ["last-modified"]);
    assert_eq!(config.files.named_pages(), ["404.html", "50x.html", "app.html"]);
}

#[test]
fn a_route_of_files_has_its_own_root_and_says_otherwise() {
    let text = "root = \"/srv\"\nfallback = \"/app.html\"\nclean_urls = true\ncors = \"*\"\n\
        [[route]]\npath = \"/docs\"\nroot = \"/docs\"\nstrip_prefix = true\nfallback = \"off\"\n\
        try_files = \"{path}.txt\"\n\
        [[route]]\npath = \"/lists\"\nfiles = true\nlisting = true\n\
        [[route]]\npath = \"/plain\"\nfiles = true\n\
        [[route]]\npath = \"/kept/deep\"\nroot = \"/kept\"\n";
    let config = config(text);
    let docs = of_route(&config, 0);
    assert_eq!(docs.root.as_deref(), Some(std::path::Path::new("/docs")));
    assert_eq!((docs.strips.as_deref(), &docs.pages.fallback), (Some("docs"), &None));
    assert_eq!(docs.pages.templates().len(), 1, "what is said nearer counts");
    assert!(docs.fields.admits_every_origin());
    let lists = of_route(&config, 1);
    assert_eq!((&lists.root, lists.pages.listing), (&None, true));
    assert_eq!(lists.pages.fallback.as_deref(), Some("app.html"));
    assert_eq!(lists.pages.templates().len(), 3);
    assert!(matches!(config.routes[2].action, Action::Files));
    assert_eq!(of_route(&config, 3).strips, None);
    assert!(!config.files.pages.listing);
}

#[test]
fn files_of_a_route_are_beside_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("weir.toml");
    std::fs::write(&file, "[[route]]\npath = \"/\"\nroot = \"public\"\n").unwrap();
    let config = Config::from_settings(super::super::read(&file).unwrap()).unwrap();
    assert_eq!(of_route(&config, 0).root, Some(directory.path().join("public")));
}

#[test]
fn what_is_wrong_is_named_with_its_line() {
    for (text, message) in [
        ("index = \"a/b\"", "1: \"a/b\" is not the name of an index"),
        ("root = \".\"\ntry_files = \"/x\"", "2: cannot try \"/x\": it does not hold {path}"),
        ("fallback = \"index.html\"", "1: \"index.html\" is not the path of a page"),
        ("listing = \"yes\"", "1: invalid type: string \"yes\""),
        ("\nerror_pages = { 200 = \"/a\" }", "2: \"200\" is not the status of an error"),
        ("types = { foo = \"a/b\" }", "1: \"foo\" is not the extension"),
        ("cache_control = { \"a/b\" = \"no-cache\" }", "1: \"a/b\" is not a pattern"),
        ("cache_control = 5", "1: invalid type: integer `5`, expected a value of Cache-Control"),
        (
            "headers = { sets = { a = \"b\" } }",
            "1: unknown key `sets` of `headers`; did you mean `set`?",
        ),
        ("headers = { set = { Date = \"x\" } }", "1: the field date is that of the server"),
        ("headers = { remove = [\"Content-Range\"] }", "1: the field content-range says which"),
        ("headers = { remove = [\"Vary\"] }", "1: without the field vary, caches"),
        ("headers = { set = { Connection = \"x\" } }", "1: the field connection belongs"),
        ("cors = \"example.org\"", "1: \"example.org\" is not an origin"),
        ("cors = [\"*\", \"https://a\"]", "1: \"*\" is every origin; write it alone"),
        (
            "cors = \"*\"\nheaders = { set = { Access-Control-Allow-Origin = \"*\" } }",
            "2: access-control-allow-origin is what `cors` says",
        ),
        // Nor in two tables: the route's own, and what is said above for all.
        (
            "root = \".\"\nheaders = { set = { Access-Control-Allow-Origin = \"*\" } }\n\
             [[route]]\npath = \"/a\"\nfiles = true\ncors = \"*\"",
            "3: `headers`: access-control-allow-origin is what `cors` says",
        ),
        ("clean_urls = true\ntry_files = \"{path}\"", "2: `clean_urls` says where"),
        ("lsting = true", "1: unknown key `lsting`; did you mean `listing`?"),
        (
            "[[route]]\npath = \"/\"\nbackends = \"http://a\"\nlisting = true",
            "4: `listing` has no effect on a route that has backends; remove it",
        ),
        (
            "[[route]]\npath = \"/\"\nredirect = \"/a\"\nroot = \"/\"",
            "1: a route has either `backends`",
        ),
        ("[[route]]\npath = \"/\"\nlisting = true", "1: a route needs `backends`"),
        (
            "root = \".\"\n[[route]]\npath = \"/a\"\nfiles = true\nheaders = { st = {} }",
            "5: unknown key `st` of `headers`",
        ),
        (
            "[[route]]\npath = \"/a\"\nfiles = true\nlisting = true",
            "the [[route]] in line 1 is one of files, but there is no `root`",
        ),
    ] {
        let error = error(text);
        assert!(error.starts_with(message), "{text}: {error}");
    }
}

#[test]
fn a_restricted_file_with_a_second_path_is_told() {
    let told = |keys: &str, path: &str, access: &str| {
        let text = format!(
            "root = \"/srv\"\n{keys}\n[[route]]\npath = \"{path}\"\nfiles = true\n{access}\n"
        );
        config(&text).warnings()
    };
    let password = "basic_auth = \"/users\"";
    for (keys, path, access, other) in [
        ("clean_urls = true", "/a/secret.html", password, "/a/secret"),
        (
            "try_files = [\"{path}\", \"{path}.txt\"]",
            "/secret.txt",
            "deny = \"10.0.0.0/8\"",
            "/secret",
        ),
        ("", "/a/index.html", "allow = \"10.0.0.0/8\"", "/a/"),
        ("index = \"home.htm\"", "/home.htm", password, "/"),
        ("precompressed = true", "/a/report.html", password, "/a/report.html.zst"),
        ("precompressed = true", "/a.css", "allow = \"10.0.0.0/8\"", "/a.css.zst"),
    ] {
        let told = told(keys, path, access);
        let expected = format!("served as \"{other}\"");
        assert!(told.len() == 1 && told[0].contains(&expected), "{path}: {told:?}");
    }
    for (keys, path, access) in [
        ("clean_urls = true", "/a/secret.html", "limit_requests = 5"),
        ("clean_urls = true", "/a", password),
        ("clean_urls = true", "/", password),
        ("", "/secret.html", password),
        ("precompressed = true", "/secret.html", "limit_requests = 5"),
        ("precompressed = true", "/v1.2/secret", password),
        ("compress = true", "/secret.html", password),
    ] {
        assert_eq!(told(keys, path, access), [""; 0], "{path}");
    }
    // Both ways, and all copies.
    let told = told("precompressed = true\nclean_urls = true", "/secret.html", password);
    assert!(told.len() == 2 && told[0].contains("served as \"/secret\""), "{told:?}");
    for copy in ["\"/secret.html.zst\"", "\"/secret.html.br\"", "\"/secret.html.gz\""] {
        assert!(told[1].contains(copy), "{told:?}");
    }
    // What was restricted as well is left out, and has no copies of its own.
    let route = |path: &str| format!("[[route]]\npath = \"{path}\"\nfiles = true\n{password}\n");
    let text = format!("root = \"/srv\"\nprecompressed = true\n{}", route("/a.css"));
    let text = format!("{text}{}{}", route("/a.css.zst"), route("/a.css.br"));
    let told = config(&text).warnings();
    assert!(told.len() == 1 && told[0].contains("served as \"/a.css.gz\", which"), "{told:?}");
    assert_eq!(config(&format!("{text}{}", route("/a.css.gz"))).warnings(), [""; 0]);
    // What is taken off a path is no file.
    let text = "precompressed = true\nroot = \"/srv\"\n[[route]]\npath = \"/v1.2\"\nroot = \"/v1\"\n\
                strip_prefix = true\nbasic_auth = \"/users\"\n";
    assert_eq!(config(text).warnings(), [""; 0]);
}

#[test]
fn a_key_without_a_directory_has_no_effect() {
    let told = |text: &str| config(text).without_effect;
    for text in
        ["listing = true", "types = { \".a\" = \"a/b\" }", "proxy = \"/=http://a\"\nindex = \"a\""]
    {
        let told = told(text);
        assert!(told.len() == 1 && told[0].ends_with("no directory is served"), "{told:?}");
    }
    assert_eq!(told("root = \".\"\nlisting = true"), [""; 0]);
    assert_eq!(told("listing = true\n[[route]]\npath = \"/\"\nroot = \".\""), [""; 0]);
    let max_age = told("root = \".\"\ncors_max_age = \"1h\"");
    assert_eq!(max_age, ["`cors_max_age` has no effect: there is no `cors`"]);
}
