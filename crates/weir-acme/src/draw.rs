//! Chance, for jitter. Used by the keeper.

use std::hash::{BuildHasher, RandomState};

/// A number from 0 up to 1 that nobody has to be unable to guess.
pub(crate) fn draw() -> f64 {
    // The standard library seeds each of these hashers differently.
    let bits = RandomState::new().hash_one(0) >> 11;
    bits as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_spread_from_0_to_1() {
        let draws: Vec<f64> = (0..1000).map(|_| draw()).collect();
        assert!(draws.iter().all(|draw| (0.0..1.0).contains(draw)));
        let mean = draws.iter().sum::<f64>() / 1000.0;
        assert!((0.4..0.6).contains(&mean), "{mean}");
    }
}
