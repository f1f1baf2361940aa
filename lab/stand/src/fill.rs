//! Filling a server's page cache as the law of its requests would, in a short time. Every measurement
//! from a warm cache begins with it.

use weir_peers::{Error, Result};

use crate::disk::SlowDisk;

/// Reads per request that are hardly any: the whole set is cached.
const HARDLY_ANY: f64 = 1e-3;
/// Two windows are alike if their reads per request differ by less than this share.
const ALIKE: f64 = 0.03;

/// Fill the cache as the law would, in at most `most` seconds: first with a fast disk, until the reads
/// per request change no more, then shortly with the slow one. `draw` sends requests for so many
/// seconds, other ones each time, and says how many were answered.
///
/// # Errors
///
/// Those of `draw`.
pub fn fill_cache(
    disk: &SlowDisk,
    most: u64,
    mut draw: impl FnMut(u64) -> Result<u64>,
) -> Result<()> {
    let window = (most / 15).clamp(1, 4);
    disk.slow(false);
    disk.work();
    let mut reads = || {
        let requests = draw(window)?;
        Ok::<f64, Error>(disk.work().reads as f64 / requests.max(1) as f64)
    };
    let (mut last, mut steady) = (f64::INFINITY, 0);
    for _ in 0..most / window {
        let now = reads()?;
        let same = (now / last - 1.0).abs() < ALIKE || now < HARDLY_ANY;
        (last, steady) = (now, if same { steady + 1 } else { 0 });
        if steady == 2 {
            break;
        }
    }
    disk.slow(true);
    reads().map(drop)
}
