//! Shows that a client which asks or connects too often is told so and when to come again, and that others
//! do not notice.

use crate::support::{Backend, Client, Server, eventually, get_anew, route};

const FILE: &str = "/files/1kb.bin";

fn from(address: [u8; 4], server: &Server) -> Client {
    Client::connect_from(address.into(), server.address())
}

#[test]
fn who_asks_too_often_is_told_when_to_ask_again() {
    let server = Server::configured("limit_requests = \"1/h\"\nlimit_burst = 3\n", &[]);
    let mut client = server.connect();
    let statuses: Vec<_> = (0..4).map(|_| client.get(FILE).status).collect();
    assert_eq!(statuses, [200, 200, 200, 429]);
    let refused = client.get(FILE);
    let after = refused.field("Retry-After").and_then(|after| after.parse::<u32>().ok());
    assert!(after.is_some_and(|after| (3_000..=3_600).contains(&after)), "{}", refused.head);
    assert!(refused.text().starts_with("429 "), "{}", refused.text());
    // Another connection makes no difference, nor what is asked for.
    assert_eq!(server.get("/missing").status, 429);
    assert_eq!(from([127, 0, 0, 2], &server).get(FILE).status, 200);
    eventually("they are counted", || {
        server.metrics().value("weir_responses_total", "{status=\"429\"}") == Some(3.0)
    });
}

#[test]
fn who_waits_as_long_as_was_said_is_answered() {
    let server = Server::configured("limit_requests = \"2/s\"\nlimit_burst = 1\n", &[]);
    let mut client = server.connect();
    assert_eq!(client.get(FILE).status, 200);
    let mut told = Vec::new();
    eventually("it is answered again", || {
        let answer = client.get(FILE);
        told.extend(answer.field("Retry-After").map(str::to_owned));
        answer.status == 200
    });
    assert!(told.iter().all(|after| after == "1"), "half a second, in whole seconds: {told:?}");
}

#[test]
fn a_network_can_count_as_one_client() {
    let text = "limit_requests = \"1/h\"\nlimit_ipv4_prefix = 24\n";
    let server = Server::configured(text, &[]);
    let status = |address| from(address, &server).get(FILE).status;
    let statuses = [[127, 0, 0, 1], [127, 0, 0, 2], [127, 0, 1, 1]].map(status);
    assert_eq!(statuses, [200, 429, 200]);
}

#[test]
fn a_route_has_a_limit_of_its_own_beside_the_servers() {
    let backend = Backend::saying("ok");
    let text = [
        "limit_requests = \"1/h\"\nlimit_burst = 4\n".to_owned(),
        route("/", &[&backend.url]),
        route("/login", &[&backend.url]) + "limit_requests = \"1/h\"\n",
    ];
    let server = Server::configured(&text.concat(), &[]);
    let mut client = server.connect();
    let statuses = ["/login", "/login", "/", "/", "/"].map(|path| client.get(path).status);
    assert_eq!(statuses, [200, 429, 200, 200, 429]);
    assert_eq!(backend.targets(), ["/login", "/", "/"]);
    // A body that nobody reads is not taken for a request.
    let body = "BREW / HTTP/1.1\r\nHost: weir\r\n\r\n";
    let length = body.len();
    client.send(format!(
        "POST /login HTTP/1.1\r\nHost: weir\r\nContent-Length: {length}\r\n\r\n{body}"
    ));
    assert_eq!(client.response().status, 429);
    assert_eq!(client.get("/").status, 429, "and not 501");
}

#[test]
fn a_client_has_no_more_connections_than_it_may() {
    let server = Server::configured("limit_connections = 2\n", &[]);
    let mut kept = vec![server.connect(), server.connect()];
    kept.iter_mut().for_each(|client| assert_eq!(client.get(FILE).status, 200));
    // It is told at once, whether it has asked or not.
    for asks in [false, true] {
        let mut surplus = server.connect();
        if asks {
            let _ = surplus.try_send(format!("GET {FILE} HTTP/1.1\r\nHost: weir\r\n\r\n"));
        }
        let told = surplus.response();
        assert_eq!((told.status, told.field("Connection")), (429, Some("close")));
        assert_eq!(told.field("Retry-After"), Some("1"));
        assert!(told.field("Date").is_some(), "{}", told.head);
        surplus.assert_closed();
    }
    server.wait_for_metric("weir_refused_connections_total", 2.0);
    assert_eq!(from([127, 0, 0, 2], &server).get(FILE).status, 200);
    kept.iter_mut().for_each(|client| assert_eq!(client.get(FILE).status, 200));
    kept.pop();
    eventually("there is room again", || get_anew(server.address(), FILE).status == 200);
    assert_eq!(kept[0].get(FILE).status, 200);
}

#[test]
fn behind_a_balancer_the_clients_that_it_names_are_counted() {
    let server = Server::configured("limit_connections = 1\n", &["--proxy-protocol"]);
    let connect = |client: u8| {
        let mut balancer = server.connect();
        balancer.send(format!("PROXY TCP4 192.0.2.{client} 127.0.0.1 1234 80\r\n"));
        balancer
    };
    let (mut one, mut two) = (connect(1), connect(2));
    assert_eq!([one.get(FILE).status, two.get(FILE).status], [200, 200]);
    assert_eq!(connect(1).response().status, 429);
    assert_eq!(one.get(FILE).status, 200);
}
