//! A set of files shaped like that of SPECweb99, and the requests for it: the directory by Zipf's law,
//! in each the 36 sizes of the law (Ruan & Pai 2006, section 2.3). Measurements from
//! slow disks ask for it.

use std::collections::HashSet;
use std::sync::Arc;

use crate::arrivals::{LoadIs, Offered, document_path};
use crate::documents::Documents;
use crate::invalid::Invalid;
use crate::law::{Discrete, Law, specweb99};
use crate::request::{Request, Requests};
use crate::shape::Shape;
use crate::zipf::Zipf;

/// Files of at most this many bytes can be hot: the law's classes of up to 9 KB.
const SMALL: u64 = 9 * 1020;
/// The class of requests for hot files; all others are in class 0.
pub const HOT: u16 = 1;

/// The set.
#[derive(Clone, Debug)]
pub struct FileSet {
    law: Arc<Discrete>,
    directories: u32,
}

/// A file of the set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Popularity {
    /// Its directory, the most popular one first.
    pub directory: u32,
    /// Its bytes.
    pub size: u64,
    /// The share of the requests that are for it.
    pub share: f64,
}

impl FileSet {
    /// As many directories as fit into `bytes`, at least one; each has about 5.1 MB. Smaller sets are
    /// the first directories of larger ones.
    pub fn of_bytes(bytes: u64) -> FileSet {
        let law = Arc::new(specweb99());
        let each = law.sizes().unwrap_or_default().iter().sum::<u64>();
        let directories = (bytes / each.max(1)).clamp(1, 1_000_000);
        FileSet { law, directories: directories as u32 }
    }

    /// How many directories it has.
    pub fn directories(&self) -> u32 {
        self.directories
    }

    /// The sizes of the files of a directory, ascending.
    pub fn sizes(&self) -> Vec<u64> {
        self.law.sizes().unwrap_or_default()
    }

    /// The share of the requests of each of the sizes.
    pub fn shares(&self) -> Vec<f64> {
        let of_size = |size: u64| self.law.mean_of(&|other| f64::from(u8::from(other == size)));
        self.sizes().into_iter().map(of_size).collect()
    }

    /// The mean over the requests of what `of` makes of their sizes.
    pub fn mean_of(&self, of: &dyn Fn(u64) -> f64) -> f64 {
        self.law.mean_of(of)
    }

    /// Its documents, below the root.
    pub fn documents(&self) -> Documents {
        Documents::of_sizes(&self.sizes(), self.directories)
    }

    /// Every file with its share of the requests, directory by directory.
    pub fn files(&self) -> Vec<Popularity> {
        let sizes: Vec<(u64, f64)> = self.sizes().into_iter().zip(self.shares()).collect();
        let zipf = Zipf::new(self.directories);
        let of_directory = |directory: u32| {
            let all = zipf.share(directory as usize);
            let file = move |&(size, share)| Popularity { directory, size, share: share * all };
            sizes.iter().map(file).collect::<Vec<_>>()
        };
        (0..self.directories).flat_map(of_directory).collect()
    }

    /// Bytes of the most popular files that together have at least each of these shares of the requests,
    /// which ascend (Ruan & Pai, Table 2). Of equally popular files, the smaller come first.
    pub fn most_popular(&self, shares: &[f64]) -> Vec<u64> {
        let mut files = self.files();
        files.sort_by(|a, b| b.share.total_cmp(&a.share).then(a.size.cmp(&b.size)));
        let (mut bytes, mut reached) = (0, 0.0);
        let mut rest = files.iter();
        let up_to = |&share: &f64| {
            // What rounding lacks is no file more.
            while reached < share - 1e-12 {
                let Some(file) = rest.next() else { break };
                bytes += file.size;
                reached += file.share;
            }
            bytes
        };
        shares.iter().map(up_to).collect()
    }

    /// The share of the requests of each series of sizes: up to and including each of `limits`, which
    /// ascend, and a last one of what is larger (Ruan & Pai, Table 3).
    pub fn series(&self, limits: &[u64]) -> Vec<f64> {
        let below = |limit: u64| self.law.mean_of(&|size| f64::from(u8::from(size <= limit)));
        let mut from = 0.0;
        let mut shares: Vec<f64> = limits
            .iter()
            .map(|&limit| {
                let share = below(limit) - from;
                from += share;
                share
            })
            .collect();
        shares.push(1.0 - from);
        shares
    }

    /// Requests without end, for a closed loop; the seed decides which.
    ///
    /// # Errors
    ///
    /// None that a set can cause: those of [`Offered::endless`].
    pub fn endless(&self, seed: u64) -> Result<Requests, Invalid> {
        let requests = self.offered(1.0, 1.0, seed)?.endless()?;
        Ok(Box::new(requests))
    }

