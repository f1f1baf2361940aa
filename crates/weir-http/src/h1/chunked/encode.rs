//! Encoding into chunks. Used by the HTTP/1 connections of `weir-server`, for responses whose length is
//! not known.

use std::io::Write;

use http::HeaderMap;

use super::trailers::may_be_trailer;

/// A body that arrives while it is sent.
pub trait Source {
    /// The bytes that have arrived so far, and whether these are all.
    fn extent(&self) -> (u64, bool);

    /// Fills `out` with bytes from `offset` on, which have arrived; returns how many: none if they are
    /// not in memory. Bytes before `offset` are not asked for again.
    fn read(&self, offset: u64, out: &mut [u8]) -> usize;

    /// Its trailer fields, once all has arrived.
    fn trailers(&self) -> Option<HeaderMap>;
}

/// A body in chunks, read by the position in the coded stream. Each chunk has all that had arrived when
/// it was begun. Positions never go back beyond the beginning of a chunk.
#[derive(Debug)]
pub struct ChunkedBody<S> {
    source: S,
    /// Where the current chunk begins, in the coded stream and in the source.
    coded_at: u64,
    data_at: u64,
    /// Its line, how many bytes of data it has, and what follows them.
    line: Vec<u8>,
    data: u64,
    tail: Vec<u8>,
    /// The end of the body, once it is known.
    last: Option<Vec<u8>>,
}

/// What ends the data of a chunk.
const CHUNK_END: &[u8] = b"\r\n";

impl<S: Source> ChunkedBody<S> {
    /// The chunks of `source`.
    pub fn new(source: S) -> ChunkedBody<S> {
        let (line, tail) = (Vec::with_capacity(18), Vec::new());
        ChunkedBody { source, coded_at: 0, data_at: 0, line, data: 0, tail, last: None }
    }

    /// What is coded.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// Bytes of the coded stream as far as it is known, and whether these are all.
    pub fn extent(&mut self) -> (u64, bool) {
        let (arrived, all) = self.source.extent();
        let rest = arrived - (self.data_at + self.data);
        let chunk = if rest > 0 { line_length(rest) + rest + CHUNK_END.len() as u64 } else { 0 };
        let is_ended = self.is_ended();
        let last = if all && !is_ended { self.last().len() as u64 } else { 0 };
        (self.chunk_end() + chunk + last, all)
    }

    /// The byte of the source that the stream needs at position `at`.
    pub fn needs(&self, at: u64) -> u64 {
        let into = at.saturating_sub(self.coded_at + self.line.len() as u64);
        self.data_at + into.min(self.data)
    }

    /// Fills `out` with the coded stream from position `at` on, at most to the end of a chunk; returns
    /// how many bytes: none if what it needs has not arrived or is not in memory.
    pub fn read(&mut self, at: u64, out: &mut [u8]) -> usize {
        if at >= self.chunk_end() && !self.begin_chunk() {
            return 0;
        }
        let mut filled = 0;
        let mut at = (at - self.coded_at) as usize;
        filled += copy(&self.line, at, &mut out[filled..]);
        at = (at + filled).saturating_sub(self.line.len());
        if filled < out.len() && (at as u64) < self.data {
            let room = (out.len() - filled).min((self.data - at as u64) as usize);
            let read = self.source.read(self.data_at + at as u64, &mut out[filled..filled + room]);
            filled += read;
            at += read;
        }
        if at as u64 >= self.data {
            filled += copy(&self.tail, at - self.data as usize, &mut out[filled..]);
        }
        filled
    }

    /// Begins the chunk after the current one; false if there is nothing to put into it.
    fn begin_chunk(&mut self) -> bool {
        let (arrived, all) = self.source.extent();
        let (coded_at, data_at) = (self.chunk_end(), self.data_at + self.data);
        let data = arrived - data_at;
        if self.is_ended() || (data == 0 && !all) {
            return false;
        }
        (self.coded_at, self.data_at, self.data) = (coded_at, data_at, data);
        self.line.clear();
        self.tail.clear();
        if data > 0 {
            // Writing to a vector does not fail.
            let _ = write!(self.line, "{data:x}\r\n");
            self.tail.extend_from_slice(CHUNK_END);
        }
        if all {
            self.last();
            self.tail.extend_from_slice(self.last.as_deref().unwrap_or_default());
        }
        true
    }

    /// Where the current chunk ends in the coded stream.
    fn chunk_end(&self) -> u64 {
        self.coded_at + self.line.len() as u64 + self.data + self.tail.len() as u64
    }

    /// Whether the current chunk has the end of the body with it.
    fn is_ended(&self) -> bool {
        self.tail.len() > CHUNK_END.len()
    }

    fn last(&mut self) -> &[u8] {
        let source = &self.source;
        self.last.get_or_insert_with(|| {
            let mut last = Vec::new();
            write_last_chunk(source.trailers().as_ref(), &mut last);
            last
        })
    }
}

/// Bytes of the line before a chunk of `data` bytes.
fn line_length(data: u64) -> u64 {
    u64::from((u64::BITS - data.leading_zeros()).div_ceil(4)) + 2
}

/// Copies the bytes from `at` on; returns how many.
fn copy(bytes: &[u8], at: usize, out: &mut [u8]) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    let count = rest.len().min(out.len());
    out[..count].copy_from_slice(&rest[..count]);
    count
}

/// Appends the end of the body: the last chunk, the trailer fields, the empty line. Fields that no
/// trailer section may hold are left out (see [`may_be_trailer`]).
fn write_last_chunk(trailers: Option<&HeaderMap>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"0\r\n");
    for (name, value) in trailers.into_iter().flatten() {
        if may_be_trailer(name) {
            out.extend_from_slice(name.as_str().as_bytes());
            out.extend_from_slice(b": ");
            out.extend_from_slice(value.as_bytes());
            out.extend_from_slice(b"\r\n");
        }
    }
    out.extend_from_slice(b"\r\n");
}
