//! Shows that a trusted proxy is believed who asks through it, and nobody else is: in what backends are
//! told, in the log, in networks and limits, in hashing and at the gates.

use std::fs;

use crate::support::{Backend, Client, Server, eventually, held, route, wait_for_waiting};

/// Everything goes to `backend`; a proxy at 127.0.0.1 is trusted.
fn behind(keys: &str, backend: &Backend, keys_of_route: &str) -> String {
    let route = route("/", &[&backend.url]);
    format!("trusted_proxies = \"127.0.0.1\"\n{keys}{route}{keys_of_route}")
}

#[test]
fn the_client_is_the_first_hop_from_the_right_that_is_not_trusted() {
    let backend = Backend::saying("");
    let server = Server::configured(&behind("", &backend, "forwarded = \"both\"\n"), &[]);
    // One connection serves many clients.
    let mut proxy = server.connect();
    for (fields, client) in [
        ("", "127.0.0.1"),
        ("X-Forwarded-For: 192.0.2.1\r\n", "192.0.2.1"),
        ("X-Forwarded-For: 6.6.6.6, 192.0.2.1, 127.0.0.1\r\n", "192.0.2.1"),
        ("X-Forwarded-For: 6.6.6.6\r\nX-Forwarded-For: 2001:db8::7\r\n", "2001:db8::7"),
        ("X-Forwarded-For: 6.6.6.6, unknown\r\n", "127.0.0.1"),
        // Not the field that is believed.
        ("Forwarded: for=6.6.6.6\r\nX-Real-IP: 6.6.6.6\r\n", "127.0.0.1"),
    ] {
        assert_eq!(proxy.get_with("/", fields).status, 200);
        let asked = backend.requests().pop().expect("a request");
        assert_eq!(asked.fields("X-Forwarded-For"), [client], "{fields}");
        assert_eq!(asked.fields("X-Forwarded-Host"), ["weir"]);
        let standard = asked.fields("Forwarded").join(", ");
        assert!(standard.contains(client), "{standard}");
        assert!(!asked.head.contains("6.6.6.6"), "{}", asked.head);
    }
    let lies = "X-Forwarded-For: 6.6.6.6\r\nX-Forwarded-Proto: https\r\n";
    let mut other = Client::connect_from([127, 0, 0, 2].into(), server.address());
    assert_eq!(other.get_with("/", lies).status, 200);
    let asked = backend.requests().pop().expect("a request");
    assert_eq!(asked.fields("X-Forwarded-For"), ["127.0.0.2"]);
    assert_eq!(asked.fields("X-Forwarded-Proto"), ["http"]);
}

#[test]
fn the_field_that_is_believed_can_be_the_standard_one() {
    let backend = Backend::saying("");
    let keys = "client_address_field = \"forwarded\"\n";
    let server = Server::configured(&behind(keys, &backend, ""), &[]);
    let fields = "X-Forwarded-For: 6.6.6.6\r\nX-Forwarded-Proto: http\r\n\
                  Forwarded: for=6.6.6.6, for=\"[2001:db8::7]:1\";proto=https\r\n";
    assert_eq!(server.connect().get_with("/", fields).status, 200);
    let asked = backend.only();
    assert_eq!(asked.fields("X-Forwarded-For"), ["2001:db8::7"]);
    assert_eq!(asked.fields("X-Forwarded-Proto"), ["https"], "as the proxy was asked");
}

/// Otherwise an application that sends its clients to HTTPS would do so for ever.
#[test]
fn the_scheme_is_that_of_the_client_however_many_proxies_there_are() {
    let backend = Backend::saying("");
    for (keys, fields) in [
        (
            "client_address_field = \"forwarded\"\n",
            "Forwarded: for=192.0.2.1;proto=https, for=127.0.0.1;proto=http\r\n",
        ),
        (
            "",
            "X-Forwarded-For: 6.6.6.6, 192.0.2.1, 127.0.0.1\r\n\
             X-Forwarded-Proto: http, https, http\r\n",
        ),
        ("", "X-Forwarded-For: 192.0.2.1, 127.0.0.1\r\nX-Forwarded-Proto: https\r\n"),
    ] {
        let server = Server::configured(&behind(keys, &backend, ""), &[]);
        assert_eq!(server.connect().get_with("/", fields).status, 200);
        let asked = backend.requests().pop().expect("a request");
        assert_eq!(asked.fields("X-Forwarded-For"), ["192.0.2.1"], "{fields}");
        assert_eq!(asked.fields("X-Forwarded-Proto"), ["https"], "{fields}");
    }
}

