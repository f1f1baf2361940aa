//! Lines on their way to a log: a queue that is bounded in bytes, and a thread that writes it out.
//! Nobody who leaves a line waits; lines that a stuck or full log does not take are lost, and counted.
//! Used by the access log and by the server's messages.

mod journal;
mod output;
mod stream;

use std::io;
use std::iter;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, LazyLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use tracing::Level;

use super::message_format;
pub(crate) use output::Output;

/// Bytes of lines that may wait for one log: about 20,000 lines of ordinary length.
const WAITING: usize = 8 << 20;

/// Bytes that messages may take beyond that: the lines of an access log on the same stream must not keep
/// them out.
const RESERVE: usize = 1 << 20;

/// Bytes that a line takes beside its text.
const OVERHEAD: usize = 64;

/// Bytes that are written at a time.
const BATCH: usize = 64 << 10;

/// For so long after the first line of the access log others are gathered before they are written. A line
/// that is written for itself costs as much as its response, most of it for waking the thread.
const GATHER: Duration = Duration::from_millis(20);

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A line of the access log.
    Request,
    /// A message of the server.
    Message,
}

/// Lines that were lost in this process, which has one access log and one standard error.
pub(crate) fn lost(kind: Kind) -> &'static Counter {
    static LOST: LazyLock<[Counter; 2]> = LazyLock::new(Default::default);
    &LOST[kind as usize]
}

enum Item {
    Line(Kind, String),
    Reopen,
    /// Is answered when everything before it is written, or lost.
    Flush(Sender<()>),
}

/// Where lines are left for one log.
#[derive(Clone, Debug)]
pub(crate) struct Lines {
    items: Sender<Item>,
    shared: Arc<Shared>,
    thread: Arc<JoinHandle<()>>,
}

/// The thread that writes a log, to be waited for when nobody leaves lines there any more.
#[derive(Debug)]
pub(crate) struct LogThread {
    shared: Arc<Shared>,
    thread: Arc<JoinHandle<()>>,
}

impl LogThread {
    /// Whether all lines are written, or lost.
    pub(crate) fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }

    /// What the log is called in messages.
    pub(crate) fn name(&self) -> &str {
        &self.shared.name
    }
}

#[derive(Debug)]
struct Shared {
    /// What the log is called in messages.
    name: String,
    /// Bytes of the lines that are not written yet.
    waiting: AtomicUsize,
    /// Lines that were lost since the log last took all lines, by kind.
    lost: [AtomicU64; 2],
    /// It is to be reopened already.
    reopening: AtomicBool,
}

impl Lines {
    /// Starts the thread that writes to `output`. It ends when nobody can leave lines any more.
    pub(crate) fn start(output: Output) -> io::Result<Lines> {
        let (items, waiting) = channel();
        let shared = Arc::new(Shared {
            name: output.name(),
            waiting: AtomicUsize::new(0),
            lost: Default::default(),
            reopening: AtomicBool::new(false),
        });
        let mut writer = Writer { shared: shared.clone(), output, batch: Batch::default() };
        let thread = thread::Builder::new().name("weir-log".to_owned());
        let thread = Arc::new(thread.spawn(move || writer.run(&waiting))?);
        Ok(Lines { items, shared, thread })
    }

    /// Leaves a line, with its line end. It is lost if too many bytes are waiting.
    pub(crate) fn push(&self, kind: Kind, line: String) {
        let most = match kind {
            Kind::Request => WAITING,
            Kind::Message => WAITING + RESERVE,
        };
        let bytes = cost(&line);
        if self.shared.waiting.fetch_add(bytes, Ordering::Relaxed) + bytes > most {
            self.shared.waiting.fetch_sub(bytes, Ordering::Relaxed);
            self.shared.lose(kind, 1, "it does not take them as fast as they come");
        } else if self.items.send(Item::Line(kind, line)).is_err() {
            self.shared.lose(kind, 1, "its thread has ended");
        }
    }

    /// Has a log that is a file reopened by its name, after the lines that were left so far.
    pub(crate) fn reopen(&self) {
        if !self.shared.reopening.swap(true, Ordering::Relaxed) {
            let _ = self.items.send(Item::Reopen);
        }
    }

    /// Waits until all lines that were left so far are written, or lost; false if that takes longer than
    /// `most`.
    pub(crate) fn flush(&self, most: Duration) -> bool {
        let (written, told) = channel();
        self.items.send(Item::Flush(written)).is_ok() && told.recv_timeout(most).is_ok()
    }

    /// The thread that writes them.
    pub(crate) fn thread(&self) -> LogThread {
        LogThread { shared: self.shared.clone(), thread: self.thread.clone() }
    }

