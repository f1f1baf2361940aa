//! Encoding into chunks: the caller writes the data of each chunk between its head and its end. Used
//! by the proxy of `weir-server`, for responses whose length is not known.

use std::io::Write;

use http::HeaderMap;

use super::trailers::may_be_trailer;

/// What ends the data of a chunk.
pub const CHUNK_END: &[u8] = b"\r\n";

/// Appends the line before a chunk of `len` bytes of data. Appends nothing for 0, as an empty chunk
/// would end the body; then leave out [`CHUNK_END`] too.
pub fn write_chunk_head(len: u64, out: &mut Vec<u8>) {
    if len > 0 {
        // Writing to a vector does not fail.
        let _ = write!(out, "{len:x}\r\n");
    }
}

/// Appends the end of the body: the last chunk, the trailer fields, the empty line. Fields that no
/// trailer section may hold are left out (see [`may_be_trailer`]).
pub fn write_last_chunk(trailers: Option<&HeaderMap>, out: &mut Vec<u8>) {
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
