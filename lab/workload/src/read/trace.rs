//! A trace as an iterator over requests, whatever its format: which records count, what happens to
//! bad ones, and when time begins. What callers of this module open.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::entry::Entry;
use super::error::{Fault, Place, Reason, TraceError};
use super::format::Format;
use super::input::Input;
use super::lines::Lines;
use super::names::Names;
use super::order::{Seconds, Spread, Window};
use super::table::{Kind, Table};
use super::{clf, wc98};
use crate::Request;

/// The times of plain CSV are seconds since 1970 when the first is greater, else seconds from the
/// start. Three years; and in 1973 there were no logs.
const LEAST_EPOCH: f64 = 1e8;

/// How a trace is read.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// The format, if it should not be found by content.
    pub format: Option<Format>,
    /// Bad records are counted and passed over instead of ending the trace.
    pub skip_bad: bool,
    /// The statuses whose requests are kept, where the format has statuses. 200 and 206 by default:
    /// those have bodies. A replayed 304 would become a whole response, for the conditions of its
    /// request are not in the log.
    pub statuses: Vec<u16>,
    /// Where requests are put whose log says only the second.
    pub spread: Spread,
    /// Plain CSV says only seconds too.
    pub whole_seconds: bool,
    /// Seconds by which a request may be late in the log and is put in order, 0 or more. Servers
    /// often write a request down when it ends but with the time it began.
    pub reorder: f64,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            format: None,
            skip_bad: false,
            statuses: vec![200, 206],
            spread: Spread::default(),
            whole_seconds: false,
            reorder: 0.0,
        }
    }
}

/// What became of the records of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Records that were understood.
    pub records: u64,
    /// Those that became requests.
    pub requests: u64,
    /// Those that did not, by why.
    pub left_out: BTreeMap<LeftOut, u64>,
    /// Bad records that were passed over, by what was wrong.
    pub bad: BTreeMap<Reason, u64>,
    /// What was said of the first of them.
    pub first_bad: Option<String>,
}

/// Why a good record is not a request to replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LeftOut {
    /// The method is not GET.
    NotGet,
    /// The status is not among those asked for; 0 is a status that the format cannot name.
    Status(u16),
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LeftOut::NotGet => f.write_str("not GET"),
            LeftOut::Status(status) => write!(f, "status {status}"),
        }
    }
}

/// Opens a trace file.
///
/// # Errors
///
/// The file cannot be read, or its format is not known.
pub fn open(path: &Path, options: Options) -> Result<Trace, TraceError> {
    let file = File::open(path)
        .map_err(|error| TraceError { place: Place::Whole, fault: Fault::Io(error) })?;
    Trace::new(file, options)
}

/// Requests of a trace, in the order of their times. After an error it ends.
pub struct Trace {
    format: Format,
    options: Options,
    source: Source,
    names: Names,
    window: Window,
    seconds: Option<Seconds>,
    /// The time of the first request, in the format's own counting.
    base: Option<f64>,
    counts: Counts,
    error: Option<TraceError>,
    ended: bool,
}

enum Source {
    Clf(Lines),
    Table(Lines, Box<Table>),
    Records(wc98::Records),
}

impl Trace {
    /// Reads a trace from anything that can be read.
    ///
    /// # Errors
    ///
    /// The first bytes cannot be read, or their format is not known.
    pub fn new(reader: impl Read + Send + 'static, options: Options) -> Result<Trace, TraceError> {
        let whole = |fault| TraceError { place: Place::Whole, fault };
        let input = Input::new(reader).map_err(whole)?;
        let format = match options.format {
            Some(format) => format,
            None => Format::detect(&input.look).map_err(whole)?,
        };
        let table = |kind, input| Source::Table(Lines::new(input), Box::new(Table::new(kind)));
        let source = match format {
            Format::Clf => Source::Clf(Lines::new(input)),
            Format::Wc98 => Source::Records(wc98::Records::new(input)),
            Format::Csv => table(Kind::Csv, input),
            Format::Edgar => table(Kind::Edgar, input),
            Format::Cran => table(Kind::Cran, input),
            Format::Nasa => table(Kind::Nasa, input),
        };
        let spread = format.whole_seconds() || options.whole_seconds;
        Ok(Trace {
            format,
            source,
            names: Names::default(),
            window: Window::new(options.reorder.max(0.0)),
            seconds: spread.then(|| Seconds::new(options.spread)),
            base: None,
            counts: Counts::default(),
            error: None,
            ended: false,
            options,
        })
    }

