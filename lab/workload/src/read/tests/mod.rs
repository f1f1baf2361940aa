//! Shows that each format is read as it is written, and what is wrong is said with its place.

mod broken;
mod clf;
mod formats;
mod order;
mod root;
mod written;

use std::io::Cursor;

use super::*;
use crate::Request;

fn read(bytes: impl AsRef<[u8]>, options: Options) -> Result<Vec<Request>, TraceError> {
    Trace::new(Cursor::new(bytes.as_ref().to_vec()), options)?.collect()
}

/// Reads with times that are easy to compare.
fn requests(bytes: impl AsRef<[u8]>) -> Vec<Request> {
    read(bytes, Options { spread: Spread::None, ..Options::default() }).expect("a good trace")
}

/// The error of a trace that has one.
fn error(bytes: impl AsRef<[u8]>) -> String {
    read(bytes, Options::default()).expect_err("a bad trace").to_string()
}

/// Passes over what is bad: the requests and the counts.
fn skipping(bytes: impl AsRef<[u8]>, format: Option<Format>) -> (Vec<Request>, Counts) {
    let options = Options { skip_bad: true, format, ..Options::default() };
    let mut trace = Trace::new(Cursor::new(bytes.as_ref().to_vec()), options).expect("a format");
    let requests = trace.by_ref().map(|request| request.expect("skipped")).collect();
    let counts = trace.counts().clone();
    (requests, counts)
}
