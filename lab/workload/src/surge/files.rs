//! The files and how popular each is: sizes follow one law, popularity Zipf's, and which file gets
//! which popularity is chosen so that the sizes of the requests follow another law.

use std::sync::Arc;

use super::model::Model;
use crate::hash;
use crate::law::Law;
use crate::zipf::Zipf;

/// A file of the set.
#[derive(Clone, Debug, PartialEq)]
pub struct SurgeFile {
    /// Its path, beginning with `/`.
    pub path: Arc<str>,
    /// Bytes.
    pub size: u64,
    /// Popularity: 0 is the most popular, and the file of rank `k` has a share of the requests in
    /// proportion to 1/(k+1).
    pub rank: u32,
}

/// The files, ascending by size.
#[derive(Clone, Debug, PartialEq)]
pub struct FileSet {
    files: Vec<SurgeFile>,
}

impl FileSet {
    pub(super) fn new(model: &Model) -> FileSet {
        let draw = |index| model.file_sizes.size(hash::uniform(model.seed, SIZES, index));
        let mut sizes: Vec<u64> = (0..u64::from(model.files)).map(draw).collect();
        sizes.sort_unstable();
        let ranks = matched(&sizes, &*model.request_sizes);
        let file = |(index, (size, rank)): (usize, (u64, u32))| SurgeFile {
            path: format!("/surge/{index:05}.bin").into(),
            size,
            rank,
        };
        FileSet { files: sizes.into_iter().zip(ranks).enumerate().map(file).collect() }
    }

    /// The files, ascending by size.
    pub fn files(&self) -> &[SurgeFile] {
        &self.files
    }
}

/// The purpose of the hash.
const SIZES: u64 = 0x7375_7267_6573_697A;

/// For files of ascending sizes, the popularity rank of each, so that the share of the requests
/// below any size is near that of the law. As Barford & Crovella 1998, section 3.2, a one-to-one
/// matching of sizes and popularities; theirs minimises the greatest difference, this one is
/// greedy: the law wants a share of the requests for each file, and each rank, from the most
/// popular on, takes the place of the fewest neighbours that together want its share. Where the
/// most popular file is, the difference cannot be less than half its share.
fn matched(sizes: &[u64], law: &dyn Law) -> Vec<u32> {
    let count = sizes.len();
    let mut wanted = wanted(sizes, law);
    let zipf = Zipf::new(count as u32);
    let mut ranks: Vec<Option<u32>> = vec![None; count];
    for rank in 0..count {
        let share = zipf.share(rank);
        let (start, end) = fewest(&wanted, share);
        // The middle of what they want together.
        let mut left = share / 2.0;
        let middle = (start..end).find(|&file| {
            left -= wanted[file];
            left <= 0.0
        });
        let place = nearest_free(&ranks, middle.unwrap_or(start));
        let mut left = share;
        for want in &mut wanted[start..end] {
            let taken = want.min(left);
            *want -= taken;
            left -= taken;
        }
        ranks[place] = Some(rank as u32);
    }
    ranks.into_iter().flatten().collect()
}

/// The share of the requests that each file should have: the law's between the middles
/// (geometric) of its size and its neighbours'.
fn wanted(sizes: &[u64], law: &dyn Law) -> Vec<f64> {
    let middle = |pair: &[u64]| (pair[0] as f64 * pair[1] as f64).sqrt();
    let inner = sizes.windows(2).map(|pair| share_below(law, middle(pair)));
    let mut below = 0.0;
    inner
        .chain(std::iter::once(1.0))
        .map(|to| {
            let share = (to - below).max(0.0);
            below = to;
            share
        })
        .collect()
}

/// The share of a law below a size, by bisection of its quantiles.
fn share_below(law: &dyn Law, size: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..48 {
        let middle = (low + high) / 2.0;
        if law.quantile(middle) < size {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// The shortest range of files that together want at least `share`, or all of them.
fn fewest(wanted: &[f64], share: f64) -> (usize, usize) {
    let mut best = (0, wanted.len());
    let mut start = 0;
    let mut sum = 0.0;
    for (end, want) in wanted.iter().enumerate() {
        sum += want;
        while start < end && sum - wanted[start] >= share {
            sum -= wanted[start];
            start += 1;
        }
        if sum >= share && end + 1 - start < best.1 - best.0 {
            best = (start, end + 1);
        }
    }
    best
}

/// The place without a rank that is nearest to `place`; the caller knows there is one.
fn nearest_free(ranks: &[Option<u32>], place: usize) -> usize {
    let above = (place..ranks.len()).find(|&at| ranks[at].is_none());
    let below = (0..place).rev().find(|&at| ranks[at].is_none());
    match (below, above) {
        (Some(below), Some(above)) if place - below < above - place => below,
        (_, Some(above)) => above,
        (Some(below), None) => below,
        (None, None) => place,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::law::Surge;

    #[test]
    fn every_file_has_its_own_rank_and_sizes_follow_the_law_of_files() {
        let set = Model::new(1, 1).file_set().expect("files");
        let mut ranks: Vec<u32> = set.files().iter().map(|file| file.rank).collect();
        ranks.sort_unstable();
        assert_eq!(ranks, (0..2000).collect::<Vec<_>>());
        let law = Surge::files();
        for (place, file) in set.files().iter().enumerate() {
            let share = (place as f64 + 0.5) / 2000.0;
            let difference = (law.share_below(file.size as f64) - share).abs();
            // Kolmogorov and Smirnov: 1.63 / sqrt(2000) is exceeded once in a hundred.
            assert!(difference < 0.0365, "{difference} at {}", file.size);
        }
        assert!(set.files().iter().all(|file| file.path.starts_with("/surge/") && file.size > 0));
    }

    #[test]
    fn sizes_of_the_requests_follow_the_law_of_requests() {
        let law = Surge::requests();
        let zipf = Zipf::new(2000);
        for seed in 1..=5 {
            let set = Model::new(1, seed).file_set().expect("files");
            let (mut below, mut most, mut mean) = (0.0, 0.0_f64, 0.0);
            for file in set.files() {
                let share = zipf.share(file.rank as usize);
                let wanted = law.share_below(file.size as f64);
                most = most.max((wanted - below - share / 2.0).abs());
                below += share;
                mean += share * file.size as f64;
            }
            // Half of the share of the most popular file is 0.061.
            assert!(most < 0.065, "seed {seed}: {most}");
            // "The mean of this distribution is 11108" (Crovella 1999, section 4.1).
            assert!((mean / 11_108.0 - 1.0).abs() < 0.2, "seed {seed}: {mean}");
        }
    }

    #[test]
    fn odd_sets_have_ranks_too() {
        for sizes in [vec![1], vec![5, 5, 5], vec![1, u64::MAX]] {
            let mut ranks = matched(&sizes, &Surge::requests());
            ranks.sort_unstable();
            assert_eq!(ranks, (0..sizes.len() as u32).collect::<Vec<_>>());
        }
    }
}
