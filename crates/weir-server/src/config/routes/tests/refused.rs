//! Routes that are refused: each error says where, what is wrong and what to do.

use proptest::prelude::*;

use super::{ROUTE, error};
use crate::config::parse;

#[test]
fn an_unknown_key_names_its_line_and_the_nearest() {
    for (added, message) in [
        ("blance = 1", "4: unknown key `blance` of a route; did you mean `balance`?"),
        ("uplink = \"1mbit\"", "4: `uplink` is not a key of a route; it belongs above the first"),
        ("qqq = 1", "4: unknown key `qqq` of a route; the keys are host, path,"),
        ("\n[route.health]\npth = \"/\"", "6: unknown key `pth` of `health`; did you mean `path`?"),
        (
            "request_headers = { sets = { a = \"b\" } }",
            "4: unknown key `sets` of `request_headers`; did you mean `set`?",
        ),
        ("max-body = 1\nmax_body = 2", "5: `max_body` is written twice"),
        ("path = \"/\"", "4: duplicate key"),
    ] {
        let error = error(&format!("{ROUTE}{added}\n"));
        assert!(error.starts_with(message), "{added}: {error}");
    }
}

#[test]
fn a_wrong_value_names_its_line_and_what_would_be_right() {
    for (added, message) in [
        ("balance = \"best\"", "4: no balance is called \"best\"; there are round-robin,"),
        ("backend_limit = 0", "4: "),
        ("backend_order = \"best\"", "4: "),
        ("priority = 256", "4: \"256\" is not a whole number from 0 to 255"),
        ("max_queue = 0", "4: \"0\" is not a whole number from 1"),
        ("queue_timeout = \"0s\"", "4: \"0s\" is not a time above zero"),
        (
            "disconnect_detection = \"no\"",
            "4: \"no\" is not a way to detect that a client has left; write",
        ),
        ("detect_when = \"never\"", "4: \"never\" is not a time to look"),
        (
            "half_closed = \"x\"",
            "4: \"x\" is not what a half-closed client is taken for; write gone,",
        ),
        (
            "disconnect_detection = \"peek\"\nhalf_closed = \"alive\"",
            "5: only disconnect_detection = \"event\" can",
        ),
        ("retries = 11", "4: \"11\" is not a whole number from 0 to 10"),
        ("retries = \"many\"", "4: \"many\" is not a whole number"),
        ("forwarded = \"yes\"", "4: \"yes\" is not a way to tell of the client"),
        ("overflow = \"drop\"", "4: \"drop\" is not what happens to large bodies"),
        ("buffer = \"1xb\"", "4: \"1xb\" is not a size"),
        ("cancels_on_disconnect = \"yes\"", "4: invalid type: string \"yes\""),
        ("host = \"http://a\"", "4: \"http://a\" is not a host"),
        ("host = \"a:80\"", "4: \"a:80\" is not a host; write a name without scheme, port"),
        ("host = \"*\"", "4: leave `host` out"),
        ("host = \"bü.example\"", "4: write the host"),
        ("host_header = \"a b\"", "4: \"a b\" is not a Host"),
        ("rewrite = \"v2\"", "4: the path \"v2\" does not begin with a slash; write \"/v2\""),
        ("rewrite = \"/a?b\"", "4: the path \"/a?b\" holds `?`"),
        ("health = 1", "4: invalid type: integer `1`"),
        ("\n[route.health]\npath = \"ok\"", "6: the path \"ok\" does not begin with a slash"),
        ("\n[route.health]\ntimeout = \"9s\"", "5: the `timeout` of `health` is longer"),
        ("request_headers = { set = { \"A B\" = \"\" } }", "4: \"A B\" is not the name of a field"),
        ("request_headers = { set = { A = \"\\n\" } }", "4: the value of a holds"),
        ("request_headers = { set = { A = \"1\", a = \"2\" } }", "4: the field a is set twice"),
        (
            "request_headers = { set = { A = \"1\" }, remove = [\"a\"] }",
            "4: the field a is named twice",
        ),
        ("request_headers = { remove = [\"Host\"] }", "4: what backends see as Host"),
        (
            "response_headers = { set = { Connection = \"close\" } }",
            "4: the field connection belongs",
        ),
        ("response_headers = { remove = [\"Content-Length\"] }", "4: the field content-length"),
        ("backend_name = \"a:1\"", "4: \"a:1\" is not what a certificate is for; write a name"),
        ("backend_name = \"*.a\"", "4: \"*.a\" is not what a certificate is for"),
        (
            "backend_ca = \"ca.pem\"",
            "4: `backend_ca` has no effect: no backend of the route begins",
        ),
        ("strip_prefix = true\nrewrite = \"/\"", "4: `rewrite` takes the prefix off already"),
        ("weights = [1, 2]", "4: `weights` has 2 numbers and `backends` 1 addresses; write one"),
        ("weights = [0]", "4: \"0\" is not a whole number from 1 to 1000"),
        ("weights = 3", "4: invalid type: integer `3`, expected an array of whole numbers"),
        ("buffering = \"no\"", "4: invalid type: string \"no\""),
        ("deny = [\"10.0.0.0/8\", \"here\"]", "4: \"here\" is not an address or a network"),
        ("limit_requests = \"0/s\"", "4: \"0/s\" is not a rate of requests"),
        ("limit_burst = 5", "4: `limit_burst` has no effect without `limit_requests`; write that"),
        ("basic_auth_realm = \"a\"", "4: `basic_auth_realm` has no effect without `basic_auth`"),
        (
            "basic_auth = \"f\"\nbasic_auth_realm = \"a\\nb\"",
            "5: \"a\\nb\" is not what browsers can show everywhere; write a few words",
        ),
        ("trusted_proxies = \"::1\"", "4: `trusted_proxies` is not a key of a route; it belongs"),
        ("files = true", "1: a route has either `backends`"),
        ("status = 301", "4: `status` has no effect on a route that has backends"),
        ("redirect = \"/\"", "1: a route has either `backends`"),
    ] {
        let error = error(&format!("{ROUTE}{added}\n"));
        assert!(error.starts_with(message), "{added}: {error}");
    }
}

