//! How late responses end after their ends under fair sharing over the same paths: the measure of the
//! promise. `weir-lab sim promise` and the experiments take it.

use weir_sched::BitRate;

use super::link::{Finish, Link, Request};

/// What a policy's order of some requests came to beside fair sharing of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lateness {
    /// Mean seconds from a request to its last byte at the client.
    pub mean: f64,
    /// Seconds by which the latest response ended after its end under fair sharing; 0 if none did.
    pub latest: f64,
    /// Its place among the requests; `None` without requests.
    pub latest_request: Option<usize>,
    /// The most seconds by which one was later than by its client's round trip; 0 if none was.
    pub beyond_round_trip: f64,
    /// The longest round trip in seconds.
    pub round_trip: f64,
}

impl Lateness {
    /// Of requests, when each was done, and when fair sharing would have been done with each.
    pub fn of(requests: &[Request], finish: &[Finish], reference: &[Finish]) -> Lateness {
        let late = |index: usize| finish[index].received - reference[index].received;
        let trip = |index: usize| requests[index].client.round_trip.as_secs_f64();
        let all = 0..requests.len();
        let latest_request = all.clone().max_by(|a, b| late(*a).total_cmp(&late(*b)));
        Lateness {
            mean: mean_response_time(requests, finish),
            latest: latest_request.map_or(0.0, |index| late(index).max(0.0)),
            latest_request,
            beyond_round_trip: all.clone().map(|i| late(i) - trip(i)).fold(0.0, f64::max),
            round_trip: all.map(trip).fold(0.0, f64::max),
        }
    }

    /// Whether the promise is kept: nobody is later than a round trip and `two_grants` seconds, or than
    /// the latest of `fsp`, which promises the same, and a round trip.
    pub fn in_time(&self, two_grants: f64, fsp: &Lateness) -> bool {
        self.beyond_round_trip <= two_grants || self.latest <= fsp.latest + self.round_trip
    }
}

/// Mean seconds from a request to its last byte at the client.
pub fn mean_response_time(requests: &[Request], finish: &[Finish]) -> f64 {
    let times = requests.iter().zip(finish).map(|(request, finish)| finish.received - request.at);
    times.sum::<f64>() / requests.len().max(1) as f64
}

impl Link {
    /// The rate that the gate lets through.
    pub fn paced(&self) -> BitRate {
        self.rate.scaled(self.pace)
    }

    /// Seconds that two grants take: clients cannot be told apart by less.
    pub fn two_grants(&self) -> f64 {
        let grant = (self.paced().bits() / 8000).max(self.packets.mss.into());
        2.0 * self.paced().time_for(self.packets.wire(grant)).as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::uplink::Client;

    fn at(received: f64) -> Finish {
        Finish { sent: received, received }
    }

    #[test]
    fn the_latest_is_found_and_a_round_trip_is_forgiven() {
        let far = Client { round_trip: Duration::from_millis(250), ..Client::default() };
        let request = |at, client| Request { at, size: 1, client };
        let requests = [request(0.0, Client::default()), request(1.0, far)];
        let found = Lateness::of(&requests, &[at(1.5), at(3.0)], &[at(1.0), at(2.25)]);
        assert_eq!((found.mean, found.latest, found.latest_request), (1.75, 0.75, Some(1)));
        assert_eq!((found.beyond_round_trip, found.round_trip), (0.5, 0.25));
        let early = Lateness::of(&requests, &[at(0.5), at(2.0)], &[at(1.0), at(2.25)]);
        assert_eq!((early.latest, early.beyond_round_trip), (0.0, 0.0));
        assert!(early.in_time(0.0, &early) && !found.in_time(0.4, &early));
        assert!(found.in_time(0.5, &early) && found.in_time(0.0, &found));
    }

    #[test]
    fn without_requests_nobody_is_late() {
        let none = Lateness::of(&[], &[], &[]);
        assert_eq!((none.mean, none.latest, none.latest_request), (0.0, 0.0, None));
    }
}
