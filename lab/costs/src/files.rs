//! The files that servers are asked for, and the requests for them: one file of a size, or a set shaped
//! like that of SPECweb99. The set, its documents and its arrivals are weir-workload's.

use std::sync::Arc;

use weir_peers::{Error, Result};
use weir_stand::root;
use weir_workload::arrivals::document_path;
use weir_workload::documents::Documents;
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
    let path: Arc<str> = document_path(None, bytes).into();
    let request = move |client| {
        let path = Arc::clone(&path);
        Request { at: 0.0, client, class: 0, path, size: Some(bytes) }
    };
    Box::new((0..).map(request))
}

/// Why requests cannot be made.
pub(crate) fn invalid(error: Invalid) -> Error {
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
