//! Which files a document root needs so that a trace can be replayed against it, as [`Documents`]
//! that can be written. `weir-lab trace files` and the experiments make it.

use std::collections::{HashMap, HashSet};

use percent_encoding::{NON_ALPHANUMERIC, percent_decode_str, percent_encode};

use crate::documents::Documents;
use crate::{Invalid, Request};

/// The longest name of a file, and the longest path that is made (both are Linux's).
const LONGEST_NAME: usize = 255;
const LONGEST_PATH: usize = 3072;

/// Gathers the files of a trace, request by request.
#[derive(Clone, Debug, Default)]
pub struct Root {
    /// Decoded names relative to the root, with the largest size seen, if any was.
    files: HashMap<Vec<u8>, Known>,
    unusable: HashMap<String, u64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Known {
    size: Option<u64>,
    several: bool,
    requests: u64,
}

/// The files that a trace needs, and what was done where they cannot be what the trace says.
#[derive(Clone, Debug)]
pub struct Replayable {
    /// The files.
    pub documents: Documents,
    /// Files that the trace has with several sizes; they get the largest.
    pub several_sizes: u64,
    /// Files whose size the trace never says; they are empty.
    pub unknown_sizes: u64,
    /// Paths that are files and also directories of other files, such as `/a` beside `/a/b`, and
    /// their requests. They are left out, the others made.
    pub conflicts: Vec<(String, u64)>,
    /// Paths that no file can have (with `..`, or too long) or whose size none can have (2^63 bytes
    /// or more), and their requests. They are left out.
    pub unusable: Vec<(String, u64)>,
}

impl Root {
    /// Nothing yet.
    pub fn new() -> Root {
        Root::default()
    }

    /// Takes a request. A query does not matter, `/` ends in `index.html`, and slashes that follow
    /// each other are one.
    pub fn add(&mut self, request: &Request) {
        let fits = request.size.is_none_or(|size| i64::try_from(size).is_ok());
        let Some(name) = name(&request.path).filter(|_| fits) else {
            *self.unusable.entry(request.path.to_string()).or_default() += 1;
            return;
        };
        let known = self.files.entry(name).or_default();
        known.requests += 1;
        known.several |= matches!((known.size, request.size), (Some(a), Some(b)) if a != b);
        known.size = known.size.max(request.size);
    }

    /// The files.
    ///
    /// # Errors
    ///
    /// None that a trace can cause: what cannot be a file was left out.
    pub fn finish(mut self) -> Result<Replayable, Invalid> {
        let above: HashSet<&[u8]> = self
            .files
            .keys()
            .flat_map(|name| memchr::memchr_iter(b'/', name).map(|slash| &name[..slash]))
            .collect();
        let mut names: Vec<Vec<u8>> =
            self.files.keys().filter(|name| above.contains(&name[..])).cloned().collect();
        names.sort_unstable();
        let conflicts = names
            .iter()
            .filter_map(|name| Some((url(name), self.files.remove(name)?.requests)))
            .collect();
        let mut unusable: Vec<_> = self.unusable.into_iter().collect();
        unusable.sort_unstable();
        let count = |which: fn(&Known) -> bool| self.files.values().filter(|k| which(k)).count();
        let several_sizes = count(|known| known.several) as u64;
        let unknown_sizes = count(|known| known.size.is_none()) as u64;
        let files = self.files.iter().map(|(name, known)| (url(name), known.size.unwrap_or(0)));
        let documents = Documents::of_paths(files)?;
        Ok(Replayable { documents, several_sizes, unknown_sizes, conflicts, unusable })
    }
}

/// The name of the file that a server sends for a URL path; `None` if there can be none.
fn name(path: &str) -> Option<Vec<u8>> {
    let path = path.split('?').next().unwrap_or_default();
    let decoded: Vec<u8> = percent_decode_str(path).collect();
    let mut name = Vec::with_capacity(decoded.len());
    for segment in decoded.split(|&byte| byte == b'/').filter(|segment| !segment.is_empty()) {
        if segment == b"." || segment == b".." || segment.len() > LONGEST_NAME {
            return None;
        }
        if !name.is_empty() {
            name.push(b'/');
        }
        name.extend_from_slice(segment);
    }
    if decoded.ends_with(b"/") || name.is_empty() {
        name.extend_from_slice(if name.is_empty() { b"index.html" } else { b"/index.html" });
    }
    (name.len() <= LONGEST_PATH && !name.contains(&0)).then_some(name)
}

/// The URL path of a file.
fn url(name: &[u8]) -> String {
    const ENCODED: &percent_encoding::AsciiSet =
        &NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'-').remove(b'_').remove(b'~');
    format!("/{}", percent_encode(name, ENCODED))
}
