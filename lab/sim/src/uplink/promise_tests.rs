//! The promise over real paths: the server's own gate against exact sharing over the same paths,
//! with round trips, slow readers and losses. Seeds, not cases that shrink: a request that is left
//! out changes all that follows.

use std::time::Duration;

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use weir_sched::{BitRate, PolicyKind, policy};

use super::*;

/// Milliseconds.
const ROUND_TRIPS: [u64; 7] = [0, 1, 5, 20, 50, 100, 250];
const PROMISING: [PolicyKind; 2] = [policy::FSP, policy::PROTECTIVE];
/// Two grants of whole segments at 1 MB/s.
const TWO_GRANTS: f64 = 0.004;

fn link() -> Link {
    Link::new(BitRate::new(8_000_000).unwrap())
}

/// Which hindrances there are beside round trips.
#[derive(Clone, Copy, Default)]
struct Hindrances {
    slow: bool,
    losses: bool,
}

/// Up to 120 responses of 100 bytes to a megabyte at half to two and a half times what the link can
/// do, over round trips of one kind or mixed.
fn mixed(seed: u64, with: Hindrances) -> Vec<Request> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let count = random.random_range(1..120);
    let load = random.random_range(0.5..2.5);
    let largest = random.random_range(3.5..6.0);
    let trips = &ROUND_TRIPS[random.random_range(0..ROUND_TRIPS.len())..];
    let mut at = 0.0;
    let mut next = |_| {
        let size = 10_f64.powf(random.random_range(2.0..largest)) as u64;
        at -= (1.0 - random.random::<f64>()).ln() * size as f64 / (load * 1e6);
        let round_trip = Duration::from_millis(trips[random.random_range(0..trips.len())]);
        let bits = 10_f64.powf(random.random_range(4.5..6.8)) as u64;
        let rate = BitRate::new(bits).filter(|_| with.slow && random.random_range(0..4) == 0);
        let loses = with.losses && random.random_range(0..3) == 0;
        let lose_every = if loses { random.random_range(5..200) } else { 0 };
        Request { at, size, client: Client { round_trip, rate, lose_every } }
    };
    (0..count).map(&mut next).collect()
}

/// The longest round trip of all, in seconds.
fn longest_trip(requests: &[Request]) -> f64 {
    requests.iter().map(|r| r.client.round_trip.as_secs_f64()).fold(0.0, f64::max)
}

/// How long the client waits if nobody else is there.
fn alone(request: Request) -> f64 {
    link().share(&[request]).unwrap()[0].received - request.at
}

/// For every request of many seeds: the longest round trip, and by how much it was later than under
/// exact sharing, beyond two grants.
fn lateness(policy: PolicyKind, with: Hindrances, seeds: u64) -> Vec<(Request, f64, f64)> {
    let mut late = Vec::new();
    for seed in 0..seeds {
        let requests = mixed(seed, with);
        let longest = longest_trip(&requests);
        let shared = link().share(&requests).unwrap();
        let played = link().play(policy, &requests).unwrap();
        for ((request, shared), played) in requests.into_iter().zip(shared).zip(played) {
            // Whoever was skipped would have finished at 0.
            assert!(played.received >= request.at + request.size as f64 / 1e6, "{policy} {seed}");
            late.push((request, longest, played.received - shared.received - TWO_GRANTS));
        }
    }
    late
}

/// In 4000 seeds the worst of those who lose nothing was 4.0 of the longest round trips late under
/// `protective`, and 5.2 under `fsp`: as many as a window of ten segments needs to open to what the
/// link carries in 250 ms. Whoever is served at the last moment has them all in front.
fn most_round_trips(policy: PolicyKind) -> f64 {
    if policy == policy::FSP { 5.5 } else { 4.0 }
}

fn assert_few_are_late(policy: PolicyKind, late: &[(Request, f64, f64)]) {
    for (request, longest, late) in late {
        let tolerated = most_round_trips(policy) * longest;
        assert!(*late <= tolerated, "{policy}: {late} of {longest} {request:?}");
    }
    let by_half = late.iter().filter(|(_, longest, late)| *late > longest / 2.0).count();
    assert!(100 * by_half < late.len(), "{policy}: {by_half} of {} are late", late.len());
}

