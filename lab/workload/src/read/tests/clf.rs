//! Common and Combined Log Format: zones, sizes, versions, quotes, addresses.

use super::*;

fn line(client: &str, time: &str, request: &str, rest: &str) -> String {
    format!("{client} - frank [{time}] \"{request}\" {rest}\n")
}

const T: &str = "10/Oct/2000:13:55:36 -0700";

fn one(request: &str, rest: &str) -> Request {
    let mut all = requests(line("::1", T, request, rest));
    assert_eq!(all.len(), 1, "{request}");
    all.remove(0)
}

#[test]
fn common_and_combined_lines_are_requests() {
    let common = one("GET /apache_pb.gif HTTP/1.0", "200 2326");
    assert_eq!((&common.path[..], common.size, common.at), ("/apache_pb.gif", Some(2326), 0.0));
    let combined =
        one("GET /a?b=c HTTP/1.1", "206 17 \"http://e.org/\\\"x\" \"Mozilla/4.08 [en] \\\" 200\"");
    assert_eq!((&combined.path[..], combined.size), ("/a?b=c", Some(17)));
}

#[test]
fn zones_are_taken_into_account() {
    let log = [
        line("a", "31/Dec/1999:23:59:59 +0000", "GET /1 HTTP/1.0", "200 1"),
        line("a", "01/Jan/2000:02:00:00 +0200", "GET /2 HTTP/1.0", "200 1"),
        line("a", "31/Dec/1999:17:30:00 -0630", "GET /3 HTTP/1.0", "200 1"),
        line("a", "29/Feb/2000:00:00:00 +0000", "GET /4 HTTP/1.0", "200 1"),
    ];
    let at: Vec<f64> = requests(log.concat()).iter().map(|r| r.at).collect();
    assert_eq!(at, [0.0, 1.0, 1.0, 1.0 + 59.0 * 86_400.0]);
}

#[test]
fn a_dash_is_an_unknown_size() {
    assert_eq!(one("GET / HTTP/1.0", "200 -").size, None);
    assert_eq!(one("GET / HTTP/1.0", "200 0").size, Some(0));
}

#[test]
fn request_lines_may_lack_a_version_and_hold_quotes_and_spaces() {
    for (request, path) in [
        ("GET /old", "/old"),
        ("GET /a b HTTP/1.0", "/a%20b"),
        (r#"GET /say\"hi\" HTTP/1.0"#, "/say%22hi%22"),
        (r#"GET /say"hi" HTTP/1.0"#, "/say%22hi%22"),
        (r"GET /\x41\xe4\\ HTTP/1.1", "/A%E4%5C"),
        (r"GET /back\q HTTP/1.1", "/back%5Cq"),
        ("GET http://host.org:80/x?y HTTP/1.1", "/x?y"),
        ("GET HTTPS://host.org HTTP/1.1", "/"),
        ("GET index.html HTTP/1.0", "/index.html"),
        ("GET /100% HTTP/1.0", "/100%25"),
        ("GET /100%25#x HTTP/1.0", "/100%25%23x"),
    ] {
        assert_eq!(&one(request, "200 5").path[..], path, "{request}");
    }
}

#[test]
fn clients_are_numbered_as_they_come_also_with_ipv6() {
    let clients = ["2001:db8::1", "10.0.0.1", "2001:db8::1", "host.example"];
    let log: String = clients.map(|c| line(c, T, "GET / HTTP/1.1", "200 1")).concat();
    let numbers: Vec<u32> = requests(log).iter().map(|r| r.client).collect();
    assert_eq!(numbers, [0, 1, 0, 2]);
}

#[test]
fn only_successful_gets_are_requests_and_the_others_are_counted() {
    let log = [
        line("a", T, "GET /1 HTTP/1.0", "200 1"),
        line("a", T, "HEAD /2 HTTP/1.0", "200 1"),
        line("a", T, "POST /3 HTTP/1.0", "200 1"),
        line("a", T, "GET /4 HTTP/1.0", "304 -"),
        line("a", T, "GET /5 HTTP/1.0", "404 9"),
        line("a", T, "-", "408 -"),
        line("a", T, r"\x16\x03\x01", "400 226"),
        line("a", T, "GET /6 HTTP/1.0", "206 1"),
    ]
    .concat();
    let mut trace = Trace::new(Cursor::new(log.clone()), Options::default()).unwrap();
    let paths: Vec<_> = trace.by_ref().map(|r| r.unwrap().path.to_string()).collect();
    assert_eq!(paths, ["/1", "/6"]);
    let counts = trace.counts();
    assert_eq!((counts.records, counts.requests), (8, 2));
    let left: Vec<_> = counts.left_out.iter().map(|(why, n)| (why.to_string(), *n)).collect();
    let [not_get, s304, s404] = ["not GET", "status 304", "status 404"].map(str::to_owned);
    assert_eq!(left, [(not_get, 4), (s304, 1), (s404, 1)]);
    let options = Options { statuses: vec![304], ..Options::default() };
    assert_eq!(read(log, options).unwrap().len(), 1);
}

#[test]
fn what_is_wrong_in_a_line_is_named() {
    let good = line("a", T, "GET / HTTP/1.0", "200 1");
    for (bad, parts) in [
        (
            line("a", "10/Okt/2000:13:55:36 -0700", "GET /", "200 1"),
            ["time", "10/Oct/2000:13:55:36"],
        ),
        (line("a", "30/Feb/2000:13:55:36 -0700", "GET /", "200 1"), ["time", "30/Feb"]),
        (line("a", T, "GET /", "200 many"), ["size", "many"]),
        (line("a", T, "GET /", "OK 17"), ["line", "expected client ident user"]),
        ("nonsense\n".into(), ["line", "nonsense"]),
    ] {
        let said = error(format!("{good}\n{good}{bad}{good}"));
        assert!(said.starts_with("line 4: the "), "{said}");
        assert!(parts.iter().all(|part| said.contains(part)), "{said}");
    }
}