    /// Poisson arrivals of so many per second, for so many seconds. Those for hot files are in class
    /// [`HOT`].
    ///
    /// # Errors
    ///
    /// A rate or a length that is not above 0.
    pub fn arrivals(&self, rate: f64, seconds: f64, seed: u64) -> Result<Requests, Invalid> {
        let hot: HashSet<String> =
            self.hot(rate).map(|file| document_path(Some(file.directory), file.size)).collect();
        let requests = self.offered(rate, seconds, seed)?.arrivals()?;
        Ok(Box::new(requests.map(move |request| {
            let class = if hot.contains(&*request.path) { HOT } else { 0 };
            Request { class, ..request }
        })))
    }

    /// One request for every file, directory by directory, the least popular directory first: what a
    /// program does that reads the whole tree.
    pub fn scan(&self) -> Requests {
        let sizes = self.sizes();
        let of_directory = move |directory: u32| {
            sizes.clone().into_iter().map(move |size| (Some(directory), size))
        };
        let files = (0..self.directories).rev().flat_map(of_directory);
        Box::new(files.zip(0..).map(|((directory, size), client)| Request {
            at: 0.0,
            client,
            class: 0,
            path: document_path(directory, size).into(),
            size: Some(size),
        }))
    }

    /// The share of the requests that are for hot files.
    pub fn hot_share(&self, rate: f64) -> f64 {
        self.hot(rate).map(|file| file.share).sum()
    }

    /// Files that are *hot* at a rate: small ones that are asked for at least once a second. A page
    /// cache that is any good always has them.
    fn hot(&self, rate: f64) -> impl Iterator<Item = Popularity> {
        let hot = move |file: &Popularity| file.size <= SMALL && file.share * rate >= 1.0;
        self.files().into_iter().filter(hot)
    }

    fn offered(&self, rate: f64, seconds: f64, seed: u64) -> Result<Offered, Invalid> {
        let shape = Shape::parse("constant:load=1")?;
        // With file bytes as load, a link of this rate is asked for `rate` requests per second.
        let bytes_per_second = rate * self.law.mean_of(&|size| size as f64);
        let directories = self.directories;
        let offered = Offered::new(Arc::clone(&self.law) as _, shape, seconds, bytes_per_second);
        Ok(Offered { load_is: LoadIs::File, directories, seed, ..offered })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_the_bytes_and_the_shares_it_should() {
        let set = FileSet::of_bytes(3 << 30);
        assert_eq!((set.directories, set.documents().len()), (631, 631 * 36));
        // At a rate at which everything small is hot: classes 0 and 1 have 85 % of the requests.
        assert!((set.hot_share(1e12) - 0.85).abs() < 1e-9, "{}", set.hot_share(1e12));
        assert_eq!(set.hot_share(1e-12), 0.0);
        let all: f64 = set.files().iter().map(|file| file.share).sum();
        assert!((all - 1.0).abs() < 1e-9, "{all}");
    }

    #[test]
    fn the_most_popular_files_are_counted_once_and_all_of_them_are_the_set() {
        let set = FileSet::of_bytes(30 << 20);
        let found = set.most_popular(&[0.5, 0.9, 1.0]);
        assert!(found.is_sorted() && found[0] < found[1] && found[1] < found[2], "{found:?}");
        assert_eq!(found[2], set.documents().bytes());
        // One directory: its most popular file, 5 × 1020 bytes, has 0.5 ÷ 2.829 of the requests.
        assert_eq!(FileSet::of_bytes(1).most_popular(&[0.1]), [5100]);
    }

    /// Ruan & Pai, Table 3.
    #[test]
    fn series_of_sizes_have_the_shares_of_the_paper() {
        let found = FileSet::of_bytes(3 << 30).series(&[512, 4096, 6144]);
        for (ours, paper) in found.iter().zip([0.2506, 0.2805, 0.2355, 0.2334]) {
            assert!((ours - paper).abs() < 0.001, "{found:?}");
        }
    }

    #[test]
    fn arrivals_come_at_the_rate_asked_for_and_hot_ones_in_their_share() {
        let set = FileSet::of_bytes(100 << 20);
        let requests: Vec<Request> = set.arrivals(500.0, 100.0, 3).expect("it is valid").collect();
        let count = requests.len() as f64;
        assert!((count / 50_000.0 - 1.0).abs() < 0.02, "{count}");
        let hot = requests.iter().filter(|request| request.class == HOT).count() as f64 / count;
        assert!((hot - set.hot_share(500.0)).abs() < 0.01, "{hot}, {}", set.hot_share(500.0));
    }

    #[test]
    fn a_scan_asks_for_every_file_once() {
        let set = FileSet::of_bytes(12 << 20);
        let paths: HashSet<String> = set.scan().map(|request| request.path.to_string()).collect();
        assert_eq!((paths.len(), set.scan().count()), (2 * 36, 2 * 36));
        let last = set.scan().last().expect("files");
        assert!(last.path.starts_with("/dir00000/"), "{last:?}");
    }
}
