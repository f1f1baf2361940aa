//! How long a response can have been held up by its own client: what came of it lay ready before it was
//! read, and once the receive window is full its sender waits for that. Every connection has one
//! [`ReadLag`], which the engine tells of its turns.

/// Bytes that may lie unread without holding up their sender: half of the window that Linux offers at first
/// (64 KB, with the default of `tcp_rmem`) and enlarges as it is used.
const HALF_WINDOW: u64 = 32_768;

/// The read lag of the response that comes on a connection, in seconds: an upper bound of how much sooner it
/// would have ended with a client that reads at once what comes.
///
/// A response is read in stretches, each of one turn, or of several where one did not suffice. A stretch is
/// late by the longest for which what it reads can have lain ready before its turns came. What it reads came
/// after the stretch before it, so none of the time counts twice, and a sender that waited for the client
/// waited no longer than all stretches were late. Those that found less than half a window do not count: the
/// sender had room to go on. The last always counts, since its end is the response's. How long the turns
/// themselves take is the work of reading and no lag.
pub(crate) struct ReadLag {
    /// Slow readers come when they like, and are not late.
    slow: bool,
    /// When the engine last had done something on the connection: what is ready now came later.
    touched: f64,
    /// Of the stretches before the last that count.
    before: f64,
    /// By how much the last stretch was late.
    last: f64,
    /// Bytes the last stretch has read.
    read: u64,
}

impl ReadLag {
    /// Of a connection that is being made since `now`.
    pub(crate) fn new(now: f64, slow: bool) -> ReadLag {
        ReadLag { slow, touched: now, before: 0.0, last: 0.0, read: 0 }
    }

    /// From here on another response is read.
    pub(crate) fn reset(&mut self) {
        (self.before, self.last, self.read) = (0.0, 0.0, 0);
    }

    /// At `now` the engine has done what there was to do on the connection.
    pub(crate) fn touch(&mut self, now: f64) {
        self.touched = now;
    }

    /// By how much a turn at `now` is late, at most, if what it is for came after `since`; without that, it
    /// has lain there since the last turn.
    pub(crate) fn late(&self, since: Option<f64>, now: f64) -> f64 {
        let since = since.map_or(self.touched, |since| since.max(self.touched));
        (now - since).max(0.0)
    }

    /// A turn at the response begins at `now`, for what came after `since`; without that, it goes on where the
    /// last turn left something to read.
    pub(crate) fn turn(&mut self, since: Option<f64>, now: f64) {
        if self.slow {
            return;
        }
        let late = self.late(since, now);
        if since.is_none() {
            self.last += late;
            return;
        }
        if self.read >= HALF_WINDOW {
            self.before += self.last;
        }
        (self.last, self.read) = (late, 0);
    }

    /// The turn has read so many bytes from the socket.
    pub(crate) fn count(&mut self, bytes: u64) {
        self.read += bytes;
    }

    /// Of the response as far as it has been read.
    pub(crate) fn total(&self) -> f64 {
        self.before + self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A turn at `now` that takes no time and reads so many bytes.
    fn turn(lag: &mut ReadLag, since: Option<f64>, now: f64, bytes: u64) {
        lag.turn(since, now);
        lag.count(bytes);
        lag.touch(now);
    }

    #[test]
    fn a_large_response_is_as_late_as_all_its_stretches_together() {
        let mut lag = ReadLag::new(0.0, false);
        for now in [2.0, 4.0, 6.0] {
            turn(&mut lag, Some(now - 1.0), now, HALF_WINDOW);
        }
        turn(&mut lag, Some(7.75), 8.0, 1);
        assert_eq!(lag.total(), 3.25);
    }

    #[test]
    fn what_is_read_when_it_comes_is_not_late() {
        let mut lag = ReadLag::new(0.0, false);
        for now in [2.0, 4.0, 6.0] {
            turn(&mut lag, Some(now), now, 8 * HALF_WINDOW);
        }
        assert_eq!(lag.total(), 0.0);
    }

    #[test]
    fn what_leaves_room_in_the_window_holds_nobody_up_but_at_the_end() {
        let mut lag = ReadLag::new(0.0, false);
        for now in [2.0, 4.0, 6.0] {
            turn(&mut lag, Some(now - 1.0), now, HALF_WINDOW - 1);
        }
        assert_eq!(lag.total(), 1.0);
        turn(&mut lag, Some(7.0), 7.0, 1);
        assert_eq!(lag.total(), 0.0);
    }

    #[test]
    fn turns_that_go_on_are_one_stretch_from_the_end_of_one_to_the_next() {
        let mut lag = ReadLag::new(0.0, false);
        turn(&mut lag, Some(1.0), 2.0, HALF_WINDOW / 2);
        // A turn that takes a quarter of a second.
        lag.turn(None, 2.5);
        lag.count(HALF_WINDOW / 2);
        lag.touch(2.75);
        turn(&mut lag, None, 3.0, 1);
        assert_eq!(lag.total(), 1.0 + 0.5 + 0.25);
        turn(&mut lag, Some(4.0), 8.0, 1);
        assert_eq!(lag.total(), 1.75 + 4.0);
    }

    #[test]
    fn no_time_counts_twice() {
        let mut lag = ReadLag::new(1.0, false);
        for now in [2.0, 3.0, 4.0] {
            turn(&mut lag, Some(0.0), now, HALF_WINDOW);
        }
        assert_eq!(lag.total(), 3.0);
    }

    #[test]
    fn slow_readers_are_not_late() {
        let mut lag = ReadLag::new(0.0, true);
        for now in [2.0, 4.0, 6.0] {
            turn(&mut lag, Some(now - 1.0), now, HALF_WINDOW);
        }
        turn(&mut lag, None, 8.0, 1);
        assert_eq!(lag.total(), 0.0);
    }

    #[test]
    fn the_next_response_on_the_connection_begins_with_none() {
        let mut lag = ReadLag::new(0.0, false);
        for now in [2.0, 4.0] {
            turn(&mut lag, Some(now - 1.0), now, HALF_WINDOW);
        }
        lag.reset();
        turn(&mut lag, Some(4.5), 5.0, 1);
        assert_eq!(lag.total(), 0.5);
    }
}
