//! The uplink against exact servers and worked cases.

use std::time::Duration;

use proptest::prelude::*;
use weir_sched::{BitRate, PolicyKind, policy};

use super::*;
use crate::ideal::{self, Job};

/// 1 MB/s.
fn rate() -> BitRate {
    BitRate::new(8_000_000).unwrap()
}

/// Small and large responses at a load of about `load`.
fn heavy_tailed(seed: u64, load: f64, count: usize) -> Vec<Asked> {
    use rand::rngs::Xoshiro256PlusPlus;
    use rand::{RngExt, SeedableRng};
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut at = 0.0;
    (0..count)
        .map(|_| {
            at -= (1.0 - random.random::<f64>()).ln() * 4_500.0 / (load * 1e6);
            let bytes = (1000.0 / (1.0 - random.random::<f64>()).powf(1.0 / 1.2)).min(1e6) as u64;
            Asked { at, bytes }
        })
        .collect()
}

fn jobs(requests: &[Asked]) -> Vec<Job> {
    requests.iter().map(|r| Job { arrival: r.at, work: r.bytes as f64 }).collect()
}

fn mean(requests: &[Asked], finish: &[f64]) -> f64 {
    let sum: f64 = requests.iter().zip(finish).map(|(r, f)| f - r.at).sum();
    sum / requests.len() as f64
}

#[test]
fn srpt_is_the_exact_server_to_a_few_bytes() {
    let requests = heavy_tailed(1, 1.1, 5000);
    let found = finishes(policy::SRPT, rate(), 1514, &requests).unwrap();
    let exact = ideal::srpt(&jobs(&requests), 1e6);
    let (ours, ideal) = (mean(&requests, &found), mean(&requests, &exact));
    assert!((ours / ideal - 1.0).abs() < 1e-3, "{ours} {ideal}");
}

#[test]
fn fair_is_processor_sharing_but_for_its_quantum() {
    let requests = heavy_tailed(2, 1.1, 3000);
    let found = finishes(policy::FAIR, rate(), 1514, &requests).unwrap();
    let exact = ideal::processor_sharing(&jobs(&requests), 1e6);
    let (ours, ideal) = (mean(&requests, &found), mean(&requests, &exact));
    // Of three kilobytes, as many have a quantum of 1448 bytes to wait for.
    assert!((ours / ideal - 1.0).abs() < 0.08, "{ours} {ideal}");
}

#[test]
fn who_protects_makes_nobody_later_than_fair_sharing_by_more_than_a_grant() {
    // In the last, thousands wait, and the policy is asked for more than a grant.
    for (seed, load) in [(0, 1.2), (1, 1.2), (2, 1.2), (3, 3.0)] {
        let requests = heavy_tailed(seed, load, 4000);
        let fair = ideal::processor_sharing(&jobs(&requests), 1e6);
        for (policy, grant) in [(policy::FSP, 1), (policy::PROTECTIVE, 1514)] {
            let found = finishes(policy, rate(), grant, &requests).unwrap();
            let latest = found.iter().zip(&fair).map(|(f, fair)| f - fair).fold(0.0, f64::max);
            // Whole bytes: a byte for each change of service.
            assert!(latest < (grant + 100) as f64 / 1e6, "{policy} {seed}: {latest}");
            assert!(mean(&requests, &found) < 0.6 * mean(&requests, &fair), "{policy} {seed}");
        }
    }
}

#[test]
fn the_gate_and_the_coarse_link_agree() {
    let requests = heavy_tailed(3, 1.05, 3000);
    let packets =
        weir_sched::Packets { mss: 1448, overhead: weir_sched::WireOverhead { bytes: 0 } };
    let link = Link { pace: 1.0, connection: 0, packets, relief: None, ..Link::new(rate()) };
    let client = Client::default();
    let asked: Vec<Request> =
        requests.iter().map(|r| Request { at: r.at, size: r.bytes, client }).collect();
    for &policy in PolicyKind::ALL {
        let gate: Vec<f64> =
            link.play(policy, &asked).unwrap().iter().map(|finish| finish.sent).collect();
        let coarse = finishes(policy, rate(), 1514, &requests).unwrap();
        let (gate, coarse) = (mean(&requests, &gate), mean(&requests, &coarse));
        // Grants are not interrupted at the gate: up to 1.5 ms for a small response.
        assert!((gate - coarse).abs() < 0.04 * coarse + 0.002, "{policy}: {gate} {coarse}");
    }
}

#[test]
fn a_response_alone_takes_its_packets_at_the_paced_rate() {
    let link = Link { pace: 0.5, ..Link::new(rate()) };
    let one = Request { at: 1.0, size: 144_800, client: Client::default() };
    let finish = link.play(policy::PROTECTIVE, &[one]).unwrap()[0];
    let wire = 100.0 * 1514.0 + 206.0;
    // The last grant leaves at the link's own rate, and a pause has saved up 1 ms.
    assert!((finish.sent - 1.0 - wire / 5e5).abs() < 0.004, "{finish:?}");
    assert_eq!(finish.sent, finish.received);
    // A gate that lets too much through does not make the link faster.
    let finish = Link { pace: 3.0, ..link }.play(policy::PROTECTIVE, &[one]).unwrap()[0];
    assert!((finish.sent - 1.0 - (wire - 206.0) / 1e6).abs() < 1e-3, "{finish:?}");
}

