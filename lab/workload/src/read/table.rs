//! The reader of logs that are tables with a header: plain CSV and the files of SEC EDGAR, the
//! RStudio CRAN mirror and NASA. Columns are found by name, in any order.

use std::borrow::Cow;

use super::entry::{Client, Entry, date_and_time, number, whole};
use super::error::Fault;

/// Which table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Csv,
    Edgar,
    Cran,
    Nasa,
}

impl Kind {
    /// The columns that are read, as the header names them. What begins with `?` may be missing.
    fn columns(self) -> &'static [&'static str] {
        match self {
            Kind::Csv => &["time", "client", "path", "size", "?class"],
            Kind::Edgar => &["ip", "date", "time", "cik", "accession", "extention", "code", "size"],
            Kind::Cran => &["date", "time", "size", "package", "version", "ip_id", "r_os"],
            Kind::Nasa => &["host", "time", "method", "url", "response", "bytes"],
        }
    }

    fn header(self) -> &'static str {
        match self {
            Kind::Csv => "time,client,path,size (and perhaps class)",
            Kind::Edgar => "ip,date,time,zone,cik,accession,extention,code,size,…",
            Kind::Cran => "date,time,size,package,version,country,ip_id,r_os",
            Kind::Nasa => "host, logname, time, method, url, response, bytes, … between tabs",
        }
    }

    /// Whether `line` is this table's header.
    pub(super) fn is_header(self, line: &[u8]) -> bool {
        Table::new(self).read_header(line).is_ok()
    }
}

/// A table whose header was read, or is read next.
pub(super) struct Table {
    kind: Kind,
    splitter: csv_core::Reader,
    bytes: Vec<u8>,
    ends: Vec<usize>,
    /// Columns of the line that was split last.
    count: usize,
    /// Columns of the header; 0 before it was read.
    width: usize,
    /// Where each of `Kind::columns` is.
    places: Vec<Option<usize>>,
    /// Plain CSV: whether clients are numbers, decided by the first good line.
    numbered: Option<bool>,
}

const TIME: &str = "seconds, 0 or more";
const CLIENT: &str = "a number below 2^32, as that of the first request (to have clients read as \
    names, let the first be none, such as c1)";

impl Table {
    pub(super) fn new(kind: Kind) -> Table {
        let mut builder = csv_core::ReaderBuilder::new();
        if kind == Kind::Nasa {
            builder.delimiter(b'\t').quoting(false);
        }
        Table {
            kind,
            splitter: builder.build(),
            bytes: vec![0; 1024],
            ends: vec![0; 32],
            count: 0,
            width: 0,
            places: Vec::new(),
            numbered: None,
        }
    }

