//! The far end of a connection: how much its path and its reader let be in flight. The simulated
//! line has one for each connection.

use std::time::Duration;

use weir_sched::{BitRate, Path, Time};

/// Segments that a connection may send before the first acknowledgement (RFC 6928).
const INITIAL_SEGMENTS: u64 = 10;

/// What a client takes in before its program has read it: `tcp_rmem`'s default of Linux.
const RECEIVE_BUFFER: u64 = 131_072;

/// Who receives a response.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Client {
    /// From the server to the client and back, without waiting for the link.
    pub round_trip: Duration,
    /// What the client takes at most; `None`: as much as comes.
    pub rate: Option<BitRate>,
    /// Every so many-th segment is lost on the way; 0: none.
    pub lose_every: u64,
}

impl Client {
    /// What the gate is told of the way to this client when its connection opens.
    pub(super) fn path(&self, segment: u32) -> Path {
        let window = INITIAL_SEGMENTS * u64::from(segment.max(1));
        Path { round_trip: self.round_trip, window, window_credit: window }
    }
}

/// A connection as its sender sees it. The window doubles with each round trip (slow start) until
/// something is lost: then it is halved and grows by a segment a round trip (RFC 5681 section 3.1).
/// What is lost and all behind it is there a round trip later (fast retransmit); that it is sent
/// again takes nothing of the link. A client that reads slowly closes the window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Connection {
    client: Client,
    segment: u64,
    window: u64,
    /// Something was lost: the window grows slowly.
    avoids_congestion: bool,
    /// Bytes sent since the beginning.
    sent: u64,
    /// Bytes sent and not acknowledged, or not read by a slow client.
    under_way: u64,
    /// When the client will have read all that was sent.
    read_at: Time,
    pub(super) blocked: bool,
}

impl Connection {
    pub(super) fn new(client: Client, segment: u32) -> Connection {
        let limited = !client.round_trip.is_zero() || client.rate.is_some();
        let segment = u64::from(segment.max(1));
        Connection {
            client,
            segment,
            window: if limited { INITIAL_SEGMENTS * segment } else { u64::MAX },
            avoids_congestion: false,
            sent: 0,
            under_way: 0,
            read_at: Time::ZERO,
            blocked: false,
        }
    }

    /// Whether its path or its reader ever makes the sender wait.
    pub(super) fn is_limited(&self) -> bool {
        self.window != u64::MAX
    }

    /// What the server finds of the way to the client when it looks; `None` if nothing limits it.
    pub(super) fn path(&self) -> Option<Path> {
        let (round_trip, window) = (self.client.round_trip, self.window);
        let path = Path { round_trip, window, window_credit: self.room() };
        self.is_limited().then_some(path)
    }

    /// Bytes that the socket takes now.
    pub(super) fn room(&self) -> u64 {
        self.window.saturating_sub(self.under_way)
    }

    /// `bytes` have left the link at `at`. Returns when the sender hears that they were read; `None`
    /// if it need not wait for that.
    pub(super) fn send(&mut self, at: Time, bytes: u64) -> Option<Time> {
        let half = self.client.round_trip / 2;
        let again =
            if self.loses(self.sent, bytes) { self.client.round_trip } else { Duration::ZERO };
        self.sent += bytes;
        let arrived = self.read_at.max(at + half + again);
        self.read_at = arrived + self.client.rate.map_or(Duration::ZERO, |r| r.time_for(bytes));
        if !self.is_limited() {
            return None;
        }
        self.under_way += bytes;
        Some(self.read_at + half)
    }

    /// `bytes` were acknowledged and read.
    pub(super) fn acknowledge(&mut self, bytes: u64) {
        let lost = self.loses(self.sent - self.under_way, bytes);
        self.under_way -= bytes.min(self.under_way);
        let most = if self.client.rate.is_some() { RECEIVE_BUFFER } else { u64::MAX / 2 };
        if lost {
            self.avoids_congestion = true;
            self.window = (self.window / 2).max(2 * self.segment);
        } else if self.avoids_congestion {
            self.window += (self.segment * bytes / self.window).max(1);
        } else {
            self.window = self.window.saturating_add(bytes);
        }
        self.window = self.window.min(most);
    }

    /// Whether something of the `bytes` after the first `before` is lost.
    fn loses(&self, before: u64, bytes: u64) -> bool {
        let every = self.client.lose_every * self.segment;
        every > 0 && (before + bytes) / every > before / every
    }

    /// When the client has read what was sent so far.
    pub(super) fn read_at(&self) -> Time {
        self.read_at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_doubles_with_each_round_trip() {
        let client = Client { round_trip: Duration::from_millis(100), ..Client::default() };
        let mut connection = Connection::new(client, 1000);
        assert_eq!(connection.room(), 10_000);
        let heard = connection.send(Time::ZERO, 10_000);
        assert_eq!((connection.room(), heard), (0, Some(Time::from_nanos(100_000_000))));
        connection.acknowledge(10_000);
        assert_eq!(connection.room(), 20_000);
        assert_eq!(connection.read_at(), Time::from_nanos(50_000_000));
    }

    #[test]
    fn a_loss_halves_the_window_and_holds_up_what_is_behind_it() {
        let round_trip = Duration::from_millis(100);
        let client = Client { round_trip, lose_every: 10, ..Client::default() };
        let mut connection = Connection::new(client, 1000);
        let millis = |millis| Some(Time::ZERO + Duration::from_millis(millis));
        assert_eq!(connection.send(Time::ZERO, 9_999), millis(100));
        assert_eq!(connection.send(Time::ZERO, 1), millis(200));
        connection.acknowledge(9_999);
        assert_eq!(connection.room(), 19_998);
        // It is read after what was lost.
        assert_eq!(connection.send(Time::ZERO, 8_000), millis(200));
        connection.acknowledge(1);
        assert_eq!(connection.room(), 9_999 - 8_000);
        // A segment a round trip from now on.
        connection.acknowledge(8_000);
        assert_eq!(connection.room(), 9_999 + 800);
    }

    #[test]
    fn a_slow_client_has_read_at_its_rate() {
        let client = Client { rate: BitRate::new(8_000), ..Client::default() };
        let mut connection = Connection::new(client, 1000);
        connection.send(Time::ZERO, 1000);
        connection.send(Time::ZERO, 1000);
        assert_eq!(connection.read_at(), Time::from_nanos(2_000_000_000));
        for _ in 0..100 {
            connection.acknowledge(10_000);
        }
        assert_eq!(connection.room(), RECEIVE_BUFFER);
    }

    #[test]
    fn a_client_without_limits_is_never_waited_for() {
        let mut connection = Connection::new(Client::default(), 1448);
        assert_eq!(connection.send(Time::from_nanos(5), u64::MAX / 2), None);
        assert_eq!((connection.room(), connection.read_at()), (u64::MAX, Time::from_nanos(5)));
    }
}
