//! The files that servers are asked for, and the requests for them: one file of a size, or a set shaped
//! like that of SPECweb99. Laws, documents and arrivals are weir-workload's.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use weir_peers::{Error, Result, interrupt};
use weir_workload::arrivals::{LoadIs, Offered, document_path};
use weir_workload::documents::{Content, Documents, pool};
use weir_workload::law::{Discrete, Law, specweb99};
use weir_workload::shape::Shape;
use weir_workload::{Invalid, Request};

use crate::directory;
use crate::options::SetOptions;

/// Files of at most this many bytes can be hot: the law's classes of up to 9 KB.
const SMALL: u64 = 9 * 1020;

/// Requests, one after the other.
pub(crate) type Requests = Box<dyn Iterator<Item = Request> + Send>;

/// What is asked for.
pub(crate) enum Target {
    /// One file of this many bytes.
    One(u64),
    /// The set.
    Set(FileSet),
}

impl Target {
    /// Its documents, below the root.
    pub(crate) fn documents(&self) -> Documents {
        match self {
            Target::One(bytes) => Documents::of_sizes(&[*bytes], 0),
            Target::Set(set) => set.documents(),
        }
    }

    /// The path of the file, or of one of them.
    pub(crate) fn path(&self) -> String {
        match self {
            Target::One(bytes) => document_path(None, *bytes),
            Target::Set(set) => document_path(Some(0), set.sizes()[0]),
        }
    }

    /// Requests without end, for a closed loop; the seed decides which.
    pub(crate) fn endless(&self, seed: u64) -> Result<Requests> {
        match self {
            Target::One(bytes) => Ok(one_file(*bytes)),
            Target::Set(set) => set.endless(seed),
        }
    }
}

/// What the bodies of these documents are the beginning of.
pub(crate) fn bodies(documents: &Documents) -> Arc<[u8]> {
    let largest = documents.files().iter().map(|(_, size)| *size).max().unwrap_or(0);
    pool(largest as usize).into()
}

/// Requests without end for one file of this many bytes.
pub(crate) fn one_file(bytes: u64) -> Requests {
    let path: Arc<str> = document_path(None, bytes).into();
    let request = move |client| {
        let path = Arc::clone(&path);
        Request { at: 0.0, client, class: 0, path, size: Some(bytes) }
    };
    Box::new((0..).map(request))
}

/// A set of files shaped like that of SPECweb99: directories by Zipf, in each the 36 sizes of the law.
pub(crate) struct FileSet {
    law: Arc<Discrete>,
    directories: u32,
}

impl FileSet {
    /// As many directories as fit into `bytes`, at least one; each has about 5.1 MB.
    pub(crate) fn of_bytes(bytes: u64) -> FileSet {
        let law = Arc::new(specweb99());
        let each = law.sizes().unwrap_or_default().iter().sum::<u64>();
        let directories = (bytes / each.max(1)).clamp(1, 1_000_000);
        FileSet { law, directories: directories as u32 }
    }

    /// Its documents, below the root.
    pub(crate) fn documents(&self) -> Documents {
        Documents::of_sizes(&self.sizes(), self.directories)
    }

    fn sizes(&self) -> Vec<u64> {
        self.law.sizes().unwrap_or_default()
    }

    /// Requests without end, for a closed loop.
    pub(crate) fn endless(&self, seed: u64) -> Result<Requests> {
        let requests = self.offered(1.0, 1.0, seed).and_then(|offered| offered.endless());
        requests.map(|requests| Box::new(requests) as Requests).map_err(invalid)
    }

    /// Poisson arrivals of so many per second, for so many seconds. Those for hot files are in class 1.
    pub(crate) fn arrivals(&self, rate: f64, seconds: f64, seed: u64) -> Result<Requests> {
        let offered = self.offered(rate, seconds, seed).map_err(invalid)?;
        let hot: HashSet<String> = self.hot(rate).map(|(path, _)| path).collect();
        let requests = offered.arrivals().map_err(invalid)?;
        Ok(Box::new(requests.map(move |request| {
            let class = u16::from(hot.contains(&*request.path));
            Request { class, ..request }
        })))
    }

