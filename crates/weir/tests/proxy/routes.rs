//! Shows which requests go to which backend, and with which path and fields.

use std::fs;

use crate::support::{Backend, Barrier, Refusing, Server, Then};
use crate::support::{asking, eventually, held, route};

#[test]
fn the_longest_prefix_takes_the_request() {
    let (all, api, deep) =
        (Backend::saying("all"), Backend::saying("api"), Backend::saying("deep"));
    let server = Server::builtin(&[
        "--proxy",
        &format!("/={}", all.url),
        "--proxy",
        &format!("/api={}", api.url),
        "--proxy",
        &format!("/api/deep/={}", deep.url),
    ]);
    let mut client = server.connect();
    for (path, expected) in [
        ("/", "all"),
        ("/apis", "all"),
        ("/x/api", "all"),
        ("/API", "all"),
        ("/api/../x", "all"),
        ("/api/%2e%2e/x", "all"),
        ("/api", "api"),
        ("/api?x", "api"),
        ("/api/", "api"),
        ("/a%70i/x", "api"),
        ("/x/../api/y", "api"),
        ("/api/deeper", "api"),
        ("/api/deep", "deep"),
        ("/api/deep/x/y", "deep"),
    ] {
        assert_eq!(client.get(path).text(), expected, "{path}");
    }
    let bad = server.get("/api/%00");
    assert_eq!(bad.status, 400);
    assert_eq!(server.get("/../../x").status, 400);
}

#[test]
fn a_path_that_backends_read_differently_is_refused_on_every_route() {
    let (all, admin) = (Backend::saying("all"), Backend::saying("admin"));
    let site = tempfile::tempdir().unwrap();
    fs::write(site.path().join("a\\b"), "a file that a backslash names").unwrap();
    let routes = [
        route("/", &[&all.url]),
        route("/admin", &[&admin.url]),
        "[[route]]\npath = \"/files\"\nfiles = true\n".to_owned(),
        "[[route]]\npath = \"/old\"\nredirect = \"/{rest}\"\n".to_owned(),
    ];
    let root = format!("root = {:?}\n", site.path());
    let server = Server::configured(&(root + &routes.concat()), &[]);
    let mut client = server.connect();
    for path in [
        "/admin/..;/x",
        "/admin/..;a=b/x",
        "/admin/%2e%2e%3b/x",
        "/x/..;/admin",
        "/.;/admin",
        "/admin/..\\x",
        "/admin/..%5cx",
        "/\\admin",
        "/x\\..\\admin",
        "/%5Cadmin",
        "/old/\\evil.example",
        "/files/a%5cb",
        // With the parameters this is for `/`, without them for `/admin`.
        "/admin;x",
        "/;x/admin",
        "/admin%3Bx/y",
    ] {
        assert_eq!(client.get(path).status, 400, "{path}");
    }
    for (path, expected) in [
        ("/x;y=z/a", "all"),
        ("/administration;x", "all"),
        ("/admin/x;jsessionid=1", "admin"),
        ("/admin/..a;b", "admin"),
        ("/?\\..;/admin", "all"),
    ] {
        assert_eq!(client.get(path).text(), expected, "{path}");
    }
    assert_eq!((all.requests().len(), admin.requests().len()), (3, 2));
}

#[test]
fn what_no_route_takes_is_not_found() {
    let backend = Backend::saying("");
    let server = Server::builtin(&["--proxy", &format!("/app={}", backend.url)]);
    let mut client = server.connect();
    for path in ["/", "/ap", "/index.html", "/application"] {
        assert_eq!(client.get(path).status, 404, "{path}");
    }
    assert_eq!(client.get("/app/x").status, 200);
    assert_eq!(backend.targets(), ["/app/x"]);
}

#[test]
fn files_and_backends_stand_beside_each_other() {
    let site = tempfile::tempdir().unwrap();
    fs::write(site.path().join("index.html"), "the page").unwrap();
    fs::create_dir(site.path().join("api")).unwrap();
    fs::write(site.path().join("api/secret"), "a file that the route hides").unwrap();
    let backend = Backend::echoing_targets();
    let server = Server::of(site.path(), &["--proxy", &format!("/api={}", backend.url)]);
    let mut client = server.connect();
    for _ in 0..2 {
        assert_eq!(client.get("/").text(), "the page");
        assert_eq!(client.get("/api/secret").text(), "/api/secret");
        assert_eq!(client.get("/missing").status, 404);
        client.send("POST /api/x HTTP/1.1\r\nHost: weir\r\nContent-Length: 2\r\n\r\nab");
        assert_eq!(client.response().text(), "/api/x");
    }
    // All in one piece, of which every second is a file.
    client.send(
        "GET / HTTP/1.1\r\nHost: weir\r\n\r\nGET /api HTTP/1.1\r\nHost: weir\r\n\r\n".repeat(5),
    );
    for _ in 0..5 {
        assert_eq!(client.response().text(), "the page");
        assert_eq!(client.response().text(), "/api");
    }
}