/// What a proxy in front says of the host and the path that clients name.
const OUTSIDE: &str = "X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Host: www.example.org\r\n\
                       X-Forwarded-Prefix: /outer\r\n\
                       Forwarded: for=192.0.2.1;host=in.forwarded\r\n";

#[test]
fn backends_are_told_the_host_and_the_path_that_a_trusted_proxy_names() {
    let (host, prefix) = ("X-Forwarded-Host", "X-Forwarded-Prefix");
    let (named, removed) =
        (&["www.example.org"][..], "request_headers = { remove = [\"X-Forwarded-Prefix\"] }\n");
    for (keys, keys_of_route, told, outer, standard) in [
        ("", "", named, &["/outer"][..], ""),
        ("", "forwarded = \"both\"\n", named, &["/outer"], "www.example.org"),
        ("", "forwarded = \"standard\"\n", &[], &[], "www.example.org"),
        ("", "forwarded = \"off\"\n", &[], &[], ""),
        ("", removed, named, &[], ""),
        // Only one field is believed, with what belongs to it.
        ("client_address_field = \"forwarded\"\n", "", &["in.forwarded"], &[], ""),
    ] {
        let backend = Backend::saying("");
        let server = Server::configured(&behind(keys, &backend, keys_of_route), &[]);
        assert_eq!(server.connect().get_with("/", OUTSIDE).status, 200);
        let asked = backend.only();
        assert_eq!(asked.fields(host), told, "{keys}{keys_of_route}");
        assert_eq!(asked.fields(prefix), outer, "{keys}{keys_of_route}");
        assert_eq!(asked.fields("Host"), ["weir"]);
        let forwarded = asked.fields("Forwarded").concat();
        assert!(forwarded.contains(standard), "{forwarded}");
        assert!(!forwarded.contains("in.forwarded"), "{forwarded}");
        // Of anybody else it is replaced.
        let mut other = Client::connect_from([127, 0, 0, 2].into(), server.address());
        assert_eq!(other.get_with("/", OUTSIDE).status, 200);
        let asked = backend.requests().pop().expect("a request");
        for lie in ["example.org", "outer", "in.forwarded"] {
            assert!(!asked.head.contains(lie), "{}", asked.head);
        }
    }
}

#[test]
fn what_a_proxy_in_front_has_taken_off_comes_before_the_path_of_the_route() {
    let backend = Backend::new(|call| {
        let host = call.asked.fields("X-Forwarded-Host").concat();
        let prefix = call.asked.fields("X-Forwarded-Prefix").concat();
        let fields = format!(
            "Location: http://{host}{prefix}/login\r\nContent-Location: http://{host}/page\r\n\
             Set-Cookie: a=b; Path={prefix}/in\r\n"
        );
        call.ok_with(&fields, "")
    });
    let route = route("/app", &[&backend.url]);
    let keys = "trusted_proxies = \"127.0.0.1\"\n";
    let server = Server::configured(&format!("{keys}{route}strip_prefix = true\n"), &[]);
    for (last, host, prefix) in [(1, "www.example.org", "/outer/app"), (2, "weir", "/app")] {
        let mut client = Client::connect_from([127, 0, 0, last].into(), server.address());
        let answer = client.get_with("/app/x", OUTSIDE);
        let asked = backend.requests().pop().expect("a request");
        assert_eq!(asked.fields("X-Forwarded-Prefix"), [prefix]);
        // An application that knows of it all is not corrected; the proxy in front adds what is its own.
        let location = format!("http://{host}{prefix}/login");
        assert_eq!(answer.field("Location"), Some(&*location));
        let page = format!("http://{host}/app/page");
        assert_eq!(answer.field("Content-Location"), Some(&*page));
        let cookie = format!("a=b; Path={prefix}/in");
        assert_eq!(answer.field("Set-Cookie"), Some(&*cookie));
    }
}

#[test]
fn backends_see_the_whole_way_where_the_route_keeps_it() {
    let backend = Backend::saying("");
    let server = Server::configured(&behind("", &backend, "trust_forwarded = true\n"), &[]);
    let fields = "X-Forwarded-For: 6.6.6.6, 192.0.2.1\r\nX-Forwarded-Proto: https\r\n";
    assert_eq!(server.connect().get_with("/", fields).status, 200);
    let asked = backend.only();
    assert_eq!(asked.fields("X-Forwarded-For"), ["6.6.6.6, 192.0.2.1, 127.0.0.1"]);
    assert_eq!(asked.fields("X-Forwarded-Proto"), ["https"]);
}

