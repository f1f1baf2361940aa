//! When operations of the disk end: a first-come-first-served queue in front of servers that need
//! time to position themselves and time for each byte. The engine gives the time as an argument and
//! does the waiting.

use std::time::Duration;

/// How long operations of the disk take.
///
/// An operation begins when it is first in line and a channel is free. It takes
/// [`seek`](Model::seek), unless it starts exactly where the last operation of
/// its channel ended, and then its bytes ÷ the rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Model {
    /// Time to get into position.
    pub seek: Duration,
    /// Rate of each channel; 0: bytes take no time.
    pub bytes_per_second: u64,
    /// How many operations are served at the same time; 0 is taken for 1.
    pub channels: usize,
}

impl Model {
    /// How long `bytes` bytes take once in position.
    fn transfer(&self, bytes: u64) -> Duration {
        if self.bytes_per_second == 0 {
            return Duration::ZERO;
        }
        let nanos = u128::from(bytes) * 1_000_000_000 / u128::from(self.bytes_per_second);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

/// The state of the servers.
#[derive(Debug)]
pub(crate) struct Service {
    model: Model,
    channels: Vec<Channel>,
}

/// One server: when it is free, and where its last operation ended.
#[derive(Debug, Clone, Copy)]
struct Channel {
    free: Duration,
    position: Option<u64>,
}

/// When one operation is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Served {
    pub(crate) start: Duration,
    pub(crate) finish: Duration,
    /// Whether it started where the last operation of its channel ended.
    pub(crate) sequential: bool,
}

impl Service {
    /// Idle servers in no position. Without a model, one that takes no time.
    pub(crate) fn new(model: Option<Model>) -> Service {
        let none = Model { seek: Duration::ZERO, bytes_per_second: 0, channels: 1 };
        let model = model.unwrap_or(none);
        let idle = Channel { free: Duration::ZERO, position: None };
        Service { model, channels: vec![idle; model.channels.max(1)] }
    }

    /// Let an operation arrive at `now`, which never goes back.
    pub(crate) fn serve(&mut self, now: Duration, offset: u64, bytes: u64) -> Served {
        let earliest = self.channels.iter().map(|c| c.free).min().unwrap_or(now);
        let start = now.max(earliest);
        // Of those that can start it then, one that is in position; else the one
        // that has been idle longest, so that others keep theirs.
        let rank = |c: &&mut Channel| (c.position != Some(offset), c.free);
        let Some(channel) = self.channels.iter_mut().filter(|c| c.free <= start).min_by_key(rank)
        else {
            // Not reached: the earliest one is always free at `start`.
            return Served { start, finish: start, sequential: false };
        };
        let sequential = channel.position == Some(offset);
        let seek = if sequential { Duration::ZERO } else { self.model.seek };
        let finish = start + seek + self.model.transfer(bytes);
        *channel = Channel { free: finish, position: Some(offset + bytes) };
        Served { start, finish, sequential }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SEEK: Duration = Duration::from_millis(2);

    fn disk(channels: usize) -> Service {
        Service::new(Some(Model { seek: SEEK, bytes_per_second: 1_000_000, channels }))
    }

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn one_operation_takes_seek_and_transfer() {
        let served = disk(1).serve(ms(10), 4096, 3000);
        assert_eq!(served, Served { start: ms(10), finish: ms(15), sequential: false });
    }

    #[test]
    fn the_next_byte_needs_no_seek_but_the_one_after_it_does() {
        let mut disk = disk(1);
        disk.serve(ms(0), 0, 1000);
        let next = disk.serve(ms(0), 1000, 1000);
        assert_eq!(next, Served { start: ms(3), finish: ms(4), sequential: true });
        let gap = disk.serve(ms(0), 2001, 1000);
        assert_eq!(gap, Served { start: ms(4), finish: ms(7), sequential: false });
        let again = disk.serve(ms(100), 2001, 1000);
        assert_eq!(again.finish, ms(103));
    }

    #[test]
    fn a_second_stream_keeps_its_own_channel() {
        let mut disk = disk(2);
        disk.serve(ms(0), 0, 1000);
        disk.serve(ms(10), 500_000, 1000);
        assert!(disk.serve(ms(20), 1000, 1000).sequential);
        assert!(disk.serve(ms(30), 501_000, 1000).sequential);
        assert!(disk.serve(ms(40), 2000, 1000).sequential);
    }

    #[test]
    fn without_a_model_nothing_takes_time_but_order_is_still_seen() {
        let mut disk = Service::new(None);
        assert_eq!(disk.serve(ms(1), 0, 1 << 30).finish, ms(1));
        assert!(disk.serve(ms(1), 1 << 30, 1).sequential);
    }

    #[test]
    fn no_channels_is_one_and_no_rate_is_no_transfer_time() {
        let mut disk = Service::new(Some(Model { seek: SEEK, bytes_per_second: 0, channels: 0 }));
        assert_eq!(disk.serve(ms(0), 0, 1 << 40).finish, SEEK);
        assert_eq!(disk.serve(ms(0), 0, 1).start, SEEK);
    }

    /// Arrivals as (gap in µs, offset, bytes); few offsets, so that some are sequential.
    fn operations() -> impl Strategy<Value = Vec<(u64, u64, u64)>> {
        let one =
            (0..5_000_u64, (0..8_u64).prop_map(|n| n * 1000), (1..4_u64).prop_map(|n| n * 1000));
        proptest::collection::vec(one, 1..200)
    }

    proptest! {
        #[test]
        fn one_channel_is_first_in_first_out(operations in operations()) {
            let mut disk = disk(1);
            let (mut now, mut last, mut end) = (Duration::ZERO, Duration::ZERO, None);
            for (gap, offset, bytes) in operations {
                now += Duration::from_micros(gap);
                let served = disk.serve(now, offset, bytes);
                let seek = if end == Some(offset) { Duration::ZERO } else { SEEK };
                let takes = seek + Duration::from_micros(bytes);
                // Neither before the last one has ended, nor with idle time before it.
                prop_assert_eq!(served.start, now.max(last));
                prop_assert_eq!(served.finish, served.start + takes);
                prop_assert_eq!(served.sequential, end == Some(offset));
                (last, end) = (served.finish, Some(offset + bytes));
            }
        }

        #[test]
        fn channels_are_neither_shared_nor_idle_while_one_waits(
            operations in operations(), channels in 1..6_usize,
        ) {
            let mut disk = disk(channels);
            let (mut now, mut last) = (Duration::ZERO, Duration::ZERO);
            let mut all: Vec<Served> = Vec::new();
            for (gap, offset, bytes) in operations {
                now += Duration::from_micros(gap);
                let served = disk.serve(now, offset, bytes);
                let seek = if served.sequential { Duration::ZERO } else { SEEK };
                prop_assert_eq!(served.finish - served.start, seek + Duration::from_micros(bytes));
                prop_assert!(served.start >= now && served.start >= last, "not in order");
                let busy = |at| all.iter().filter(|s| s.start <= at && at < s.finish).count();
                prop_assert!(busy(served.start) < channels, "more at once than channels");
                if served.start > now {
                    let before = served.start - Duration::from_nanos(1);
                    prop_assert_eq!(busy(before), channels, "waited for nothing");
                }
                last = served.start;
                all.push(served);
            }
        }
    }
}