#[test]
fn over_any_round_trips_nobody_is_later_than_sharing_by_more_than_his_window_takes_to_open() {
    for policy in PROMISING {
        assert_few_are_late(policy, &lateness(policy, Hindrances::default(), 300));
    }
}

/// Each order serves in its own way those who may go; the promise is the same.
#[test]
fn nor_is_anybody_under_another_order_inside_protective() {
    for &policy in PolicyKind::ORDERS {
        assert_few_are_late(policy, &lateness(policy, Hindrances::default(), 150));
    }
}

/// By how much the latest of 3000 responses ends after exact sharing has sent it. Few are here when
/// the first arrive and many when they finish, so a wrong share grows with their number.
fn latest_of_many(link: &Link, policy: PolicyKind, seed: u64, round_trip: Duration) -> f64 {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut at = 0.0;
    let mut next = |_| {
        at += random.random_range(0.0..4e5 / link.rate.bits() as f64);
        let size = 10_f64.powf(random.random_range(3.0..5.5)) as u64;
        Request { at, size, client: Client { round_trip, ..Client::default() } }
    };
    let requests: Vec<Request> = (0..3000).map(&mut next).collect();
    let shared = link.share(&requests).unwrap();
    let played = link.play(policy, &requests).unwrap();
    let late = played.iter().zip(&shared).map(|(real, fair)| real.sent - fair.sent);
    late.fold(f64::MIN, f64::max)
}

/// What opening a connection costs is the link's time: a virtual server that went on meanwhile would
/// be ahead.
#[test]
fn what_connections_cost_makes_nobody_late() {
    let link = Link { connection: 3000, ..link() };
    for seed in 0..5 {
        for policy in PROMISING {
            let latest = latest_of_many(&link, policy, seed, Duration::ZERO);
            assert!(latest <= TWO_GRANTS, "{policy} {seed}: {latest}");
        }
    }
}

/// A window that opens later in the virtual server than over the path would leave it behind.
#[test]
fn nor_does_it_where_windows_open_among_few() {
    let link = Link::new(BitRate::new(100_000_000).unwrap());
    let round_trip = Duration::from_millis(5);
    for seed in 0..15 {
        let latest = latest_of_many(&link, policy::PROTECTIVE, seed, round_trip);
        assert!(latest <= round_trip.as_secs_f64(), "{seed}: {latest}");
    }
}

#[test]
fn nor_are_those_who_keep_up_for_those_who_do_not() {
    for policy in PROMISING {
        let with = Hindrances { slow: true, losses: true };
        let mut late = lateness(policy, with, 300);
        late.retain(|(request, ..)| {
            request.client.rate.is_none() && request.client.lose_every == 0
        });
        assert_few_are_late(policy, &late);
    }
}

#[test]
fn who_loses_segments_or_reads_slowly_waits_at_most_once_more_for_his_path() {
    for policy in PROMISING {
        let with = Hindrances { slow: true, losses: true };
        for (request, longest, late) in lateness(policy, with, 200) {
            // The gate does not know of losses: at the worst it begins when sharing would be done.
            let tolerated = most_round_trips(policy) * longest + alone(request);
            assert!(late <= tolerated, "{policy}: {late} {request:?}");
        }
    }
}

#[test]
fn a_slow_reader_is_not_late_for_the_time_that_it_takes_nothing() {
    for (trip, bits) in [(0, 30_000), (0, 1_000_000), (20, 100_000), (100, 30_000)] {
        let round_trip = Duration::from_millis(trip);
        let client = Client { round_trip, rate: BitRate::new(bits), ..Client::default() };
        let request = Request { at: 0.0, size: 600_000, client };
        for policy in PROMISING {
            let settled = link().settle(policy, &[request]).unwrap();
            assert_eq!(settled.len(), 1);
            assert!(settled[0].won > -TWO_GRANTS, "{policy} {trip} {bits}: {settled:?}");
        }
    }
}

