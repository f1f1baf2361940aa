//! Runs through TLS: what comes is the same as in clear text, handshakes are counted, and a server that
//! is not who it should be is refused.

use rustls::ServerConfig;
use rustls::crypto::{CryptoProvider, aws_lc_rs};
use weir_load::{Handshakes, Plan, Report, Tls, TlsOptions, TlsVersion, Trust};
use weir_stats::{Outcome, Record};

use crate::authority::Authority;
use crate::scripted::{Act, Server, answer, count, one_by_one, open, plan, request, requests};

const BOTH: [TlsVersion; 2] = [TlsVersion::Tls12, TlsVersion::Tls13];

/// Answers requests for `/SIZE`.
fn sized(seen: &crate::scripted::Seen) -> Act {
    let path = seen.text.split(' ').nth(1).unwrap_or("/");
    Act::Send(answer(path[1..].parse().expect("a size")))
}

/// A plan through TLS to a server called `127.0.0.1`.
fn plan_of(server: &Server, trust: Trust, version: Option<TlsVersion>, resume: bool) -> Plan {
    let options = TlsOptions { trust, version, resume };
    let tls = Tls::new("127.0.0.1", &options).expect("good options");
    Plan { tls: Some(tls), ..plan(server.address) }
}

fn trusting(server: &Server, authority: &Authority) -> Plan {
    plan_of(server, Trust::Authorities(authority.pem.clone().into()), None, false)
}

fn handshakes(report: &Report) -> &Handshakes {
    report.handshakes.as_ref().expect("TLS was spoken")
}

#[test]
fn bodies_of_any_size_come_whole_in_either_version() {
    let authority = Authority::new();
    let server = Server::start_tls(authority.server("127.0.0.1"), sized);
    let trust = Trust::Authorities(authority.pem.clone().into());
    let sizes = [1, 100, 16_384, 16_385, 100_000, 1_500_000];
    let asked = || sizes.map(|size| request(0.0, &format!("/{size}"), size)).to_vec();
    for version in BOTH {
        let (report, records) =
            open(&plan_of(&server, trust.clone(), Some(version), false), asked());
        assert_eq!(count(&records, Outcome::Ok), sizes.len(), "{version:?}: {records:?}");
        let found = handshakes(&report);
        assert_eq!((found.full.count, found.resumed.count, found.failed), (6, 0, 0), "{found:?}");
        assert!(found.full.seconds.is_sorted() && found.full.seconds[0] > 0.0, "{found:?}");
        let plain = report.head_bytes + report.body_bytes;
        assert_eq!(report.body_bytes, sizes.iter().sum::<u64>());
        // A record has at most 16 KB, and 22 bytes or more around them.
        assert!(report.socket_bytes > plain + plain / 16_384 * 22, "{report:?}");
    }
}

#[test]
fn clear_text_has_no_handshakes_and_no_other_bytes() {
    let server = Server::start(|_| Act::Send(answer(4)));
    let (report, _) = one_by_one(&plan(server.address), requests(3));
    assert_eq!(report.handshakes, None);
    assert_eq!(report.socket_bytes, report.head_bytes + report.body_bytes);
}

#[test]
fn sessions_are_resumed_if_they_should_be_and_only_then() {
    let authority = Authority::new();
    let server = Server::start_tls(authority.server("127.0.0.1"), |_| Act::Send(answer(4)));
    for version in BOTH {
        for (resume, expected) in [(false, (10, 0)), (true, (1, 9))] {
            let plan = plan_of(&server, Trust::Anyone, Some(version), resume);
            let (report, records) = one_by_one(&plan, requests(10));
            assert_eq!(count(&records, Outcome::Ok), 10);
            let found = handshakes(&report);
            let counts = (found.full.count, found.resumed.count);
            assert_eq!(counts, expected, "{version:?}, resume {resume}: {found:?}");
        }
    }
}

#[test]
fn a_kept_connection_has_one_handshake() {
    let authority = Authority::new();
    let server = Server::start_tls(authority.server("127.0.0.1"), |_| Act::Send(answer(4)));
    let plan = Plan { requests_per_connection: 100, ..trusting(&server, &authority) };
    let (report, records) = one_by_one(&plan, requests(50));
    assert_eq!((count(&records, Outcome::Ok), report.connections), (50, 1));
    assert_eq!(handshakes(&report).full.count, 1);
    let times = |record: &Record| {
        let times = [Some(record.started), record.connected, record.first_byte, record.last_byte];
        times.into_iter().flatten().collect::<Vec<f64>>()
    };
    assert!(records.iter().all(|record| times(record).is_sorted()), "{records:?}");
}

#[test]
fn a_connection_that_was_closed_between_requests_is_no_failure() {
    let close = |seen: &crate::scripted::Seen| match seen.before {
        0 => Act::Send(answer(4)),
        _ => Act::SendAndClose(Vec::new()),
    };
    let authority = Authority::new();
    let server = Server::start_tls(authority.server("127.0.0.1"), close);
    let plan = Plan { requests_per_connection: 10, ..trusting(&server, &authority) };
    let (report, records) = one_by_one(&plan, requests(5));
    assert_eq!(count(&records, Outcome::Ok), 5, "{records:?}");
    assert_eq!(handshakes(&report).failed, 0);
}

/// How all of a few requests ended, and why the first handshake failed.
fn failure(plan: &Plan) -> (Outcome, String) {
    let (report, records) = open(plan, requests(3));
    let outcome = records[0].outcome;
    assert_eq!(count(&records, outcome), 3, "{records:?}");
    let found = handshakes(&report);
    assert_eq!((found.failed, found.full.count), (3, 0), "{found:?}");
    (outcome, found.failure.clone().expect("a reason"))
}

