//! Connections that carry several requests, and which requests may share them.

use crate::scripted::{Act, Server, answer, count, one_by_one, open, plan, request, requests};
use weir_load::Source;
use weir_stats::Outcome;

#[test]
fn a_connection_carries_as_many_requests_as_the_plan_says() {
    let server = Server::start(|_| Act::Send(answer(4)));
    let mut plan = plan(server.address);
    plan.requests_per_connection = 5;
    let (report, records) = one_by_one(&plan, vec![request(0.0, "/deaf", 4); 12]);
    assert_eq!(count(&records, Outcome::Ok), 12);
    assert_eq!((report.connections, report.body_bytes), (3, 48));
    for seen in server.seen() {
        assert_eq!((seen.connection, seen.before), (seen.total / 5, seen.total % 5));
        assert_eq!(seen.text.contains("Connection: close"), seen.before == 4, "{seen:?}");
    }
    let reused = records.iter().filter(|record| record.connected == Some(record.started));
    assert_eq!(reused.count(), 9);
}

#[test]
fn a_request_alone_on_its_connection_says_so() {
    let server = Server::start(|_| Act::Send(answer(4)));
    let (report, _) = one_by_one(&plan(server.address), requests(3));
    assert_eq!(report.connections, 3);
    assert!(server.seen().iter().all(|seen| seen.text.contains("Connection: close\r\n")));
}

#[test]
fn classes_and_slow_readers_do_not_share() {
    let server = Server::start(|_| Act::Send(answer(4)));
    let mut plan = plan(server.address);
    (plan.requests_per_connection, plan.slow_readers) = (100, Some((0.5, 1_000_000)));
    let mut asked = requests(64);
    for (index, request) in asked.iter_mut().enumerate() {
        (request.class, request.client) = (index as u16 % 2, index as u32);
    }
    let (report, records) = one_by_one(&plan, asked);
    assert_eq!(count(&records, Outcome::Ok), 64);
    assert_eq!(report.connections, 4, "two classes, slow and not");
}

#[test]
fn a_connection_that_the_server_closed_between_requests_is_no_failure() {
    // The second request on a connection finds it closed.
    let close = |seen: &crate::scripted::Seen| match seen.before {
        0 => Act::Send(answer(4)),
        _ => Act::SendAndClose(Vec::new()),
    };
    let server = Server::start(close);
    let mut plan = plan(server.address);
    plan.requests_per_connection = 10;
    let (_, records) = one_by_one(&plan, requests(5));
    assert_eq!(count(&records, Outcome::Ok), 5, "{records:?}");
    let attempts: Vec<u32> = records.iter().map(|record| record.attempts).collect();
    assert_eq!(attempts, [1, 2, 2, 2, 2]);
}

#[test]
fn a_reset_between_requests_is_no_failure_but_one_on_a_new_connection_is() {
    let reset = |seen: &crate::scripted::Seen| match (seen.connection, seen.before) {
        (0, 0) => Act::Send(answer(4)),
        _ => Act::Reset,
    };
    let server = Server::start(reset);
    let mut plan = plan(server.address);
    plan.requests_per_connection = 10;
    let (_, records) = one_by_one(&plan, requests(2));
    assert_eq!((records[0].outcome, records[0].attempts), (Outcome::Ok, 1));
    assert_eq!((records[1].outcome, records[1].attempts), (Outcome::Reset, 2));
}

#[test]
fn a_server_that_closes_long_after_the_request_has_failed_it() {
    let close = |seen: &crate::scripted::Seen| match seen.before {
        0 => Act::Send(answer(4)),
        _ => {
            std::thread::sleep(std::time::Duration::from_millis(1100));
            Act::SendAndClose(Vec::new())
        }
    };
    let server = Server::start(close);
    let mut plan = plan(server.address);
    plan.requests_per_connection = 10;
    let (_, records) = one_by_one(&plan, requests(2));
    assert_eq!((records[1].outcome, records[1].attempts), (Outcome::Short, 1));
}

#[test]
fn a_server_that_closes_after_each_answer_loses_nothing() {
    let server = Server::start(|_| Act::SendAndClose(answer(4)));
    let mut plan = plan(server.address);
    plan.requests_per_connection = 10;
    let (_, records) = one_by_one(&plan, requests(50));
    assert_eq!(count(&records, Outcome::Ok), 50);
}

#[test]
fn classes_take_their_source_addresses_in_turn() {
    let server = Server::start(|_| Act::Send(answer(4)));
    let mut plan = plan(server.address);
    let source = |addresses: &[&str]| Source {
        addresses: addresses.iter().map(|text| text.parse().expect("an address")).collect(),
    };
    plan.sources = vec![source(&["127.0.0.2", "127.0.0.3"]), source(&[]), source(&["127.0.0.4"])];
    let asked = [0, 1, 2, 0, 0, 3].map(|class| {
        let mut request = request(0.0, "/", 4);
        request.class = class;
        request
    });
    let (_, records) = one_by_one(&plan, asked.to_vec());
    assert_eq!(count(&records, Outcome::Ok), 6);
    let from: Vec<String> = server.seen().iter().map(|seen| seen.from.to_string()).collect();
    let expected = ["127.0.0.2", "127.0.0.1", "127.0.0.4", "127.0.0.3", "127.0.0.2", "127.0.0.1"];
    assert_eq!(from, expected);
}

#[test]
fn a_source_address_that_is_not_ours_is_said_before_the_run() {
    let server = Server::start(|_| Act::Send(answer(4)));
    let mut plan = plan(server.address);
    for (address, advice) in [("192.0.2.1", "ip address add 192.0.2.1"), ("::1", "family")] {
        plan.sources = vec![Source { addresses: vec![address.parse().expect("an address")] }];
        let demand = weir_load::Demand::Open(Box::new(requests(1).into_iter()));
        let error = weir_load::run(&plan, demand, &weir_load::Live::default(), &mut |_| {})
            .expect_err("not an address of this host");
        assert!(error.to_string().contains(advice), "{error}");
    }
}

#[test]
fn slow_readers_take_their_time() {
    let (size, rate) = (20_000, 100_000);
    let server = Server::start(move |_| Act::Send(answer(size)));
    let mut plan = plan(server.address);
    plan.slow_readers = Some((1.0, rate));
    let (_, records) = open(&plan, vec![request(0.0, "/", size as u64); 3]);
    assert_eq!(count(&records, Outcome::Ok), 3);
    for record in records {
        let least = (size as f64 - 1024.0) / rate as f64;
        assert!(record.response_time().is_some_and(|time| time >= least), "{record:?}");
    }
}
