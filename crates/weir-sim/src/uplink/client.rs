//! The far end of a connection: how much its path and its reader let be under way. It does not know
//! the gate.

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
}

impl Client {
    /// What the gate is told of the way to this client when its connection opens.
    pub(super) fn path(&self, segment: u32) -> Path {
        Path { round_trip: self.round_trip, window: INITIAL_SEGMENTS * u64::from(segment.max(1)) }
    }
}

/// A connection as its sender sees it. The window doubles with each round trip (slow start) and
/// nothing is lost; a client that reads slowly closes it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Connection {
    client: Client,
    window: u64,
    /// Bytes sent and not acknowledged, or not read by a slow client.
    under_way: u64,
    /// When the client will have read all that was sent.
    read_at: Time,
    pub(super) blocked: bool,
}

impl Connection {
    pub(super) fn new(client: Client, segment: u32) -> Connection {
        let limited = !client.round_trip.is_zero() || client.rate.is_some();
        let window = if limited { INITIAL_SEGMENTS * u64::from(segment.max(1)) } else { u64::MAX };
        Connection { client, window, under_way: 0, read_at: Time::ZERO, blocked: false }
    }

    /// Whether its path or its reader ever makes the sender wait.
    pub(super) fn is_limited(&self) -> bool {
        self.window != u64::MAX
    }

    /// What the server finds of the way to the client when it looks; `None` if nothing limits it.
    pub(super) fn path(&self) -> Option<Path> {
        let path = Path { round_trip: self.client.round_trip, window: self.window };
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
        let arrived = self.read_at.max(at + half);
        self.read_at = arrived + self.client.rate.map_or(Duration::ZERO, |r| r.time_for(bytes));
        if !self.is_limited() {
            return None;
        }
        self.under_way += bytes;
        Some(self.read_at + half)
    }

    /// `bytes` were acknowledged and read.
    pub(super) fn acknowledge(&mut self, bytes: u64) {
        self.under_way -= bytes.min(self.under_way);
        let most = if self.client.rate.is_some() { RECEIVE_BUFFER } else { u64::MAX / 2 };
        self.window = self.window.saturating_add(bytes).min(most);
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
        let client = Client { round_trip: Duration::from_millis(100), rate: None };
        let mut connection = Connection::new(client, 1000);
        assert_eq!(connection.room(), 10_000);
        let heard = connection.send(Time::ZERO, 10_000);
        assert_eq!((connection.room(), heard), (0, Some(Time::from_nanos(100_000_000))));
        connection.acknowledge(10_000);
        assert_eq!(connection.room(), 20_000);
        assert_eq!(connection.read_at(), Time::from_nanos(50_000_000));
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