#[test]
fn a_round_trip_delays_and_a_slow_client_holds_up_nobody() {
    let far = Client { round_trip: Duration::from_millis(200), ..Client::default() };
    let slow = Client { rate: BitRate::new(80_000), ..Client::default() };
    let near = Client::default();
    let ask = |at, size, client| Request { at, size, client };
    let requests = [ask(0.0, 200_000, slow), ask(0.0, 60_000, far), ask(0.1, 500_000, near)];
    let finish = Link::new(rate()).play(policy::SRPT, &requests).unwrap();
    // Ten segments, twenty, the rest: two round trips and half of one.
    assert!((0.5..0.62).contains(&finish[1].received), "{finish:?}");
    // 10 000 bytes a second.
    assert!((20.0..20.3).contains(&finish[0].received), "{finish:?}");
    assert!(finish[0].sent < 15.0, "what its buffer holds is sent before it is read: {finish:?}");
    assert!(finish[2].received < 0.8, "{finish:?}");
}

#[test]
fn slow_clients_leave_the_link_room() {
    let half = Client { rate: BitRate::new(4_000_000), ..Client::default() };
    let full = |pace, client| {
        let requests = [Request { at: 0.5, size: 3_000_000, client }];
        let link = Link { pace, ..Link::new(rate()) };
        let (finish, fullness) = link.watch(policy::FAIR, &requests).unwrap();
        assert_eq!(link.play(policy::FAIR, &requests).unwrap(), finish);
        assert!((fullness.until - finish[0].sent).abs() < 0.02, "{fullness:?} {finish:?}");
        fullness.spans
    };
    assert_eq!(full(1.0, half), []);
    assert_eq!(full(1.0, Client::default()), [(1.0, 3.0)]);
    // All that the gate lets through is all there is.
    assert_eq!(full(0.5, Client::default()), [(1.0, 6.0)]);
}

#[test]
fn what_cannot_be_played_says_which_request() {
    let asked = |at| Asked { at, bytes: 1 };
    for times in [[0.0, f64::NAN], [1.0, 0.5], [0.0, f64::INFINITY], [0.0, 1e10]] {
        let error = finishes(policy::FIFO, rate(), 1, &times.map(asked)).unwrap_err();
        assert!(error.to_string().starts_with("request 2: the time is"), "{error}");
        let requests = times.map(|at| Request { at, size: 1, client: Client::default() });
        assert!(Link::new(rate()).play(policy::FIFO, &requests).is_err());
    }
    let long = [Asked { at: 0.0, bytes: u64::MAX }];
    let error = finishes(policy::FIFO, rate(), 1, &long).unwrap_err().to_string();
    assert!(error.contains("request 1, has 18446744073709551615 bytes"), "{error}");
    assert_eq!(finishes(policy::FIFO, rate(), 0, &[]), Ok(Vec::new()));
    assert!(Link::new(rate()).play(policy::FIFO, &[]).unwrap().is_empty());
}

proptest! {
    /// Whatever the order, a link that never idles is done with a busy period at the same time.
    #[test]
    fn every_policy_does_the_same_work(
        gaps in prop::collection::vec((0_u32..30_000, 1_u64..60_000), 1..60),
        grant in 1_u64..20_000,
    ) {
        let mut at = 0.0;
        let requests: Vec<Asked> = gaps
            .iter()
            .map(|&(micros, bytes)| {
                at += f64::from(micros) / 1e6;
                Asked { at, bytes }
            })
            .collect();
        let until = fullness(rate(), &requests).unwrap().until;
        for &policy in PolicyKind::ALL {
            let found = finishes(policy, rate(), grant, &requests).unwrap();
            for (asked, finish) in requests.iter().zip(&found) {
                prop_assert!(*finish > asked.at && *finish >= asked.at + asked.bytes as f64 / 1e6 - 2e-6);
            }
            let last = found.iter().copied().fold(0.0, f64::max);
            prop_assert!((last - until).abs() < 1e-4, "{} {} {}", policy, last, until);
        }
    }
}

#[test]
fn who_leaves_takes_nothing_more_of_the_link() {
    // 1 MB/s and 1 s of patience: fair sharing sends to all and finishes nothing of the large ones,
    // shortest first (later ones are a little shorter) finishes some of them and begins no others.
    let packets =
        weir_sched::Packets { mss: 1448, overhead: weir_sched::WireOverhead { bytes: 0 } };
    let link = Link { pace: 1.0, connection: 0, packets, relief: None, ..Link::new(rate()) };
    let client = Client::default();
    let requests: Vec<Request> = (0..1200_u32)
        .map(|index| {
            let size = if index % 10 == 0 { 20_000 - u64::from(index) } else { 1_000 };
            Request { at: f64::from(index) / 1e3, size, client }
        })
        .collect();
    let patience = Duration::from_secs(1);
    let share = |policy| {
        let found = link.play_impatient(policy, &requests, patience).unwrap();
        let bytes = |index: usize| found.finish[index].map_or(0, |_| requests[index].size);
        assert_eq!((0..requests.len()).map(bytes).sum::<u64>(), found.useful);
        let in_time = |(index, finish): (usize, &Option<Finish>)| {
            finish.is_none_or(|finish| finish.sent - requests[index].at < 1.0 + 0.002)
        };
        assert!(found.finish.iter().enumerate().all(in_time));
        let sent = found.useful + found.wasted;
        assert!((1_800_000..2_205_000).contains(&sent), "{policy} {sent}");
        found.useful as f64 / sent as f64
    };
    let [fair, srpt] = [policy::FAIR, policy::SRPT].map(share);
    assert!(fair < 0.7 && srpt > 0.95, "{fair} {srpt}");
    // Patience that nobody needs changes nothing.
    let all = link.play_impatient(policy::FAIR, &requests, Duration::from_secs(60)).unwrap();
    let played = link.play(policy::FAIR, &requests).unwrap();
    assert_eq!(all.finish.into_iter().flatten().collect::<Vec<_>>(), played);
    assert_eq!(all.wasted, 0);
}