#[test]
fn an_invalid_route_names_its_line() {
    let file = |keys: &str| format!("log = \"info\"\n\n[[route]]\npath = \"/\"\n{keys}\n");
    for (text, message) in [
        (file(""), "3: a route needs `backends`, such as"),
        (file("files = false"), "3: a route needs `backends`"),
        (file("backends = []"), "5: a route to backends needs one at least"),
        (file("backends = [\"http://a\", \"http://A:80\"]"), "5: the backend http://a:80 is named"),
        (file("files = true"), "the [[route]] in line 3 is one of files, but there is no `root`"),
        (file("files = true\nbalance = \"hash\""), "6: `balance` has no effect on a route of"),
        (file("redirect = \"/a\"\nretries = 1"), "6: `retries` has no effect on a route that re"),
        (file("redirect = \"/a\"\nstatus = 303"), "6: \"303\" is not the status of a redirect"),
        (
            "[[route]]\npath = \"/\"\nbackends = \"https://a\"\nbackend_key = \"a.key\"".to_owned(),
            "4: `backend_key` is the key of a certificate; name that as `backend_certificate`",
        ),
        ("[[route]]\nfiles = true".to_owned(), "1: a route needs a `path`"),
        ("[[route]]\npath = \"app\"".to_owned(), "2: the path \"app\" does not begin with a slash"),
        ("[[route]]\npath = \"/a%20b\"".to_owned(), "2: the path \"/a%20b\" holds `%`; write it"),
        ("[[route]]\npath = \"/a;b\"".to_owned(), "2: the path \"/a;b\" holds `;`; write it"),
        ("[[route]]\npath = '/a\\b'".to_owned(), "2: the path \"/a\\b\" holds `\\\\`; write it"),
        ("[[route]]\npath = \"/a//b\"".to_owned(), "2: the path \"/a//b\" holds a segment that is"),
        ("[[route]]\npath = \"/..\"".to_owned(), "2: the path \"/..\" holds a segment that is"),
        ("[[route]]\npath = \"//\"".to_owned(), "2: the path \"//\" holds a segment that is"),
        (
            format!("{ROUTE}{ROUTE}"),
            "4: the second route for \"/app\" on every host, after that in line 1",
        ),
        (
            format!("{ROUTE}host = \"a\"\n\n{ROUTE}\n{ROUTE}host = \"A\""),
            "10: the second route for \"/app\" on a, after that in line 1",
        ),
        (
            format!("proxy = \"/app/=http://a\"\n{ROUTE}"),
            "2: the second route for \"/app\" on every host, after that in line 1",
        ),
        (
            "\nproxy = [\"/=http://a\", \"/=http://b\"]".to_owned(),
            "2: `proxy` names \"/\" twice; write its backends after it, with commas",
        ),
    ] {
        let error = error(&text);
        assert!(error.starts_with(message), "{text}: {error}");
    }
}

#[test]
fn redirects_do_not_let_the_client_choose_the_host() {
    for (to, message) in [
        ("https://{rest}", "that names no host"),
        ("https://www.example.org{rest}", "write a slash before it"),
        ("https:///x", "that names no host"),
        ("//{rest}", "write a path that begins with one slash"),
        ("{rest}", "write a path that begins with one slash"),
        ("ftp://a/", "write a path that begins with one slash"),
        ("/a?{rest}", "write a slash before it"),
        ("/a?b=/{rest}", "write a slash before it"),
        ("/x{rest}", "write a slash before it"),
        ("/{rest}/x", "only at the end"),
        ("/{path}", "only {rest} may stand in braces"),
        ("/ü", "percent-encoded"),
        ("/a b", "percent-encoded"),
    ] {
        let error = error(&format!("[[route]]\npath = \"/\"\nredirect = \"{to}\""));
        assert!(error.starts_with("3: cannot redirect to"), "{to}: {error}");
        assert!(error.contains(message), "{to}: {error}");
    }
}

proptest! {
    #[test]
    fn no_file_panics(text in "(\\[\\[?route\\]?\\]|path|health|set|[a-z_]{1,4}| = |\"/?\"|\\{|\\}|\\[|\\]|[0-9]|\n|\\.){0,20}") {
        let _ = parse(&text);
    }
}
