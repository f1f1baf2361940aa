//! The trace: who asks for how many bytes at what time. Poisson arrivals whose
//! rate alternates between high and low load; everything follows from the seed,
//! nothing from the system under test.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

use crate::law;

/// TCP payload of a full segment (MTU 1500, timestamps on).
pub(crate) const SEGMENT: u64 = 1448;
/// Ethernet, IP and TCP header of each packet, with timestamps.
pub(crate) const PACKET: u64 = 66;
/// What the server sends beside data for one connection: SYN-ACK (74), ACK of
/// the request (66), and FIN or ACK of the client's FIN (66).
pub(crate) const CONNECTION: u64 = 74 + 66 + 66;
/// Share of the requests that belong to slow readers, of 100.
const SLOW_PERCENT: u64 = 5;

/// Bytes that a response takes on the link, with all packets of its connection.
pub(crate) fn wire_bytes(head: u64, body: u64) -> u64 {
    let payload = head + body;
    payload + PACKET * payload.div_ceil(SEGMENT) + CONNECTION
}

/// Offered load over time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub(crate) cycles: u32,
    pub(crate) period: f64,
    pub(crate) high: f64,
    pub(crate) low: f64,
    pub(crate) bytes_per_second: f64,
    pub(crate) head: u64,
}

impl Shape {
    /// Length of the trace in seconds.
    pub(crate) fn duration(&self) -> f64 {
        2.0 * self.period * f64::from(self.cycles)
    }

    /// Start and end of each period of high load.
    pub(crate) fn high_periods(&self) -> Vec<(f64, f64)> {
        (0..self.cycles)
            .map(|cycle| f64::from(cycle) * 2.0 * self.period)
            .map(|start| (start, start + self.period))
            .collect()
    }
}

/// One request of the trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Request {
    /// Intended start, in seconds from the start of the run.
    pub(crate) at: f64,
    /// Length of the body.
    pub(crate) size: u64,
    /// Whether this client is a slow reader in the scenario that has some. The
    /// mark is there in every scenario, so that the others can be compared.
    pub(crate) slow: bool,
}

/// The trace of a seed.
pub(crate) fn make(seed: u64, shape: &Shape) -> Vec<Request> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mean_work = law::mean_of(|size| wire_bytes(shape.head, size) as f64);
    let mut requests = Vec::new();
    for half in 0..2 * shape.cycles {
        let load = if half % 2 == 0 { shape.high } else { shape.low };
        let per_second = load * shape.bytes_per_second / mean_work;
        let start = f64::from(half) * shape.period;
        // Poisson arrivals have no memory: each period may start afresh.
        let mut at = start;
        loop {
            at += -(1.0 - random.random::<f64>()).ln() / per_second;
            if at >= start + shape.period {
                break;
            }
            let size = law::size(random.random::<f64>());
            let slow = is_slow(seed, requests.len() as u64);
            requests.push(Request { at, size, slow });
        }
    }
    requests
}

/// Offered load within the given spans of time, as it came out for this seed.
pub(crate) fn offered_load(requests: &[Request], shape: &Shape, spans: &[(f64, f64)]) -> f64 {
    let time: f64 = spans.iter().map(|(from, to)| to - from).sum();
    let work: u64 = requests
        .iter()
        .filter(|request| spans.iter().any(|&(from, to)| request.at >= from && request.at < to))
        .map(|request| wire_bytes(shape.head, request.size))
        .sum();
    work as f64 / (shape.bytes_per_second * time)
}

/// A hash of seed and index (splitmix64) rather than a draw, so that marking
/// slow readers changes nothing else in the trace.
fn is_slow(seed: u64, index: u64) -> bool {
    let mut x = seed
        .wrapping_mul(0x9E37_79B9_7F4A_7C15)
        .wrapping_add(index.wrapping_mul(0xD1B5_4A32_D192_ED03))
        .wrapping_add(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    (x ^ (x >> 31)) % 100 < SLOW_PERCENT
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(cycles: u32) -> Shape {
        Shape { cycles, period: 25.0, high: 1.2, low: 0.2, bytes_per_second: 1.25e6, head: 200 }
    }

    #[test]
    fn equal_seeds_give_equal_traces() {
        assert_eq!(make(7, &shape(1)), make(7, &shape(1)));
        assert_ne!(make(7, &shape(1)), make(8, &shape(1)));
    }

    #[test]
    fn arrivals_ascend_and_the_load_is_what_was_asked() {
        // Sizes are heavy-tailed, so the load of one cycle may be 10 % off; over
        // 100 cycles the standard deviation is about 1 %.
        let shape = shape(100);
        let requests = make(1, &shape);
        assert!(requests.windows(2).all(|pair| pair[0].at <= pair[1].at));
        let high = offered_load(&requests, &shape, &shape.high_periods());
        assert!((high / 1.2 - 1.0).abs() < 0.03, "{high}");
        let all = offered_load(&requests, &shape, &[(0.0, shape.duration())]);
        assert!((all / 0.7 - 1.0).abs() < 0.03, "{all}");
    }

    #[test]
    fn one_request_in_twenty_is_a_slow_reader() {
        let requests = make(1, &shape(10));
        let slow = requests.iter().filter(|request| request.slow).count();
        let share = slow as f64 / requests.len() as f64;
        assert!((share - 0.05).abs() < 0.005, "{share}");
    }

    #[test]
    fn a_full_segment_is_one_packet() {
        assert_eq!(wire_bytes(200, 1248), 1448 + 66 + CONNECTION);
        assert_eq!(wire_bytes(200, 1249), 1449 + 132 + CONNECTION);
    }
}
