//! How often each client may do something: a token bucket for each client, of which the least recently
//! used are forgotten. Used by the server for its limits of requests.
//!
//! A bucket is kept as the moment at which it is full, so nothing has to refill it, and one that is full
//! need not be kept at all.

use std::fmt;
use std::hash::{Hash, RandomState};
use std::time::Duration;

use lru::LruCache;

use crate::time::Time;

/// What every bucket is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketRate {
    /// Time in which one token comes.
    interval: Duration,
    /// Time in which all tokens come but one.
    but_one: Duration,
}

impl BucketRate {
    /// A bucket gets `per_second` tokens in a second, and never more (the time for one is rounded up to a
    /// nanosecond); without a positive number it gets none after those that it begins with. It holds
    /// `burst` tokens, at least 1, and begins full.
    pub fn new(per_second: f64, burst: u32) -> BucketRate {
        let nanos = if per_second > 0.0 { (1e9 / per_second).ceil() } else { f64::INFINITY };
        // What does not fit becomes the largest number.
        let interval = Duration::from_nanos(nanos as u64);
        BucketRate { interval, but_one: interval.saturating_mul(burst.max(1) - 1) }
    }
}

/// See the module. `K` names a client.
pub struct TokenBuckets<K> {
    rate: BucketRate,
    /// The most buckets that are kept, at least 1.
    most: usize,
    /// When each bucket is full. Its hasher has a key of its own, since clients choose their addresses.
    full_at: LruCache<K, Time, RandomState>,
}

impl<K> fmt::Debug for TokenBuckets<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenBuckets").field("rate", &self.rate).finish_non_exhaustive()
    }
}

impl<K: Hash + Eq> TokenBuckets<K> {
    /// Full buckets of this rate for everybody. At most `most` of them are kept: of more, those that were
    /// used least recently count as full again.
    pub fn new(rate: BucketRate, most: usize) -> TokenBuckets<K> {
        let full_at = LruCache::unbounded_with_hasher(RandomState::new());
        TokenBuckets { rate, most: most.max(1), full_at }
    }

    /// Takes a token from the bucket of `client`. A `now` before an earlier one does no harm.
    ///
    /// # Errors
    ///
    /// There is none; the time after which there will be one.
    pub fn take(&mut self, now: Time, client: K) -> Result<(), Duration> {
        let full_at = self.full_at.get(&client).copied().unwrap_or(now).max(now);
        let wait = full_at.since(now).saturating_sub(self.rate.but_one);
        if !wait.is_zero() {
            return Err(wait);
        }
        self.full_at.put(client, full_at + self.rate.interval);
        if self.full_at.len() > self.most {
            self.full_at.pop_lru();
        }
        Ok(())
    }

    /// How many buckets are kept.
    pub fn kept(&self) -> usize {
        self.full_at.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn a_burst_goes_at_once_and_the_rest_at_the_rate() {
        let mut buckets = TokenBuckets::new(BucketRate::new(10.0, 3), 100);
        let mut taken = |millis| buckets.take(at(millis), "one").is_ok();
        assert_eq!([0, 0, 0, 0, 99].map(&mut taken), [true, true, true, false, false]);
        assert_eq!([100, 100, 250, 250].map(&mut taken), [true, false, true, false]);
        // After a long time it is full, and not fuller.
        assert_eq!([9000; 4].map(&mut taken), [true, true, true, false]);
        assert!(buckets.take(at(9000), "other").is_ok(), "everybody has a bucket");
    }

    #[test]
    fn who_comes_back_when_told_is_served_and_not_a_moment_earlier() {
        let mut buckets = TokenBuckets::new(BucketRate::new(3.0, 2), 100);
        assert!(buckets.take(at(0), 1).is_ok() && buckets.take(at(0), 1).is_ok());
        let wait = buckets.take(at(100), 1).unwrap_err();
        let early = at(100) + (wait - Duration::from_nanos(1));
        assert_eq!(buckets.take(early, 1), Err(Duration::from_nanos(1)));
        assert_eq!(buckets.take(at(100) + wait, 1), Ok(()));
    }

    #[test]
    fn rates_at_the_ends_neither_panic_nor_let_everybody_in() {
        for per_second in [1e-300, 0.0, -1.0, f64::NAN] {
            let mut buckets = TokenBuckets::new(BucketRate::new(per_second, 0), 100);
            assert!(buckets.take(at(0), 1).is_ok());
            assert!(buckets.take(at(1_000_000_000), 1).is_err(), "{per_second}");
        }
        let mut buckets = TokenBuckets::new(BucketRate::new(f64::INFINITY, 1), 100);
        assert!((0..1000).all(|_| buckets.take(at(0), 1).is_ok()));
        let mut buckets = TokenBuckets::new(BucketRate::new(1e-9, u32::MAX), 100);
        assert!((0..1000).all(|_| buckets.take(Time::NEVER, 1).is_ok()));
    }

    #[test]
    fn the_least_recently_used_are_forgotten() {
        let mut buckets = TokenBuckets::new(BucketRate::new(1.0, 1), 2);
        assert!(buckets.take(at(0), 1).is_ok() && buckets.take(at(0), 2).is_ok());
        // Who is refused is in use, too.
        assert!(buckets.take(at(0), 1).is_err());
        assert!(buckets.take(at(0), 3).is_ok());
        assert!(buckets.take(at(0), 1).is_err(), "it was used after 2");
        assert!(buckets.take(at(0), 2).is_ok(), "it was forgotten");
        assert_eq!(buckets.kept(), 2);
    }

    /// A bucket as it is drawn: tokens are nanoseconds, and time fills it.
    struct Naive {
        tokens: u64,
        at: u64,
    }

    proptest! {
        #[test]
        fn it_is_a_bucket(
            interval in 1_u64..2_000,
            burst in 1_u32..6,
            steps in prop::collection::vec((0_u64..3_000, 0_usize..3), 1..200),
        ) {
            let (each, most) = (interval, interval * u64::from(burst));
            let rate = BucketRate {
                interval: Duration::from_nanos(interval),
                but_one: Duration::from_nanos(interval * u64::from(burst - 1)),
            };
            let mut buckets = TokenBuckets::new(rate, 100);
            let mut naive = [0; 3].map(|at| Naive { tokens: most, at });
            let mut now = 0;
            for (pause, client) in steps {
                now += pause;
                let own = &mut naive[client];
                own.tokens = most.min(own.tokens + (now - own.at));
                own.at = now;
                let expected = match own.tokens.checked_sub(each) {
                    Some(left) => {
                        own.tokens = left;
                        Ok(())
                    }
                    None => Err(Duration::from_nanos(each - own.tokens)),
                };
                prop_assert_eq!(buckets.take(Time::from_nanos(now), client), expected);
            }
        }

        /// However many clients come, memory is bounded, and one that stays among those kept has no more
        /// than its rate.
        #[test]
        fn strangers_take_neither_memory_nor_the_limit_away(
            most in 2_usize..20,
            steps in prop::collection::vec((0_u64..50, any::<u16>()), 1..400),
        ) {
            let mut buckets = TokenBuckets::new(BucketRate::new(10.0, 2), most);
            let (mut now, mut taken) = (0, 0);
            for (pause, stranger) in steps {
                now += pause;
                let _ = buckets.take(at(now), u32::from(stranger));
                taken += u64::from(buckets.take(at(now), u32::MAX).is_ok());
                prop_assert!(buckets.kept() <= most);
            }
            prop_assert!(taken <= 2 + now / 100, "{taken} in {now} ms");
        }
    }
}