#[test]
fn the_log_the_networks_and_the_limits_go_by_that_client() {
    let directory = tempfile::tempdir().unwrap();
    let log = directory.path().join("access.log");
    let backend = Backend::saying("");
    let keys = "deny = \"192.0.2.9\"\nlimit_requests = \"1/h\"\nlimit_connections = 1\n";
    let text = behind(keys, &backend, "");
    let server = Server::configured(&text, &["--access-log", log.to_str().unwrap()]);
    // The proxy itself has as many connections as it likes.
    let mut proxies = [server.connect(), server.connect()];
    let mut expected = Vec::new();
    for (number, (client, status)) in
        [(9, 403), (1, 200), (1, 429), (2, 200), (9, 403), (2, 429)].into_iter().enumerate()
    {
        let fields = format!("X-Forwarded-For: 6.6.6.6, 192.0.2.{client}\r\n");
        assert_eq!(proxies[number % 2].get_with("/", &fields).status, status, "{number}");
        expected.push((format!("192.0.2.{client} - - ["), format!("\" {status} ")));
    }
    // Another one is itself, whatever it says.
    let mut other = Client::connect_from([127, 0, 0, 2].into(), server.address());
    for (client, status) in [(3, 200), (4, 429)] {
        let fields = format!("X-Forwarded-For: 192.0.2.{client}\r\n");
        assert_eq!(other.get_with("/", &fields).status, status);
        expected.push(("127.0.0.2 - - [".to_owned(), format!("\" {status} ")));
    }
    let lines = || fs::read_to_string(&log).unwrap_or_default();
    eventually("every response has a line", || lines().lines().count() == expected.len());
    let lines = lines();
    // The lines of different workers come in any order.
    for (start, status) in &expected {
        let is_it = |line: &&str| line.starts_with(start.as_str()) && line.contains(status);
        let count = expected.iter().filter(|other| **other == (start.clone(), status.clone()));
        assert_eq!(lines.lines().filter(is_it).count(), count.count(), "{start} {status}: {lines}");
    }
    assert_eq!(backend.requests().len(), 3);
}

#[test]
fn clients_of_one_proxy_are_spread_over_backends() {
    let backends = ["0", "1", "2", "3"].map(Backend::saying);
    let urls = backends.each_ref().map(|backend| backend.url.as_str());
    let route = route("/", &urls);
    let text = format!("trusted_proxies = \"127.0.0.1\"\n{route}balance = \"hash\"\n");
    let server = Server::configured(&text, &[]);
    let mut proxy = server.connect();
    let mut said = || -> Vec<String> {
        let ask = |client: usize| {
            proxy.get_with("/", &format!("X-Forwarded-For: 192.0.2.{client}\r\n")).text()
        };
        (1..=20).map(ask).collect()
    };
    let first = said();
    assert_eq!(said(), first, "each stays with one");
    assert!(first.iter().any(|backend| *backend != first[0]), "{first:?}");
}

#[test]
fn a_client_that_asks_much_through_a_proxy_waits_behind_one_that_asks_little() {
    let (backend, barrier) = held();
    let keys = "backend_limit = 1\nbackend_order = \"fifo\"\n";
    let server = Server::configured(&behind("workers = 1\n", &backend, keys), &[]);
    let ask = |client: &str, path: &str| {
        let mut proxy = server.connect();
        proxy.ask_with(path, &format!("X-Forwarded-For: {client}\r\n"));
        proxy
    };
    let mut waiting = vec![ask("192.0.2.1", "/first")];
    backend.wait_for_requests(1);
    for count in 1..=4 {
        waiting.push(ask("192.0.2.1", "/much"));
        wait_for_waiting(&server, count);
    }
    waiting.push(ask("192.0.2.9", "/modest"));
    wait_for_waiting(&server, 5);
    barrier.open(6);
    waiting.iter_mut().for_each(|proxy| assert_eq!(proxy.response().status, 200));
    let targets = backend.targets();
    let place = targets.iter().position(|target| target == "/modest");
    assert!(place.is_some_and(|place| place <= 2), "{targets:?}");
}