    /// Reads a line: the header gives no entry.
    pub(super) fn read(&mut self, line: &[u8]) -> Result<Option<Entry<'_>>, Fault> {
        if self.width == 0 {
            self.read_header(line)?;
            return Ok(None);
        }
        self.split(line)?;
        if self.count != self.width {
            return Err(Fault::Columns { found: self.count, expected: self.width });
        }
        match self.kind {
            Kind::Csv => self.csv(),
            Kind::Edgar => self.edgar(),
            Kind::Cran => self.cran(),
            Kind::Nasa => self.nasa(),
        }
        .map(Some)
    }

    fn read_header(&mut self, line: &[u8]) -> Result<(), Fault> {
        self.split(line)?;
        let places = self.kind.columns().iter().map(|name| {
            let (name, needed) = name.strip_prefix('?').map_or((*name, true), |name| (name, false));
            let place = (0..self.count).find(|&place| {
                self.column(place).trim_ascii().eq_ignore_ascii_case(name.as_bytes())
            });
            match place {
                None if needed => {
                    Err(Fault::Header { missing: name, expected: self.kind.header() })
                }
                _ => Ok(place),
            }
        });
        self.places = places.collect::<Result<_, _>>()?;
        self.width = self.count;
        Ok(())
    }

    /// Splits a line at its delimiters; quotes must be closed on the same line.
    fn split(&mut self, line: &[u8]) -> Result<(), Fault> {
        self.splitter.reset();
        self.bytes.resize(self.bytes.len().max(line.len()), 0);
        let (mut input, mut written, mut ended) = (line, 0, 0);
        let mut tail: &[u8] = b"\n";
        loop {
            let (result, read, wrote, ends) = self.splitter.read_record(
                input,
                &mut self.bytes[written..],
                &mut self.ends[ended..],
            );
            input = &input[read..];
            written += wrote;
            ended += ends;
            match result {
                csv_core::ReadRecordResult::InputEmpty if tail.is_empty() => {
                    return Err(Fault::field("line", line, "quotes that are closed on the line"));
                }
                csv_core::ReadRecordResult::InputEmpty => input = std::mem::take(&mut tail),
                csv_core::ReadRecordResult::OutputFull => self.bytes.resize(written * 2 + 64, 0),
                csv_core::ReadRecordResult::OutputEndsFull => self.ends.resize(ended * 2 + 32, 0),
                csv_core::ReadRecordResult::Record => break,
                csv_core::ReadRecordResult::End => {
                    ended = 0;
                    break;
                }
            }
        }
        self.count = ended;
        Ok(())
    }

    fn column(&self, place: usize) -> &[u8] {
        let start = if place == 0 { 0 } else { self.ends[place - 1] };
        &self.bytes[start..self.ends[place]]
    }

    /// The field of the `index`th of `Kind::columns`; empty if the table has no such column.
    fn field(&self, index: usize) -> &[u8] {
        self.places[index].map_or(b"", |place| self.column(place).trim_ascii())
    }

    fn csv(&mut self) -> Result<Entry<'_>, Fault> {
        let name = self.field(1);
        let id = number(name).and_then(|id| u32::try_from(id).ok());
        let numbered = self.numbered.unwrap_or(id.is_some());
        let client = match id {
            Some(id) if numbered => Some(id),
            None if numbered => {
                return Err(Fault::field("client", name, CLIENT));
            }
            _ => None,
        };
        let time = self.field(0);
        let seconds = std::str::from_utf8(time).ok().and_then(|text| text.parse::<f64>().ok());
        let time = seconds
            .filter(|seconds| seconds.is_finite() && *seconds >= 0.0)
            .ok_or_else(|| Fault::field("time", time, TIME))?;
        let size = optional(self.field(3), "bytes, or nothing where they are unknown")?;
        let class = match self.field(4) {
            b"" => 0,
            text => number(text)
                .and_then(|class| u16::try_from(class).ok())
                .ok_or_else(|| Fault::field("class", text, "a number below 65536"))?,
        };
        // Only now: a line that is wrong decides nothing.
        self.numbered = Some(numbered);
        let client = match client {
            Some(number) => Client::Number(number),
            None => Client::Name(Cow::Borrowed(self.field(1))),
        };
        let path = Cow::Borrowed(self.field(2));
        Ok(Entry { time, client, class, path, size, get: true, status: None })
    }

    /// The path is that of the document in EDGAR's archive; the zone, a constant, is not used.
    fn edgar(&self) -> Result<Entry<'_>, Fault> {
        let time = date_and_time(self.field(1), self.field(2))?;
        let cik = self.field(3);
        let cik = cik.strip_suffix(b".0").unwrap_or(cik);
        let (accession, extension) = (self.field(4), self.field(5));
        // What begins so is the rest of the accession's own name; all else is a file under it.
        let between: &[u8] =
            if extension.starts_with(b"-") || extension.starts_with(b".") { b"" } else { b"/" };
        let path = [b"/Archives/edgar/data/", cik, b"/", accession, between, extension].concat();
        let code = self.field(6);
        let status = whole(code)
            .and_then(|code| u16::try_from(code).ok())
            .ok_or_else(|| Fault::field("code", code, "a status such as 200.0"))?;
        let size = optional_whole(self.field(7))?;
        let client = Client::Name(Cow::Borrowed(self.field(0)));
        let path = Cow::Owned(path);
        Ok(Entry { time, client, class: 0, path, size, get: true, status: Some(status) })
    }

    /// The path is where a CRAN mirror has the package for the system that asked. Clients are
    /// numbered anew each day.
    fn cran(&self) -> Result<Entry<'_>, Fault> {
        let (date, package, version) = (self.field(0), self.field(3), self.field(4));
        let time = date_and_time(date, self.field(1))?;
        let (folder, end): (&[u8], &[u8]) = match self.field(6) {
            b"mingw32" => (b"/bin/windows/contrib/", b".zip"),
            os if os.starts_with(b"darwin") => (b"/bin/macosx/contrib/", b".tgz"),
            _ => (b"/src/contrib/", b".tar.gz"),
        };
        let path = Cow::Owned([folder, package, b"_", version, end].concat());
        let size = optional_whole(self.field(2))?;
        let client = Client::Name(Cow::Owned([date, b" ", self.field(5)].concat()));
        Ok(Entry { time, client, class: 0, path, size, get: true, status: None })
    }

    fn nasa(&self) -> Result<Entry<'_>, Fault> {
        let time = self.field(1);
        let time = number(time).ok_or_else(|| Fault::field("time", time, TIME))? as f64;
        let status = self.field(4);
        let status = number(status)
            .and_then(|status| u16::try_from(status).ok())
            .ok_or_else(|| Fault::field("response", status, "a status such as 200"))?;
        let size = optional(self.field(5), "bytes, or nothing where they are unknown")?;
        Ok(Entry {
            time,
            client: Client::Name(Cow::Borrowed(self.field(0))),
            class: 0,
            path: Cow::Borrowed(self.field(3)),
            size,
            get: self.field(2) == b"GET",
            status: Some(status),
        })
    }
}

/// A size that may be missing: nothing, `-` or `NA`.
fn optional(text: &[u8], expected: &'static str) -> Result<Option<u64>, Fault> {
    match text {
        b"" | b"-" | b"NA" => Ok(None),
        _ => number(text).map(Some).ok_or_else(|| Fault::field("size", text, expected)),
    }
}

fn optional_whole(text: &[u8]) -> Result<Option<u64>, Fault> {
    match whole(text) {
        Some(size) => Ok(Some(size)),
        None => optional(text, "bytes, or nothing where they are unknown"),
    }
}
