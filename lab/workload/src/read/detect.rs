//! Which format a trace file has, told by its first bytes. [`super::open`] asks where no format is
//! named.

use super::error::Fault;
use super::format::Format;
use super::table::Kind;
use super::{clf, wc98};

impl Format {
    /// What the first bytes of a file show it to be. One good line among the first ten is enough
    /// for a log.
    ///
    /// # Errors
    ///
    /// Nothing to see, a format that is not known, or one that holds no requests.
    pub fn detect(start: &[u8]) -> Result<Format, Fault> {
        if start.is_empty() {
            return Err(Fault::Empty);
        }
        let text = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
        let mut lines = text
            .split(|&byte| byte == b'\n')
            .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
            .filter(|line| !line.trim_ascii().is_empty())
            .take(10)
            .peekable();
        let header = *lines.peek().unwrap_or(&text);
        if header.starts_with(b"timestamp,num_request,size") {
            return Err(Fault::NotRequests("requests and bytes per minute (a load curve)"));
        }
        if header.starts_with(b"{") {
            return Err(Fault::NotRequests("JSON (perhaps a distribution of sizes)"));
        }
        let tables = [
            (Kind::Edgar, Format::Edgar),
            (Kind::Cran, Format::Cran),
            (Kind::Nasa, Format::Nasa),
            (Kind::Csv, Format::Csv),
        ];
        if let Some((_, format)) = tables.iter().find(|(kind, _)| kind.is_header(header)) {
            return Ok(*format);
        }
        if lines.any(|line| clf::parse(line).is_ok()) {
            return Ok(Format::Clf);
        }
        if wc98::plausible(start) { Ok(Format::Wc98) } else { Err(Fault::UnknownFormat) }
    }
}
