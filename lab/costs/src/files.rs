//! The files that servers are asked for, and the requests for them: one file, or a set shaped like that of
//! SPECweb99, in a closed loop or as a Poisson stream. The set, its documents and its arrivals are
//! weir-workload's.

use std::sync::Arc;

use weir_peers::{Error, Result};
use weir_stand::root;
use weir_workload::arrivals::{LoadIs, Offered, document_path};
use weir_workload::documents::Documents;
use weir_workload::law::Deterministic;
use weir_workload::shape::Shape;
use weir_workload::{FileSet, Invalid, Request, Requests};

use crate::options::SetOptions;

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
            Target::Set(set) => set.endless(seed).map_err(invalid),
        }
    }
}

/// Requests without end for one file of this many bytes.
pub(crate) fn one_file(bytes: u64) -> Requests {
    one_path(&document_path(None, bytes), bytes)
}

/// Requests without end for one path, whose answer has this many bytes.
pub(crate) fn one_path(path: &str, bytes: u64) -> Requests {
    let path: Arc<str> = path.into();
    let request = move |client| {
        let path = Arc::clone(&path);
        Request { at: 0.0, client, class: 0, path, size: Some(bytes) }
    };
    Box::new((0..).map(request))
}

/// So many requests a second for one file of this many bytes, for some seconds, as a Poisson stream.
pub(crate) fn poisson(bytes: u64, rate: f64, seconds: f64, seed: u64) -> Result<Requests> {
    let make = || -> Result<Requests, Invalid> {
        let law = Arc::new(Deterministic { size: bytes as f64 });
        let offered = Offered::new(law, Shape::constant(1.0)?, seconds, rate * bytes as f64);
        let offered = Offered { load_is: LoadIs::File, seed, ..offered };
        Ok(Box::new(offered.arrivals()?))
    };
    make().map_err(invalid)
}

/// Why requests cannot be made.
fn invalid(error: Invalid) -> Error {
    Error(format!("the requests: {error}"))
}

/// `weir-costs set`.
pub(crate) fn set(options: &SetOptions) -> Result<()> {
    let set = FileSet::of_bytes(options.size);
    let documents = set.documents();
    root::make(&documents, &options.at)?;
    println!(
        "{} files in {} directories, {} MB, below {}",
        documents.len(),
        set.directories(),
        documents.bytes() / 1_000_000,
        options.at.display()
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_poisson_stream_asks_for_the_one_file_at_its_rate() {
        let requests: Vec<Request> =
            poisson(1024, 1000.0, 2.0, 1).expect("it can be made").collect();
        assert!((1500..2500).contains(&requests.len()), "{}", requests.len());
        assert!(requests.iter().all(|request| &*request.path == "/1024.bin" && request.at < 2.0));
        assert!(poisson(1024, 0.0, 2.0, 1).is_err());
    }
}