#[test]
fn a_server_that_is_not_who_it_should_be_is_refused() {
    let (authority, other) = (Authority::new(), Authority::new());
    let server = Server::start_tls(authority.server("127.0.0.1"), |_| Act::Send(answer(4)));
    let (outcome, why) = failure(&trusting(&server, &other));
    assert!(
        outcome == Outcome::Refused && why.contains("invalid peer certificate"),
        "{outcome:?}: {why}"
    );
    let server = Server::start_tls(authority.server("example.org"), |_| Act::Send(answer(4)));
    let (outcome, why) = failure(&trusting(&server, &authority));
    assert!(
        outcome == Outcome::Refused && why.contains("not valid for name"),
        "{outcome:?}: {why}"
    );
    let (_, records) = open(&plan_of(&server, Trust::Anyone, None, false), requests(3));
    assert_eq!(count(&records, Outcome::Ok), 3, "any certificate is taken");
}

#[test]
fn servers_that_do_not_speak_tls_as_we_do_are_told_apart_in_words() {
    let plain = Server::start(|_| Act::Stall);
    let refusing = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = refusing.local_addr().expect("an address");
    // Closing with bytes unread is a reset.
    std::thread::spawn(move || refusing.incoming().for_each(drop));
    let gone = Plan { server: address, ..plan_of(&plain, Trust::Anyone, None, false) };
    let (outcome, why) = failure(&gone);
    assert!(outcome == Outcome::Refused && why.contains("ended the connection"), "{why}");
    let talker = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = talker.local_addr().expect("an address");
    std::thread::spawn(move || {
        for mut stream in talker.incoming().flatten() {
            let _ = std::io::Write::write_all(&mut stream, b"HTTP/1.1 400 Bad Request\r\n\r\n");
            let _ = std::io::Read::read_to_end(&mut stream, &mut Vec::new());
        }
    });
    let other = Plan { server: address, ..gone };
    let (outcome, why) = failure(&other);
    assert!(outcome == Outcome::Refused && why.contains("corrupt"), "{outcome:?}: {why}");
}

#[test]
fn one_curve_and_one_cipher_are_offered() {
    let all = aws_lc_rs::default_provider;
    let only = |server: CryptoProvider| -> ServerConfig {
        Authority::new().server_of("127.0.0.1", server)
    };
    let p256 = CryptoProvider { kx_groups: vec![aws_lc_rs::kx_group::SECP256R1], ..all() };
    let suite = aws_lc_rs::cipher_suite::TLS13_CHACHA20_POLY1305_SHA256;
    let chacha = CryptoProvider { cipher_suites: vec![suite], ..all() };
    for provider in [p256, chacha] {
        let server = Server::start_tls(only(provider), |_| Act::Send(answer(4)));
        let (outcome, why) = failure(&plan_of(&server, Trust::Anyone, None, false));
        assert!(outcome == Outcome::Refused && why.contains("HandshakeFailure"), "{why}");
    }
}

#[test]
fn an_end_that_somebody_else_may_have_made_is_short() {
    let body = b"HTTP/1.1 200 OK\r\n\r\nabcd".to_vec();
    for (cut, expected) in [(false, Outcome::Ok), (true, Outcome::Short)] {
        let (authority, body) = (Authority::new(), body.clone());
        let config = authority.server("127.0.0.1");
        let server = Server::start_tls(config, move |_| match cut {
            true => Act::SendAndCut(body.clone()),
            false => Act::SendAndClose(body.clone()),
        });
        let mut plan = trusting(&server, &authority);
        plan.body = weir_load::Body::Any;
        let (_, records) = open(&plan, requests(1));
        assert_eq!(records[0].outcome, expected);
    }
}

#[test]
fn a_handshake_that_never_ends_is_given_up_by_its_user() {
    let server = Server::start(|_| Act::Stall);
    let mut plan = plan_of(&server, Trust::Anyone, None, false);
    (plan.abort_after, plan.retries) = (Some(0.05), 1);
    let (report, records) = open(&plan, requests(2));
    assert!(records.iter().all(|r| r.outcome == Outcome::Abandoned && r.attempts == 2));
    assert!(records.iter().all(|r| r.connected.is_some() && r.first_byte.is_none()));
    assert_eq!(handshakes(&report).full.count, 0);
}

#[test]
fn slow_readers_and_long_requests_get_through_tls() {
    let authority = Authority::new();
    let server = Server::start_tls(authority.server("127.0.0.1"), |_| Act::Send(answer(20_000)));
    let mut plan = trusting(&server, &authority);
    plan.headers = format!("X-Long: {}\r\n", "x".repeat(3_000_000));
    let (_, records) = open(&plan, vec![request(0.0, "/", 20_000); 2]);
    assert_eq!(count(&records, Outcome::Ok), 2, "{records:?}");
    let plan = Plan {
        slow_readers: Some((1.0, 100_000)),
        headers: String::new(),
        ..trusting(&server, &authority)
    };
    let (_, records) = open(&plan, vec![request(0.0, "/", 20_000); 2]);
    assert_eq!(count(&records, Outcome::Ok), 2, "{records:?}");
    let least = (20_000.0 - 1024.0) / 100_000.0;
    assert!(records.iter().all(|r| r.response_time().is_some_and(|time| time >= least)));
}