    /// What the log is called in messages.
    pub(crate) fn name(&self) -> &str {
        &self.shared.name
    }
}

fn cost(line: &String) -> usize {
    line.capacity() + OVERHEAD
}

impl Shared {
    /// Counts lost lines, and logs the first. Lost messages are not logged: that message would be lost,
    /// too.
    fn lose(&self, kind: Kind, count: u64, why: &str) {
        if count == 0 {
            return;
        }
        lost(kind).inc_by(count);
        let before = self.lost[kind as usize].fetch_add(count, Ordering::Relaxed);
        if before == 0 && kind == Kind::Request {
            tracing::warn!("{} loses lines: {why}", self.name);
        }
    }
}

/// Lines that are written at once.
#[derive(Debug, Default)]
struct Batch {
    bytes: Vec<u8>,
    /// Where each ends.
    ends: Vec<(usize, Kind)>,
    /// What they count for among those that wait.
    cost: usize,
}

impl Batch {
    fn add(&mut self, kind: Kind, line: &String) {
        self.cost += cost(line);
        self.bytes.extend_from_slice(line.as_bytes());
        self.ends.push((self.bytes.len(), kind));
    }

    fn is_full(&self) -> bool {
        self.bytes.len() >= BATCH
    }

    /// Lines of a kind that are not whole within the first `count` bytes.
    fn lines_after(&self, count: usize, kind: Kind) -> u64 {
        self.ends.iter().filter(|(end, of)| *of == kind && *end > count).count() as u64
    }

    fn clear(&mut self) {
        self.bytes.clear();
        // One long line must not keep its memory for ever.
        self.bytes.shrink_to(2 * BATCH);
        self.ends.clear();
        self.cost = 0;
    }
}

/// The thread that writes.
#[derive(Debug)]
struct Writer {
    shared: Arc<Shared>,
    output: Output,
    batch: Batch,
}

impl Writer {
    fn run(&mut self, items: &Receiver<Item>) {
        while let Some(first) = next_item(items) {
            let mut next = Some(first);
            while let Some(item) = next.take() {
                match item {
                    Item::Line(kind, line) => {
                        self.batch.add(kind, &line);
                        next = if self.batch.is_full() { None } else { items.try_recv().ok() };
                    }
                    Item::Reopen => {
                        self.write();
                        self.reopen();
                    }
                    Item::Flush(written) => {
                        self.write();
                        let _ = written.send(());
                    }
                }
            }
            self.write();
        }
    }

    /// Writes the batch, and counts what of it is lost.
    fn write(&mut self) {
        if self.batch.ends.is_empty() {
            return;
        }
        let ends = self.batch.ends.iter().map(|(end, _)| *end);
        let written = self.output.write(&self.batch.bytes, ends);
        self.shared.waiting.fetch_sub(self.batch.cost, Ordering::Relaxed);
        if let Err((count, error)) = written {
            for kind in [Kind::Request, Kind::Message] {
                let lost = self.batch.lines_after(count, kind);
                self.shared.lose(kind, lost, &error.to_string());
            }
        } else if self.shared.waiting.load(Ordering::Relaxed) == 0 {
            self.tell_what_was_lost();
        }
        self.batch.clear();
    }

    /// Says how much was lost until now, since the log is well again.
    fn tell_what_was_lost(&mut self) {
        let [requests, messages] =
            self.shared.lost.each_ref().map(|lost| lost.swap(0, Ordering::Relaxed));
        if requests > 0 {
            tracing::warn!("{} is written again: {requests} lines were lost", self.shared.name);
        }
        if messages > 0 {
            // Only standard error has messages.
            let what = format!("{messages} messages were lost: standard error did not take them");
            let line = message_format::told(Level::ERROR, what);
            let _ = self.output.write(line.as_bytes(), iter::once(line.len()));
        }
    }

    fn reopen(&mut self) {
        self.shared.reopening.store(false, Ordering::Relaxed);
        match self.output.reopen() {
            Ok(true) => tracing::info!("{} was reopened", self.shared.name),
            Ok(false) => {}
            Err(error) => tracing::error!(
                "{} cannot be reopened, the old file is written on: {error}",
                self.shared.name
            ),
        }
    }
}

/// The next item, which is waited for; with a line of the access log, until others have been gathered.
/// `None`: there are no more.
fn next_item(items: &Receiver<Item>) -> Option<Item> {
    if let Ok(item) = items.try_recv() {
        return Some(item);
    }
    let item = items.recv().ok()?;
    if matches!(item, Item::Line(Kind::Request, _)) {
        thread::sleep(GATHER);
    }
    Some(item)
}

#[cfg(test)]
mod tests;
