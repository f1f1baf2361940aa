//! What one direction of the link promises, for any packets.

use std::net::IpAddr;
use std::time::Duration;

use proptest::prelude::*;
use weir_wan::{Class, Counts, Direction, Line, Loss, on_the_wire};

/// Delays of the classes that packets are of; the last is of no class.
const DELAYS_MS: [u64; 4] = [50, 7, 300, 0];

#[derive(Clone, Copy, Debug)]
struct Packet {
    at: Duration,
    bytes: usize,
    class: usize,
}

#[derive(Debug)]
struct Run {
    /// Number of the packet and when it came out, in order.
    out: Vec<(usize, Duration)>,
    /// Numbers of those that did not get in.
    refused: Vec<usize>,
    counts: Counts,
}

fn classes() -> Vec<Class> {
    let class = |(number, &delay_ms): (usize, &u64)| Class {
        network: IpAddr::from([10, 0, number as u8, 0]),
        prefix: 24,
        delay: Duration::from_millis(delay_ms),
    };
    DELAYS_MS[..3].iter().enumerate().map(class).collect()
}

/// Send all through a line whose packets are taken exactly when they are due.
fn run(options: &Direction, seed: u64, packets: &[Packet]) -> Run {
    let mut line = Line::new(options, &classes(), seed, 0).expect("possible options");
    let (mut out, mut refused) = (Vec::new(), Vec::new());
    let mut now = Duration::ZERO;
    for (number, packet) in packets.iter().enumerate() {
        while let Some(due) = line.next_due().filter(|&due| due <= packet.at) {
            if now < due {
                assert!(line.pop_due(due - Duration::from_nanos(1)).is_none(), "not due yet");
            }
            now = due;
            out.extend(line.pop_due(due).map(|number| (number, due)));
        }
        now = packet.at;
        let client = IpAddr::from([10, 0, packet.class as u8, 9]);
        refused.extend(line.push(packet.at, Some(client), packet.bytes, number));
    }
    while let Some(due) = line.next_due() {
        out.extend(line.pop_due(due).map(|number| (number, due)));
    }
    Run { out, refused, counts: line.counts() }
}

fn packets() -> impl Strategy<Value = Vec<Packet>> {
    let one = (prop_oneof![Just(0u64), 0..2_000_000u64], 20..1500usize, 0..DELAYS_MS.len());
    prop::collection::vec(one, 1..300).prop_map(|all| {
        let mut at = Duration::ZERO;
        let packet = |(gap, bytes, class)| {
            at += Duration::from_nanos(gap);
            Packet { at, bytes, class }
        };
        all.into_iter().map(packet).collect()
    })
}

fn loss() -> impl Strategy<Value = Loss> {
    prop_oneof![
        Just(Loss::None),
        (0.0..=1.0).prop_map(Loss::Random),
        (0.0..0.6, 2.0..10.0)
            .prop_map(|(probability, length)| Loss::Bursts { probability, length }),
    ]
}

fn direction() -> impl Strategy<Value = Direction> {
    let rate = prop::option::of(100_000..1_000_000_000u64);
    (loss(), rate, 0..50usize).prop_map(|(loss, rate, queue)| Direction { loss, rate, queue })
}

fn delay(packet: Packet) -> Duration {
    Duration::from_millis(DELAYS_MS[packet.class])
}

