//! Shows that backends get requests in proportion to their weights, spread evenly, and that those which are
//! left share what a lost one had.

use crate::support::{Backend, Client, Refusing, Server, route};

/// What `count` requests to these backends are answered with.
fn said(server: &Server, count: usize) -> String {
    (0..count).map(|_| server.get("/").text()).collect()
}

#[test]
fn turns_go_by_weight_and_are_spread() {
    let (heavy, light) = (Backend::saying("3"), Backend::saying("1"));
    let server = Server::routed(&[&heavy.url, &light.url], "weights = [3, 1]\n");
    let said = said(&server, 16);
    assert_eq!((heavy.requests().len(), light.requests().len()), (12, 4), "{said}");
    assert!(!said.contains("3333") && !said.contains("11"), "{said}");
}

#[test]
fn those_that_are_left_share_the_turns_of_a_lost_one() {
    let (lost, heavy, light) = (Refusing::new(), Backend::saying("2"), Backend::saying("1"));
    let keys = "weights = [5, 2, 1]\nmax_fails = 1\nfail_timeout = \"60s\"\nretries = 1\n";
    let server = Server::routed(&[&lost.url(), &heavy.url, &light.url], keys);
    // The first one finds out, and goes to another.
    assert_eq!(server.get("/").status, 200);
    let said = said(&server, 30);
    let (of_heavy, of_light) = (said.matches('2').count(), said.matches('1').count());
    assert_eq!(of_heavy + of_light, 30, "{said}");
    assert!(of_light.abs_diff(10) <= 1, "{said}");
}

#[test]
fn clients_are_spread_by_weight() {
    let (heavy, light) = (Backend::saying("9"), Backend::saying("1"));
    let keys = "balance = \"hash\"\nweights = [9, 1]\n";
    let text = format!("{}{keys}", route("/", &[&heavy.url, &light.url]));
    let server = Server::configured(&text, &[]);
    for _ in 0..2 {
        for last in 1..=100_u8 {
            let mut client = Client::connect_from([127, 0, 0, last].into(), server.address());
            assert_eq!(client.get("/").status, 200);
        }
    }
    // The hash is the same in every run: no chance decides.
    let (heavy, light) = (heavy.requests().len(), light.requests().len());
    assert!(heavy + light == 200 && light % 2 == 0, "each client stays: {heavy} and {light}");
    assert!((2..=60).contains(&light), "{heavy} and {light}");
}