    /// The format that the trace has.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The time of the first request in the format's own counting, once it was read: seconds since
    /// 1970 for all but plain CSV.
    pub fn base(&self) -> Option<f64> {
        self.base
    }

    /// What became of the records so far.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Reads one record, if there is one, into the window. `false` at the end.
    fn read(&mut self) -> Result<bool, TraceError> {
        match self.source.next(|entry| {
            self.counts.records += 1;
            let left_out = if !entry.get {
                Some(LeftOut::NotGet)
            } else {
                let status = entry.status.filter(|status| !self.options.statuses.contains(status));
                status.map(LeftOut::Status)
            };
            if let Some(why) = left_out {
                *self.counts.left_out.entry(why).or_default() += 1;
                return Ok(());
            }
            let at = if self.options.whole_seconds { entry.time.floor() } else { entry.time };
            self.window.push(Request {
                at,
                client: self.names.client(&entry.client),
                class: entry.class,
                path: self.names.path(&entry.path),
                size: entry.size,
            })
        }) {
            None => Ok(false),
            Some(Ok(())) => Ok(true),
            Some(Err(fault)) => self.bad(fault),
        }
    }

    /// A bad record: counted if they are to be skipped, and whether reading can go on.
    fn bad(&mut self, fault: Fault) -> Result<bool, TraceError> {
        let error = TraceError { place: self.source.place(), fault };
        let Some(reason) = error.fault.reason().filter(|_| self.options.skip_bad) else {
            return Err(error);
        };
        *self.counts.bad.entry(reason).or_default() += 1;
        self.counts.first_bad.get_or_insert_with(|| error.to_string());
        Ok(!matches!(reason, Reason::ShortRecord | Reason::TruncatedFile | Reason::CorruptFile))
    }

    /// Passes on what the window lets go.
    fn pass(&mut self) -> Result<Option<Request>, TraceError> {
        while let Some(mut request) = self.window.pop(self.ended) {
            let first = request.at;
            let base = *self.base.get_or_insert_with(|| {
                if self.format == Format::Csv && first < LEAST_EPOCH { 0.0 } else { first }
            });
            request.at -= base;
            let Some(seconds) = &mut self.seconds else {
                return Ok(Some(request));
            };
            if let Err(fault) = seconds.push(request) {
                self.bad(fault)?;
            }
        }
        if self.ended
            && let Some(seconds) = &mut self.seconds
        {
            seconds.release();
        }
        Ok(self.seconds.as_mut().and_then(Seconds::pop))
    }
}

impl Iterator for Trace {
    type Item = Result<Request, TraceError>;

    fn next(&mut self) -> Option<Result<Request, TraceError>> {
        loop {
            match self.pass() {
                Ok(Some(request)) => {
                    self.counts.requests += 1;
                    return Some(Ok(request));
                }
                Ok(None) if self.ended => return self.error.take().map(Err),
                Ok(None) => {}
                Err(error) => {
                    self.error.get_or_insert(error);
                    self.ended = true;
                    continue;
                }
            }
            match self.read() {
                Ok(more) => self.ended = !more,
                Err(error) => {
                    self.error = Some(error);
                    self.ended = true;
                }
            }
        }
    }
}

impl Source {
    /// Gives the next record to `take`; `None` at the end.
    fn next(
        &mut self,
        take: impl FnOnce(Entry<'_>) -> Result<(), Fault>,
    ) -> Option<Result<(), Fault>> {
        loop {
            let lines = match self {
                Source::Clf(lines) | Source::Table(lines, _) => lines,
                Source::Records(records) => return Some(records.next()?.and_then(take)),
            };
            match lines.advance() {
                Ok(true) if lines.line().trim_ascii().is_empty() => continue,
                Ok(true) => {}
                Ok(false) => return None,
                Err(fault) => return Some(Err(fault)),
            }
            let entry = match self {
                Source::Clf(lines) => clf::parse(lines.line()).map(Some),
                Source::Table(lines, table) => table.read(lines.line()),
                Source::Records(_) => Ok(None),
            };
            match entry {
                Ok(Some(entry)) => return Some(take(entry)),
                Ok(None) => {}
                Err(fault) => return Some(Err(fault)),
            }
        }
    }

    /// Where reading is.
    fn place(&self) -> Place {
        match self {
            Source::Clf(lines) | Source::Table(lines, _) => Place::Line(lines.number()),
            Source::Records(records) => Place::Record(records.number()),
        }
    }
}