    /// Files that are *hot* at a rate, with their shares of the requests: small ones that are asked for
    /// at least once a second. A page cache that is any good always has them.
    fn hot(&self, rate: f64) -> impl Iterator<Item = (String, f64)> {
        let whole: f64 = (1..=self.directories).map(|rank| 1.0 / f64::from(rank)).sum();
        let small: Vec<(u64, f64)> = self
            .sizes()
            .into_iter()
            .filter(|&size| size <= SMALL)
            .map(|size| (size, self.law.mean_of(&|other| f64::from(u8::from(other == size)))))
            .collect();
        let shares = (0..self.directories).flat_map(move |directory| {
            let popularity = 1.0 / f64::from(directory + 1) / whole;
            let file =
                move |(size, share)| (document_path(Some(directory), size), share * popularity);
            small.clone().into_iter().map(file)
        });
        shares.filter(move |(_, share)| share * rate >= 1.0)
    }

    /// The share of the requests that are for hot files.
    pub(crate) fn hot_share(&self, rate: f64) -> f64 {
        self.hot(rate).map(|(_, share)| share).sum()
    }

    fn offered(&self, rate: f64, seconds: f64, seed: u64) -> std::result::Result<Offered, Invalid> {
        let shape = Shape::parse("constant:load=1")?;
        // With file bytes as load, a link of this rate is asked for `rate` requests per second.
        let bytes_per_second = rate * self.law.mean_of(&|size| size as f64);
        let directories = self.directories;
        let offered = Offered::new(Arc::clone(&self.law) as _, shape, seconds, bytes_per_second);
        Ok(Offered { load_is: LoadIs::File, directories, seed, ..offered })
    }
}

fn invalid(error: Invalid) -> Error {
    Error(format!("the requests: {error}"))
}

/// `weir-costs set`.
pub(crate) fn set(options: &SetOptions) -> Result<()> {
    let set = FileSet::of_bytes(options.size);
    let documents = set.documents();
    make(&documents, &options.at)?;
    println!(
        "{} files in {} directories, {} MB, below {}",
        documents.len(),
        set.directories,
        documents.bytes() / 1_000_000,
        options.at.display()
    );
    Ok(())
}

/// Make the document root, which every user may enter; what an earlier run left there is used if it is
/// the same.
pub(crate) fn make(documents: &Documents, root: &Path) -> Result<()> {
    interrupt::check()?;
    if let Some(parent) = root.parent() {
        directory::open(parent)?;
    }
    documents.make(root, Content::Pool).map_err(|e| Error(e.to_string()))?;
    if let Some(path) = documents.absent_from(root) {
        return Err(Error(format!(
            "{} is there already, and has no {}: remove it, or name another directory",
            root.display(),
            path.display()
        )));
    }
    directory::open(root)
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
    }

    #[test]
    fn arrivals_come_at_the_rate_asked_for_and_hot_ones_in_their_share() {
        let set = FileSet::of_bytes(100 << 20);
        let requests: Vec<Request> = set.arrivals(500.0, 100.0, 3).expect("it is valid").collect();
        let count = requests.len() as f64;
        assert!((count / 50_000.0 - 1.0).abs() < 0.02, "{count}");
        let hot = requests.iter().filter(|request| request.class == 1).count() as f64 / count;
        assert!((hot - set.hot_share(500.0)).abs() < 0.01, "{hot}, {}", set.hot_share(500.0));
    }

    #[test]
    fn a_root_of_other_files_is_refused() {
        let root = tempfile::tempdir().expect("a directory");
        let root = root.path().join("set");
        make(&Documents::of_sizes(&[100], 0), &root).expect("room");
        make(&Documents::of_sizes(&[100], 0), &root).expect("it is the same");
        let error = make(&Documents::of_sizes(&[200], 0), &root).expect_err("it is another");
        assert!(error.to_string().contains("remove it"), "{error}");
    }
}
