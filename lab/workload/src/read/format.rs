//! The formats of traces, and which one a file has. It does not read them.

use std::fmt;
use std::str::FromStr;

use super::error::Fault;
use super::table::Kind;
use super::{clf, wc98};

/// The format of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Common or Combined Log Format, as Apache, nginx and `weir serve` write.
    Clf,
    /// Binary logs of the World Cup 1998 site: big-endian records of 20 bytes.
    Wc98,
    /// Plain CSV with the header `time,client,path,size`; a column `class` may follow.
    Csv,
    /// The EDGAR Log File Data Set of the U.S. SEC.
    Edgar,
    /// Download logs of the RStudio CRAN mirror.
    Cran,
    /// NASA's server of 1995 as a table between tabs.
    Nasa,
}

impl Format {
    /// The names that [`Format::from_str`] knows.
    pub const NAMES: [&'static str; 6] = ["clf", "wc98", "csv", "edgar", "cran", "nasa"];

    const ALL: [Format; 6] =
        [Format::Clf, Format::Wc98, Format::Csv, Format::Edgar, Format::Cran, Format::Nasa];

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

    /// Whether times are whole seconds.
    pub fn whole_seconds(self) -> bool {
        self != Format::Csv
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(name: &str) -> Result<Format, String> {
        let place = Format::NAMES.iter().position(|known| *known == name);
        place.map(|place| Format::ALL[place]).ok_or_else(|| {
            format!("\"{name}\" is not a format; write one of {}", Format::NAMES.join(", "))
        })
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::Clf => "clf",
            Format::Wc98 => "wc98",
            Format::Csv => "csv",
            Format::Edgar => "edgar",
            Format::Cran => "cran",
            Format::Nasa => "nasa",
        })
    }
}
