//! What tests of compression need: text to compress, and what clients make of compressed bodies.
#![allow(unreachable_pub)] // every test program has this as a module of its own

use std::io::Read;

use crate::support::{Client, Response, eventually};

/// The codings that weir sends, as fields name them.
pub const CODINGS: [&str; 3] = ["zstd", "br", "gzip"];

/// So many bytes of text.
pub fn text(length: usize) -> Vec<u8> {
    let lines = (0_u32..).map(|number| format!("line {number} of a text, {}\n", number % 97));
    lines.flat_map(String::into_bytes).take(length).collect()
}

/// The content of a response, without its content coding.
pub fn content(response: &Response) -> Vec<u8> {
    let (mut content, body) = (Vec::new(), &response.body[..]);
    let read = match response.field("Content-Encoding") {
        None => return body.to_vec(),
        Some("gzip") => flate2::read::GzDecoder::new(body).read_to_end(&mut content),
        Some("br") => brotli::Decompressor::new(body, 4096).read_to_end(&mut content),
        Some("zstd") => {
            content = zstd::decode_all(body).expect("a whole frame");
            Ok(content.len())
        }
        Some(other) => unreachable!("weir does not send the coding {other}"),
    };
    read.expect("a whole body");
    content
}

/// Asks for `path` with this `Accept-Encoding`.
pub fn ask(client: &mut Client, path: &str, accept: &str) -> Response {
    client.get_with(path, &format!("Accept-Encoding: {accept}\r\n"))
}

/// Asks until the answer is in the coding `wanted`: a file may have been changed just now, and a machine that
/// is held up gives compression up.
pub fn compressed(client: &mut Client, path: &str, wanted: &str) -> Response {
    let mut answer = None;
    eventually("it is sent compressed", || {
        let got = ask(client, path, wanted);
        let is_wanted = got.field("Content-Encoding") == Some(wanted);
        answer = Some(got);
        is_wanted
    });
    answer.expect("there was one at least")
}
