//! The law of requests, after SPECweb99: directories by Zipf, four classes of
//! sizes, nine files in each. Pure: it knows numbers and paths, not files.
//!
//! Source: SPECweb99 Release 1.02, "Workload", sections on the file set and on
//! the access of directories, classes and files.

use rand::{Rng, RngExt};

/// The smallest file of each class; file `i` of a class has `i` times as much.
const UNITS: [u64; 4] = [102, 1024, 10_240, 102_400];
const CLASS_SHARES: [f64; 4] = [0.35, 0.50, 0.14, 0.01];
const FILE_SHARES: [f64; 9] = [0.039, 0.059, 0.088, 0.177, 0.353, 0.118, 0.071, 0.050, 0.045];
const PER_DIRECTORY: usize = UNITS.len() * FILE_SHARES.len();

/// Bytes of the files of one directory, about 5 MB.
pub(crate) const DIRECTORY_BYTES: u64 = 45 * (102 + 1024 + 10_240 + 102_400);

/// Which file is asked for how often.
pub(crate) struct Law {
    /// Chance that the directory is this one or one before it.
    reach: Vec<f64>,
}

impl Law {
    /// The law over as many directories as fit into `bytes`, at least one.
    pub(crate) fn of_size(bytes: u64) -> Law {
        Law::new((bytes / DIRECTORY_BYTES).max(1) as usize)
    }

    fn new(directories: usize) -> Law {
        let total: f64 = (1..=directories).map(|rank| 1.0 / rank as f64).sum();
        let mut sum = 0.0;
        let step = |rank: usize| {
            sum += 1.0 / rank as f64 / total;
            sum
        };
        Law { reach: (1..=directories).map(step).collect() }
    }

    pub(crate) fn directories(&self) -> usize {
        self.reach.len()
    }

    /// How many files there are; they are numbered from 0.
    pub(crate) fn files(&self) -> usize {
        self.directories() * PER_DIRECTORY
    }

    /// The chance that a request is for this file.
    pub(crate) fn probability(&self, file: usize) -> f64 {
        let (directory, class, rank) = place(file);
        let before = if directory == 0 { 0.0 } else { self.reach[directory - 1] };
        (self.reach[directory] - before) * CLASS_SHARES[class] * FILE_SHARES[rank]
    }

    /// The file of the next request.
    pub(crate) fn draw(&self, random: &mut impl Rng) -> usize {
        let u: f64 = random.random();
        let directory = self.reach.partition_point(|&reach| reach <= u);
        let directory = directory.min(self.directories() - 1);
        let class = pick(&CLASS_SHARES, random.random());
        let rank = pick(&FILE_SHARES, random.random());
        directory * PER_DIRECTORY + class * FILE_SHARES.len() + rank
    }
}

fn pick(shares: &[f64], u: f64) -> usize {
    let mut left = u;
    for (index, share) in shares.iter().enumerate() {
        left -= share;
        if left < 0.0 {
            return index;
        }
    }
    shares.len() - 1
}

/// Directory, class and rank within the class of a file.
fn place(file: usize) -> (usize, usize, usize) {
    let within = file % PER_DIRECTORY;
    (file / PER_DIRECTORY, within / FILE_SHARES.len(), within % FILE_SHARES.len())
}

/// Bytes of a file.
pub(crate) fn size(file: usize) -> u64 {
    let (_, class, rank) = place(file);
    UNITS[class] * (rank as u64 + 1)
}

/// The class of a file: 0 under 1 KB, 1 up to 9 KB, 2 up to 90 KB, 3 above.
pub(crate) fn class(file: usize) -> usize {
    place(file).1
}

/// Where a file is below the root.
pub(crate) fn path(file: usize) -> String {
    let (directory, class, rank) = place(file);
    format!("/dir{directory:05}/class{class}_{}", rank + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::SmallRng;

    #[test]
    fn the_probabilities_sum_to_one() {
        let law = Law::new(37);
        let sum: f64 = (0..law.files()).map(|file| law.probability(file)).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{sum}");
    }

    #[test]
    fn files_are_drawn_as_often_as_the_law_says() {
        let law = Law::new(5);
        let draws = 400_000;
        let mut random = SmallRng::seed_from_u64(1);
        let mut seen = vec![0u32; law.files()];
        (0..draws).for_each(|_| seen[law.draw(&mut random)] += 1);
        for (file, &count) in seen.iter().enumerate() {
            let expected = law.probability(file) * f64::from(draws);
            // Five standard deviations of a Poisson count.
            let most = 5.0 * expected.sqrt() + 1.0;
            assert!((f64::from(count) - expected).abs() < most, "{file}: {count}, {expected}");
        }
    }

    #[test]
    fn a_directory_has_the_bytes_it_should() {
        let sum: u64 = (0..PER_DIRECTORY).map(size).sum();
        assert_eq!(sum, DIRECTORY_BYTES);
        assert_eq!(Law::of_size(3 << 30).directories(), 629);
        assert_eq!(path(PER_DIRECTORY + 9), "/dir00001/class1_1");
        assert_eq!((size(35), class(35)), (921_600, 3));
    }
}