proptest! {
    #[test]
    fn each_packet_comes_out_once_or_is_counted(
        options in direction(), seed: u64, packets in packets()
    ) {
        let Run { out, refused, counts } = run(&options, seed, &packets);
        let mut all: Vec<usize> = out.iter().map(|&(number, _)| number).chain(refused).collect();
        all.sort_unstable();
        prop_assert_eq!(all, (0..packets.len()).collect::<Vec<_>>());
        prop_assert_eq!(counts.packets_in, packets.len() as u64);
        prop_assert_eq!(counts.packets_out, out.len() as u64);
        prop_assert_eq!(counts.lost + counts.dropped + counts.packets_out, counts.packets_in);
        let bytes: usize = out.iter().map(|&(number, _)| packets[number].bytes).sum();
        prop_assert_eq!(counts.bytes_out, bytes as u64);
        prop_assert_eq!(counts.bytes_in, packets.iter().map(|p| p.bytes as u64).sum::<u64>());
        prop_assert!(counts.lost == 0 || options.loss != Loss::None);
        prop_assert!(counts.dropped == 0 || options.rate.is_some());
        prop_assert_eq!((counts.underway, counts.late), (0, 0));
    }

    #[test]
    fn the_order_within_a_class_is_kept(
        options in direction(), seed: u64, packets in packets()
    ) {
        let Run { out, .. } = run(&options, seed, &packets);
        prop_assert!(out.is_sorted_by_key(|&(_, at)| at));
        for class in 0..DELAYS_MS.len() {
            let of_class = out.iter().filter(|&&(number, _)| packets[number].class == class);
            prop_assert!(of_class.is_sorted_by_key(|&(number, _)| number));
        }
    }

    #[test]
    fn without_a_rate_the_delay_is_exact(loss in loss(), seed: u64, packets in packets()) {
        let options = Direction { loss, rate: None, queue: 0 };
        for (number, at) in run(&options, seed, &packets).out {
            prop_assert_eq!(at, packets[number].at + delay(packets[number]));
        }
    }

    /// The wire is never idle while a packet waits, never faster than its rate, and drops a packet
    /// exactly when as many wait as may.
    #[test]
    fn the_wire_keeps_to_its_rate_and_its_queue(
        rate in 100_000..1_000_000_000u64, queue in 0..50usize, packets in packets()
    ) {
        let options = Direction { loss: Loss::None, rate: Some(rate), queue };
        let Run { out, refused, counts } = run(&options, 1, &packets);
        let mut sent: Vec<(usize, Duration)> =
            out.iter().map(|&(number, at)| (number, at - delay(packets[number]))).collect();
        sent.sort_unstable();
        // When each packet that got in had the wire, and until when.
        let wire: Vec<(usize, Duration, Duration)> = sent
            .iter()
            .map(|&(number, end)| (number, end - on_the_wire(packets[number].bytes, rate), end))
            .collect();
        let mut free = Duration::ZERO;
        for &(number, start, end) in &wire {
            prop_assert_eq!(start, free.max(packets[number].at));
            free = end;
        }
        let waiting = |number: usize| {
            let now = packets[number].at;
            wire.iter().filter(|&&(other, start, _)| other < number && start > now).count()
        };
        let busy = |number: usize| {
            let now = packets[number].at;
            wire.iter().any(|&(other, start, end)| other < number && start <= now && now < end)
        };
        for number in 0..packets.len() {
            let full = busy(number) && waiting(number) >= queue;
            prop_assert_eq!(refused.contains(&number), full, "packet {}", number);
        }
        prop_assert!(counts.most_queued <= queue);
        // Over any window from one packet's start to another's end.
        for (first, &(_, start, _)) in wire.iter().enumerate() {
            let mut bits = 0.0;
            for &(number, _, end) in &wire[first..] {
                bits += (packets[number].bytes + weir_wan::FRAME) as f64 * 8.0;
                prop_assert!(bits <= rate as f64 * (end - start).as_secs_f64() * (1.0 + 1e-9));
            }
        }
    }

    /// Losses depend on the packet's number only, not on its time, size, class, or on the queue.
    #[test]
    fn the_same_seed_loses_the_same_packets(
        loss in loss(), seed: u64, one in packets(), other in packets()
    ) {
        let options = Direction { loss, rate: None, queue: 0 };
        let count = one.len().min(other.len());
        let mut lost = run(&options, seed, &one[..count]).refused;
        prop_assert_eq!(&lost, &run(&options, seed, &other[..count]).refused);
        let slow = Direction { rate: Some(1_000_000), queue: 1, ..options };
        let refused = run(&slow, seed, &one[..count]).refused;
        lost.retain(|number| !refused.contains(number));
        prop_assert!(lost.is_empty(), "{:?} got in", lost);
    }

    /// Within six standard deviations, which chance exceeds twice in a thousand million.
    #[test]
    fn the_share_of_losses_is_binomial(probability in 0.0..=1.0f64, seed: u64) {
        let count = 20_000;
        let packet = Packet { at: Duration::ZERO, bytes: 100, class: 3 };
        let options = Direction { loss: Loss::Random(probability), rate: None, queue: 0 };
        let lost = run(&options, seed, &vec![packet; count]).counts.lost as f64;
        let expected = probability * count as f64;
        let deviation = (expected * (1.0 - probability)).sqrt();
        prop_assert!((lost - expected).abs() <= 6.0 * deviation + 1.0, "{} lost", lost);
    }
}

#[test]
fn a_clock_that_goes_back_changes_nothing() {
    let mut line = Line::new(&Direction::default(), &[], 1, 0).expect("possible options");
    assert_eq!(line.push(Duration::from_secs(2), None, 100, 'a'), None);
    assert_eq!(line.push(Duration::from_secs(1), None, 100, 'b'), None);
    assert_eq!(line.pop_due(Duration::from_secs(1)), Some('a'));
    assert_eq!(line.pop_due(Duration::from_secs(1)), Some('b'));
}

#[test]
fn a_packet_that_gets_the_wire_now_waits_no_more() {
    // 100 bytes with Ethernet's header are 100 ns.
    let options = Direction { loss: Loss::None, rate: Some(8_000_000_000), queue: 1 };
    let mut line = Line::new(&options, &[], 1, 0).expect("possible options");
    for (at, packet, back) in
        [(0, 'a', None), (0, 'b', None), (99, 'c', Some('c')), (100, 'd', None)]
    {
        assert_eq!(line.push(Duration::from_nanos(at), None, 86, packet), back);
    }
}

#[test]
fn late_and_refused_packets_are_counted() {
    let mut line = Line::new(&Direction::default(), &[], 1, 0).expect("possible options");
    for packet in 0..3 {
        assert_eq!(line.push(Duration::from_secs(1), None, 100, packet), None);
    }
    assert_eq!(line.pop_due(Duration::from_secs(1)), Some(0));
    assert_eq!(line.pop_due(Duration::from_secs(3)), Some(1));
    line.refused(100);
    let counts = line.counts();
    assert_eq!((counts.late, counts.most_late), (1, Duration::from_secs(2)));
    assert_eq!((counts.packets_out, counts.bytes_out), (1, 100));
    assert_eq!((counts.refused, counts.underway), (1, 1));
}

#[test]
fn a_rate_of_nothing_is_refused() {
    let options = Direction { rate: Some(0), ..Direction::default() };
    assert!(Line::<()>::new(&options, &[], 1, 0).is_err());
}
