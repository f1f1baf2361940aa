//! What every recording needs: a source of numbers that are the same on every machine, and a digest
//! of the answers.

use std::time::Duration;

use weir_sched::Time;

/// Numbers that look random (splitmix64, Steele, Lea & Flood 2014).
pub(super) struct Numbers(pub(super) u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `end`, which is not 0.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        (self.next() >> 32) % end
    }

    /// True once in `times`, on average.
    pub(super) fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// A number from 1 to about `2^bits`; every power of two is as likely.
    pub(super) fn heavy_tailed(&mut self, bits: u64) -> u64 {
        let scale = 1 << self.below(bits);
        scale + self.below(scale)
    }

    pub(super) fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }

    /// One of those in `list`, if there are any.
    pub(super) fn some_of<T: Copy>(&mut self, list: &[T]) -> Option<T> {
        (!list.is_empty()).then(|| self.one_of(list))
    }
}

/// All answers so far as one number (FNV-1a, 64 bits).
pub(super) struct Digest(u64);

impl Digest {
    pub(super) fn new() -> Digest {
        Digest(0xCBF2_9CE4_8422_2325)
    }

    pub(super) fn note(&mut self, answer: &[u64]) {
        for byte in answer.iter().flat_map(|number| number.to_le_bytes()) {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
        }
    }

    pub(super) fn value(&self) -> u64 {
        self.0
    }
}

/// A moment that an answer names, or that it names none.
pub(super) fn moment(at: Option<Time>) -> u64 {
    at.map_or(u64::MAX, Time::as_nanos)
}

/// A time span that an answer names, in nanoseconds, or that it names none.
pub(super) fn span(span: Option<Duration>) -> u64 {
    span.map_or(u64::MAX, |span| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
}