#[test]
fn hosts_have_routes_of_their_own() {
    let backends = ["one", "any", "rest"].map(Backend::saying);
    let [one, any, rest] = &backends;
    let text = [
        route("/", &[&one.url]) + "host = \"one.example\"\n",
        route("/", &[&any.url]) + "host = \"*.example\"\n",
        route("/", &[&rest.url]),
    ];
    let server = Server::configured(&text.concat(), &[]);
    let mut client = server.connect();
    for (host, expected) in [
        ("one.example", "one"),
        ("ONE.example", "one"),
        ("one.example:8080", "one"),
        ("one.example.", "one"),
        ("two.example", "any"),
        ("a.b.example", "any"),
        ("example", "rest"),
        ("one.example.org", "rest"),
        ("127.0.0.1", "rest"),
    ] {
        client.send(format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        assert_eq!(client.response().text(), expected, "{host}");
    }
    assert_eq!(any.requests()[0].fields("Host"), ["two.example"]);
    // A backend could take these for names that have a route of their own.
    let before = rest.requests().len();
    for host in
        ["one.example..", "one..example", ".one.example", "one%2eexample", "one.example%00", "."]
    {
        let mut client = server.connect();
        client.send(format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        assert_eq!(client.response().status, 400, "{host}");
        let mut client = server.connect();
        client.send(format!("GET http://{host}/ HTTP/1.1\r\nHost: one.example\r\n\r\n"));
        assert_eq!(client.response().status, 400, "{host}");
    }
    assert_eq!(rest.requests().len(), before);
}

#[test]
fn paths_are_stripped_and_rewritten() {
    let backend = Backend::echoing_targets();
    let url = [backend.url.as_str()];
    let text = [
        route("/strip", &url) + "strip_prefix = true\n",
        route("/old", &url) + "rewrite = \"/new\"\n",
        route("/kept", &url),
    ];
    let server = Server::configured(&text.concat(), &[]);
    let mut client = server.connect();
    for (path, expected) in [
        ("/strip/a%20b/?c=d", "/a%20b/?c=d"),
        ("/strip", "/"),
        ("/strip?x", "/?x"),
        ("/strip/a%2Fb", "/a%2Fb"),
        ("/old/a?b", "/new/a?b"),
        ("/old", "/new"),
        ("/x/../old/a", "/new/a"),
        ("/kept/a", "/kept/a"),
    ] {
        assert_eq!(client.get(path).text(), expected, "{path}");
    }
    // Nothing outside of the prefix can be reached by way of it.
    for path in ["/strip/../secret", "/old/%2e%2e/secret", "/strip/..%2fsecret"] {
        assert_eq!(client.get(path).status, 404, "{path}");
    }
}

#[test]
fn redirects_lead_elsewhere_without_a_backend() {
    let text = "[[route]]\npath = \"/old\"\nredirect = \"https://www.example.org/new/{rest}\"\n\
                [[route]]\npath = \"/gone\"\nredirect = \"/here\"\nstatus = 302\n";
    let server = Server::configured(text, &[]);
    let mut client = server.connect();
    for (path, status, location) in [
        ("/old/a%20b?c=d", 308, "https://www.example.org/new/a%20b?c=d"),
        ("/old", 308, "https://www.example.org/new/"),
        ("/old//evil.example", 308, "https://www.example.org/new/evil.example"),
        ("/gone/x", 302, "/here"),
    ] {
        let answer = client.get(path);
        assert_eq!((answer.status, answer.field("Location")), (status, Some(location)), "{path}");
    }
    // The body of a request that nobody reads must not be taken for the next request.
    client.send("POST /gone HTTP/1.1\r\nHost: weir\r\nContent-Length: 33\r\n\r\n");
    client.send("GET /old HTTP/1.1\r\nHost: weir\r\n\r\n");
    assert_eq!(client.response().status, 302);
    assert_eq!(client.get("/nowhere").status, 404, "one request, one answer");
    client.half_close();
    assert!(client.rest().is_empty());
}

#[test]
fn fields_are_set_and_removed_on_both_ways() {
    let backend = Backend::new(|call| {
        call.ok_with("Server: secret/1.2\r\nX-Powered-By: x\r\nCache-Control: no-store\r\n", "")
    });
    let keys = "host_header = \"app.internal:81\"\n\
        request_headers = { set = { \"X-Key\" = \"k 1\" }, remove = [\"Cookie\"] }\n\
        response_headers = { set = { \"Cache-Control\" = \"max-age=60\" }, \
        remove = [\"server\", \"X-Powered-By\"] }\n";
    let server = Server::routed(&[&backend.url], keys);
    let answer = server.connect().get_with("/", "Cookie: a=b\r\nX-Key: mine\r\nX-Key: too\r\n");
    assert_eq!(answer.field("Cache-Control"), Some("max-age=60"));
    assert_eq!((answer.field("Server"), answer.field("X-Powered-By")), (None, None));
    let asked = backend.only();
    assert_eq!(asked.fields("X-Key"), ["k 1"]);
    assert_eq!(asked.fields("Cookie"), [""; 0]);
    assert_eq!(asked.fields("Host"), ["app.internal:81"]);
    assert_eq!(asked.fields("X-Forwarded-Host"), ["weir"], "what the client asked for");
}

#[test]
fn what_is_set_or_removed_comes_by_no_other_way() {
    let barrier = Barrier::default();
    let held = barrier.clone();
    let backend = Backend::new(move |call| {
        call.send("HTTP/1.1 103 Early Hints\r\nX-Secret: 1\r\nX-Set: 1\r\nX-Kept: 1\r\n\r\n");
        let head = "Trailer: X-Secret, X-Set, X-Kept\r\nTransfer-Encoding: chunked\r\n";
        call.send(format!("HTTP/1.1 200 OK\r\n{head}\r\n1\r\na\r\n"));
        if call.asked.target() == "/slowly" {
            held.pass();
        }
        call.send("0\r\nX-Secret: 2\r\nX-Set: 2\r\nX-Kept: 2\r\n\r\n");
        Then::Keep
    });
    let keys = "request_headers = { set = { \"X-User\" = \"nobody\" }, remove = [\"X-Admin\"] }\n\
        response_headers = { set = { \"X-Set\" = \"0\" }, remove = [\"X-Secret\"] }\n";
    let server = Server::routed(&[&backend.url], keys);
    for path in ["/at-once", "/slowly"] {
        let mut client = server.connect();
        client.send(format!(
            "POST {path} HTTP/1.1\r\nHost: weir\r\nTE: trailers\r\nConnection: te\r\n\
             Trailer: X-User, X-Admin, X-Kept\r\nTransfer-Encoding: chunked\r\n\r\n\
             1\r\na\r\n0\r\nX-User: root\r\nx-admin: 1\r\nX-Kept: 1\r\n\r\n"
        ));
        let early = client.head();
        assert_eq!((early.status, early.field("X-Kept")), (103, Some("1")));
        assert_eq!((early.field("X-Secret"), early.field("X-Set")), (None, None));
        if path == "/slowly" {
            barrier.open(1);
        }
        let answer = client.response();
        assert_eq!((answer.status, answer.field("X-Set")), (200, Some("0")));
        assert_eq!(answer.trailers, "x-kept: 2\r\n", "{path}");
    }
    for asked in backend.requests() {
        assert_eq!((asked.fields("X-User"), asked.fields("X-Admin")), (vec!["nobody"], vec![]));
        assert_eq!(asked.trailers, "x-kept: 1\r\n");
    }
}

#[test]
fn a_backend_can_be_asked_by_its_own_name() {
    let (one, two) = (Backend::saying("1"), Backend::saying("2"));
    let server = Server::routed(&[&one.url, &two.url], "host_header = \"backend\"\n");
    for _ in 0..2 {
        assert_eq!(server.get("/").status, 200);
    }
    for backend in [one, two] {
        let host = backend.url.trim_start_matches("http://");
        assert_eq!(backend.only().fields("Host"), [host], "each by its own");
    }
}

#[test]
fn backends_take_turns() {
    let (one, two) = (Backend::saying("1"), Backend::saying("2"));
    let server = Server::builtin(&["--proxy", &format!("/={},{}", one.url, two.url)]);
    let said: String = (0..6).map(|_| server.get("/").text()).collect();
    assert!(said == "121212" || said == "212121", "{said}");
}

#[test]
fn the_backend_with_the_fewest_requests_is_asked() {
    let barrier = Barrier::default();
    let (held, passing) = (barrier.clone(), Backend::saying("free"));
    let held = Backend::new(move |call| {
        held.pass();
        call.ok("held")
    });
    for balance in ["least-requests", "two-choices"] {
        let keys = format!("balance = \"{balance}\"\n");
        let server = Server::routed(&[&held.url, &passing.url], &keys);
        let before = held.requests().len();
        // Some go to the free one first, until one is held.
        let mut waiting = server.connect();
        eventually("one is held", || {
            waiting = server.connect();
            waiting.ask("/");
            eventually("it is held or answered", || {
                held.requests().len() > before || waiting.has_answer()
            });
            held.requests().len() > before
        });
        for _ in 0..5 {
            assert_eq!(server.get("/").text(), "free", "{balance}");
        }
        barrier.open(1);
        assert_eq!(waiting.response().text(), "held");
    }
}

#[test]
fn what_belongs_together_stays_with_one_backend() {
    let backends: Vec<_> = ["0", "1", "2", "3"].map(Backend::saying).into();
    let urls: Vec<_> = backends.iter().map(|backend| backend.url.as_str()).collect();
    let server = Server::routed(&urls, "balance = \"hash-path\"\n");
    let said = |path: &str| server.get(path).text();
    let paths: Vec<_> = (0..20).map(|number| format!("/{number}")).collect();
    let first: Vec<_> = paths.iter().map(|path| said(path)).collect();
    let second: Vec<_> = paths.iter().map(|path| said(path)).collect();
    assert_eq!(first, second);
    assert!(first.iter().any(|backend| *backend != first[0]), "paths are spread: {first:?}");

    let server = Server::routed(&urls, "balance = \"hash\"\n");
    let said: Vec<_> = paths.iter().map(|path| server.get(path).text()).collect();
    assert!(said.iter().all(|backend| *backend == said[0]), "one client: {said:?}");
}

#[test]
fn a_backend_that_checks_find_ill_is_left_alone_until_it_is_well() {
    let ill = Barrier::default();
    let check = ill.clone();
    let sick = Backend::new(move |call| match call.asked.target() {
        "/check?x" if check.is_open() => call.ok("well"),
        "/check?x" => {
            call.send("HTTP/1.1 500 Ill\r\nContent-Length: 0\r\n\r\n");
            Then::Keep
        }
        _ => call.ok("sick"),
    });
    let well = Backend::new(|call| call.ok("well"));
    let keys =
        "health = { path = \"/check?x\", interval = \"20ms\", healthy = 1, unhealthy = 2 }\n";
    let server = Server::routed(&[&sick.url, &well.url], keys);
    let said = || -> String { (0..4).map(|_| server.get("/").text()).collect() };
    eventually("the ill one is not asked", || said() == "wellwellwellwell");
    ill.open(1);
    eventually("the one that is well again is asked", || said().contains("sick"));
    let log = server.log().join("\n");
    assert!(log.contains(&sick.url), "{log}");
}

#[test]
fn calls_that_fail_put_a_backend_out_for_a_time() {
    let (refusing, well) = (Refusing::new(), Backend::saying("well"));
    let keys = "max_fails = 2\nfail_timeout = \"60s\"\nretries = 0\n";
    let server = Server::routed(&[&refusing.url(), &well.url], keys);
    let statuses: Vec<_> = (0..20).map(|_| server.get("/").status).collect();
    let failed = statuses.iter().filter(|status| **status == 502).count();
    assert_eq!(failed, 2, "{statuses:?}");
    assert!(statuses[5..].iter().all(|status| *status == 200), "{statuses:?}");
}

#[test]
fn nobody_waits_for_one_backend_while_another_could_begin() {
    let (busy, barrier) = held();
    let idle = Backend::saying("idle");
    let server = Server::routed(&[&busy.url, &idle.url], "backend_limit = 1\n");
    let mut first = asking(&server, "/first");
    busy.wait_for_requests(1);
    for _ in 0..4 {
        assert_eq!(server.get("/").text(), "idle");
    }
    barrier.open(1);
    assert_eq!(first.response().text(), "/first");
}