#[test]
fn nor_is_it_called_late_where_it_reads_a_little_in_each_round_trip_or_waits_for_its_turn() {
    for (trip, bits, others) in [(250, 300_000, 0), (0, 100_000, 40), (0, 30_000, 40)] {
        let round_trip = Duration::from_millis(trip);
        let client = Client { round_trip, rate: BitRate::new(bits), ..Client::default() };
        let mut requests = vec![Request { at: 0.0, size: 600_001, client }];
        requests.extend((0..others).map(|number| Request {
            at: f64::from(number) / 2.0,
            size: 400_000,
            client: Client::default(),
        }));
        for policy in PROMISING {
            for one in link().settle(policy, &requests).unwrap() {
                let reads_slowly = one.size == 600_001;
                assert_eq!(one.client_was_slow, reads_slowly, "{policy} {trip} {bits}: {one:?}");
            }
        }
    }
}

#[test]
fn slow_readers_do_not_turn_the_order_of_the_others_into_first_come_first_served() {
    for seed in 0..3 {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut requests = Vec::new();
        let mut at = 0.0;
        while at < 20.0 {
            at -= (1.0 - random.random::<f64>()).ln() * 6_000.0 / 0.9e6;
            let size = (1000.0 / (1.0 - random.random::<f64>()).powf(1.0 / 1.2)).min(1e6) as u64;
            let round_trip = Duration::from_millis(ROUND_TRIPS[random.random_range(0..4)]);
            requests.push(Request { at, size, client: Client { round_trip, ..Client::default() } });
        }
        for second in 0..20 {
            let rate = BitRate::new(random.random_range(40_000..400_000));
            let client =
                Client { rate, round_trip: Duration::from_millis(20), ..Client::default() };
            requests.push(Request { at: f64::from(second), size: 60_000, client });
        }
        requests.sort_by(|a, b| a.at.total_cmp(&b.at));
        let mean = |policy| {
            let played = link().play(policy, &requests).unwrap();
            let keeps_up = |(request, _): &(&Request, &Finish)| request.client.rate.is_none();
            let fast: Vec<f64> = requests
                .iter()
                .zip(&played)
                .filter(keeps_up)
                .map(|(request, finish)| finish.received - request.at)
                .collect();
            fast.iter().sum::<f64>() / fast.len() as f64
        };
        let (srpt, fifo) = (mean(policy::SRPT), mean(policy::FIFO));
        for policy in PROMISING {
            assert!(mean(policy) < 1.1 * srpt, "{policy} {seed}: {} {srpt}", mean(policy));
        }
        assert!(fifo > 5.0 * srpt, "{seed}: {fifo} {srpt}");
    }
}

/// The virtual server at the gate is the reference but for grants: it moves by what the link sends
/// while the reference has its own clock and queue. (Of 300 seeds: 1 ms off in the mean, 7 ms or less
/// for 99 in 100.)
#[test]
fn the_ledger_holds_what_was_played_against_sharing_over_the_same_paths() {
    for policy in PROMISING {
        let mut wrong = Vec::new();
        for seed in 0..150 {
            let mut requests = mixed(seed, Hindrances::default());
            // Sizes tell responses apart in the ledger.
            for (index, request) in requests.iter_mut().enumerate() {
                request.size = request.size / 128 * 128 + index as u64;
            }
            let longest = longest_trip(&requests);
            let shared = link().share(&requests).unwrap();
            let played = link().play(policy, &requests).unwrap();
            let settled = link().settle(policy, &requests).unwrap();
            assert_eq!(settled.len(), requests.len());
            for one in settled {
                assert!(!one.client_was_slow, "{one:?}");
                let index = (one.size % 128) as usize;
                let won = shared[index].sent - played[index].sent;
                let off = (one.won - won).abs();
                assert!(
                    off <= TWO_GRANTS + longest,
                    "{policy} {seed}: {off} {:?}",
                    requests[index]
                );
                wrong.push(off);
            }
        }
        wrong.sort_by(f64::total_cmp);
        let most = wrong[wrong.len() - wrong.len() / 100];
        assert!(most < 2.0 * TWO_GRANTS, "{policy}: {most}");
        let mean = wrong.iter().sum::<f64>() / wrong.len() as f64;
        assert!(mean < TWO_GRANTS / 2.0, "{policy}: {mean}");
    }
}
