//! The reference itself: exact sharing over paths against worked cases, closed forms and textbook
//! processor sharing.

use std::time::Duration;

use proptest::prelude::*;
use weir_sched::{BitRate, Packets, WireOverhead};

use super::*;
use crate::ideal::{self, Job};

/// 1 MB/s and segments of 1000 bytes that cost nothing beside.
fn plain() -> Link {
    let packets = Packets { mss: 1000, overhead: WireOverhead { bytes: 0 } };
    let rate = BitRate::new(8_000_000).unwrap();
    Link { pace: 1.0, connection: 0, packets, ..Link::new(rate) }
}

fn far(millis: u64) -> Client {
    Client { round_trip: Duration::from_millis(millis), ..Client::default() }
}

fn ask(at: f64, size: u64, client: Client) -> Request {
    Request { at, size, client }
}

fn assert_near(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "{found} is not {expected}");
}

#[test]
fn two_equal_ones_have_half_each() {
    let requests = [0.0, 0.0].map(|at| ask(at, 100_000, Client::default()));
    for finish in plain().share(&requests).unwrap() {
        assert_near(finish.sent, 0.2, 1e-9);
        assert_near(finish.received, 0.2, 1e-9);
    }
}

#[test]
fn a_connection_takes_its_own_bytes_before_its_response() {
    let link = Link { connection: 500, pace: 0.5, ..plain() };
    let requests = [ask(0.0, 10_000, Client::default()), ask(0.01, 1_000, Client::default())];
    let finish = link.share(&requests).unwrap();
    // At 500 bytes a millisecond: 10 ms for 500 and 4500, 1 ms, 4 ms for two thousands, 4500.
    assert_near(finish[1].sent, 0.015, 1e-9);
    assert_near(finish[0].sent, 0.024, 1e-9);
}

#[test]
fn while_the_windows_of_the_far_are_full_the_near_have_the_link() {
    let requests = [ask(0.0, 70_000, far(100)), ask(0.0, 1_000_000, Client::default())];
    let finish = plain().share(&requests).unwrap();
    // Ten segments, twenty and forty at half the rate, each from a round trip after the first
    // segment of those before.
    assert_near(finish[0].sent, 0.284, 1e-6);
    assert_near(finish[0].received, 0.334, 1e-6);
    assert_near(finish[1].sent, 1.07, 1e-6);
}

#[test]
fn who_reads_slowly_takes_what_his_line_carries() {
    let slow = Client { rate: BitRate::new(800_000), ..Client::default() };
    let requests = [ask(0.0, 300_000, slow), ask(0.0, 1_000_000, Client::default())];
    let finish = plain().share(&requests).unwrap();
    // 100 KB a second from the first segment on, which takes half of the link 2 ms.
    assert_near(finish[0].received, 3.002, 1e-3);
    // The other has the rest, but for what waits in the slow one's buffer of 128 KB.
    assert_near(finish[1].sent, (1e6 + 131_072.0) / 0.9e6, 3e-3);
}

#[test]
fn slow_start_alone_takes_its_closed_form() {
    let link = Link { rate: BitRate::new(8_000_000_000).unwrap(), ..plain() };
    let (segment, round_trip) = (1e-6, 0.08);
    for windows in 1..=10 {
        let segments = 10 * ((1_u64 << windows) - 1);
        let finish = link.share(&[ask(0.0, segments * 1000, far(80))]).unwrap()[0];
        let waits = f64::from(windows - 1) * (round_trip + segment);
        let last = 10.0 * f64::from(1 << (windows - 1)) * segment;
        assert_near(finish.sent, waits + last, 1e-7);
        assert_near(finish.received, waits + last + round_trip / 2.0, 1e-7);
    }
}

#[test]
fn a_loss_costs_a_round_trip_and_half_the_window() {
    let link = Link { rate: BitRate::new(8_000_000_000).unwrap(), ..plain() };
    let lossy = |lose_every| Client { lose_every, ..far(100) };
    let received =
        |size, lose_every| link.share(&[ask(0.0, size, lossy(lose_every))]).unwrap()[0].received;
    assert_near(received(10_000, 0), 0.05, 1e-3);
    assert_near(received(10_000, 10), 0.15, 1e-3);
    // Eighteen follow while the tenth is missing, and the twentieth is among them.
    assert_near(received(28_000, 10_000), 0.15, 1e-3);
    assert_near(received(28_000, 10), 0.25, 1e-3);
}

/// Gaps in microseconds, sizes, round trips.
fn requests(clients: impl Strategy<Value = Client>) -> impl Strategy<Value = Vec<Request>> {
    let one = (0_u32..30_000, 1_u64..60_000, clients);
    prop::collection::vec(one, 1..40).prop_map(|asked| {
        let mut at = 0.0;
        let next = |(gap, size, client)| {
            at += f64::from(gap) / 1e6;
            ask(at, size, client)
        };
        asked.into_iter().map(next).collect()
    })
}

fn any_path() -> impl Strategy<Value = Client> {
    let rate =
        prop::sample::select(vec![None, None, BitRate::new(400_000), BitRate::new(4_000_000)]);
    (0_u64..120, rate).prop_map(|(millis, rate)| Client { rate, ..far(millis) })
}

proptest! {
    /// With nothing to wait for it is the textbook's, on a link with headers too; a window that is
    /// acknowledged at once makes no difference.
    #[test]
    fn without_round_trips_it_is_processor_sharing(
        near in requests(Just(Client::default())),
        nanos in 0_u64..2,
    ) {
        let link = Link::new(BitRate::new(8_000_000).unwrap());
        let link = Link { connection: 0, pace: 1.0, ..link };
        let round_trip = Duration::from_nanos(nanos);
        let requests: Vec<Request> = near
            .into_iter()
            .map(|one| Request { client: Client { round_trip, ..one.client }, ..one })
            .collect();
        let work = |r: &Request| link.packets.wire(r.size) as f64;
        let jobs: Vec<Job> =
            requests.iter().map(|r| Job { arrival: r.at, work: work(r) }).collect();
        let exact = ideal::processor_sharing(&jobs, 1e6);
        for (found, exact) in link.share(&requests).unwrap().iter().zip(exact) {
            prop_assert!((found.sent - exact).abs() < 1e-6, "{} {}", found.sent, exact);
        }
    }

    /// The link works whenever somebody can take data: it is done when its busy time is over.
    #[test]
    fn no_work_is_lost_or_made(requests in requests(Just(Client::default()))) {
        let link = Link { pace: 1.0, ..Link::new(BitRate::new(8_000_000).unwrap()) };
        let bytes = |r: &Request| link.packets.wire(r.size) + link.connection;
        let asked: Vec<Asked> =
            requests.iter().map(|r| Asked { at: r.at, bytes: bytes(r) }).collect();
        let until = fullness(link.rate, &asked).unwrap().until;
        let last = link.share(&requests).unwrap().iter().map(|f| f.sent).fold(0.0, f64::max);
        prop_assert!((last - until).abs() < 1e-5, "{last} {until}");
    }

    #[test]
    fn nobody_is_earlier_than_alone(requests in requests(any_path())) {
        let shared = plain().share(&requests).unwrap();
        for (request, shared) in requests.iter().zip(shared) {
            let alone = plain().share(&[*request]).unwrap()[0];
            prop_assert!(shared.received >= alone.received - 1e-6, "{alone:?} {shared:?}");
            prop_assert!(shared.sent >= request.at + request.size as f64 / 1e6 - 1e-6);
        }
    }
}
