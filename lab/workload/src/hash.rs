//! Numbers that follow from a seed and an index, rather than from a stream of draws: what one part
//! of a workload takes changes nothing in the others.

/// A number in [0, 1) from a seed, a purpose and an index, by splitmix64 (Steele, Lea & Flood,
/// "Fast splittable pseudorandom number generators", 2014).
pub(crate) fn uniform(seed: u64, purpose: u64, index: u64) -> f64 {
    (mixed(seed, purpose, index) >> 11) as f64 / (1u64 << 53) as f64
}

/// 64 bits from a seed, a purpose and an index.
pub(crate) fn mixed(seed: u64, purpose: u64, index: u64) -> u64 {
    let mut x = (seed ^ purpose)
        .wrapping_mul(0x9E37_79B9_7F4A_7C15)
        .wrapping_add(index.wrapping_mul(0xD1B5_4A32_D192_ED03))
        .wrapping_add(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_uniform_and_purposes_independent() {
        let count = 100_000;
        let pairs: Vec<_> = (0..count).map(|i| (uniform(1, 2, i), uniform(1, 3, i))).collect();
        let mean = |f: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(f).sum::<f64>() / count as f64;
        assert!((mean(&|p| p.0) - 0.5).abs() < 0.005);
        assert!((mean(&|p| p.0 * p.0) - 1.0 / 3.0).abs() < 0.005);
        assert!((mean(&|p| p.0 * p.1) - 0.25).abs() < 0.005);
    }
}
