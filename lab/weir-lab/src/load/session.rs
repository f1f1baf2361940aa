//! One run: the generator on a thread of its own, and here the counting of its records, the
//! display, and ending early on Ctrl-C. Called by the command.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use weir_load::{Demand, Live, Plan, Report};
use weir_stats::{Record, RecordWriter};

use super::progress::Snapshot;
use super::tally::Tally;
use super::view::View;
use crate::failure::{Failure, failed};
use crate::print;
use crate::signals::ask_to_end;

/// How a run is shown while it goes on.
pub(crate) enum Display {
    /// On a terminal.
    View(View),
    /// A line a second on standard error.
    Lines,
    /// Not at all.
    None,
}

/// What a run is made of.
pub(crate) struct Session<'a> {
    pub(crate) plan: Plan,
    pub(crate) demand: Demand,
    /// Counts the requests that the generator has taken from the demand, if somebody does.
    pub(crate) scheduled: Option<Arc<AtomicU64>>,
    /// How long requests are to be sent, if that is known.
    pub(crate) duration: Option<f64>,
    /// The run ends if everything is refused.
    pub(crate) ends_if_refused: bool,
    /// Where every request is written.
    pub(crate) records: Option<&'a Path>,
}

/// How a run ended.
pub(crate) struct Ended {
    pub(crate) report: Report,
    /// Before its time.
    pub(crate) early: bool,
    /// Because so many requests were refused, and none ended otherwise.
    pub(crate) refused: Option<u64>,
    /// Why not all requests are in the file of records.
    pub(crate) records: Result<(), weir_stats::Error>,
}

/// How often records are counted and signals looked at.
const TURN: Duration = Duration::from_millis(50);
/// After this time it is looked whether everything is refused.
const REFUSED_FOR: Duration = Duration::from_secs(1);
/// How often the view is drawn.
const DRAW: Duration = Duration::from_millis(200);

impl Session<'_> {
    /// Runs it; every request is counted in `tally`.
    ///
    /// # Errors
    ///
    /// When the generator cannot run, or the file of records cannot be made.
    pub(crate) fn run(self, tally: &mut Tally, display: Display) -> Result<Ended, Failure> {
        let writer = self.records.map(RecordWriter::create).transpose();
        let writer = writer.map_err(|error| failed(error.to_string()))?;
        let asked = ask_to_end().map_err(|e| failed(format!("cannot watch for signals: {e}")))?;
        let live = Arc::new(Live::default());
        // The generator must never wait for the counting: it adds to this, and here it is taken.
        let inbox: Arc<Mutex<Vec<Record>>> = Arc::default();
        let generator = {
            let (live, inbox, here) = (live.clone(), inbox.clone(), thread::current());
            let (plan, demand) = (self.plan, self.demand);
            let work = move || {
                let mut put = |record| lock(&inbox).push(record);
                let done = weir_load::run(&plan, demand, &live, &mut put);
                here.unpark();
                done
            };
            let thread = thread::Builder::new().name("load".into()).spawn(work);
            thread.map_err(|e| failed(format!("cannot start a thread: {e}")))?
        };
        let mut watch = Watch {
            live: &live,
            scheduled: self.scheduled,
            duration: self.duration,
            start: Instant::now(),
            bytes: Vec::new(),
            display,
            shown: Instant::now(),
        };
        let mut book = Book { tally, writer: writer.map(Ok), batch: Vec::new() };
        let mut refused = None;
        while !generator.is_finished() {
            book.take(&inbox);
            if self.ends_if_refused && watch.start.elapsed() > REFUSED_FOR {
                refused = book.tally.all_refused();
            }
            if refused.is_some() {
                live.stop.store(true, Ordering::Relaxed);
                break;
            }
            if watch.turn(book.tally) || asked.load(Ordering::Relaxed) {
                live.stop.store(true, Ordering::Relaxed);
            }
        }
        let report = generator.join().unwrap_or_else(|_| {
            Err(weir_load::Error("the load generator ended by a fault of its own".into()))
        });
        // The terminal comes back before anything is said.
        drop(watch);
        book.take(&inbox);
        let records = book.finish();
        let report = report.map_err(|error| failed(error.to_string()))?;
        Ok(Ended { report, early: live.stop.load(Ordering::Relaxed), refused, records })
    }
}

fn lock(inbox: &Mutex<Vec<Record>>) -> std::sync::MutexGuard<'_, Vec<Record>> {
    inbox.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts records and writes them.
struct Book<'a> {
    tally: &'a mut Tally,
    writer: Option<Result<FileWriter, weir_stats::Error>>,
    batch: Vec<Record>,
}

type FileWriter = RecordWriter<std::io::BufWriter<std::fs::File>>;

impl Book<'_> {
    fn take(&mut self, inbox: &Mutex<Vec<Record>>) {
        std::mem::swap(&mut *lock(inbox), &mut self.batch);
        for record in self.batch.drain(..) {
            self.tally.add(&record);
            if let Some(Ok(writer)) = &mut self.writer
                && let Err(error) = writer.write(&record)
            {
                self.writer = Some(Err(error));
            }
        }
    }

    fn finish(self) -> Result<(), weir_stats::Error> {
        match self.writer {
            Some(writer) => writer?.finish().map(|_| ()),
            None => Ok(()),
        }
    }
}

/// Looks at a run and shows it.
struct Watch<'a> {
    live: &'a Live,
    scheduled: Option<Arc<AtomicU64>>,
    duration: Option<f64>,
    start: Instant,
    /// Bytes received by then, over the last second.
    bytes: Vec<(f64, u64)>,
    display: Display,
    shown: Instant,
}

impl Watch<'_> {
    /// Waits a little, shows what is due; true if somebody at the terminal asks to end.
    fn turn(&mut self, tally: &Tally) -> bool {
        let due = match self.display {
            Display::View(_) => DRAW,
            Display::Lines => Duration::from_secs(1),
            Display::None => Duration::MAX,
        };
        if self.shown.elapsed() >= due {
            self.shown += due;
            let now = self.snapshot(tally);
            match &mut self.display {
                Display::View(view) => {
                    // A terminal that has gone is no reason to lose the run.
                    if view.show(&now).is_err() {
                        self.display = Display::Lines;
                    }
                }
                Display::Lines => print::tell(&format!("{}\n", now.line())),
                Display::None => {}
            }
        }
        if let Display::View(view) = &mut self.display {
            match view.asked_to_end(TURN) {
                Ok(asked) => return asked,
                Err(_) => self.display = Display::Lines,
            }
        }
        thread::park_timeout(TURN);
        false
    }

    fn snapshot(&mut self, tally: &Tally) -> Snapshot {
        let elapsed = self.start.elapsed().as_secs_f64();
        let bytes = self.live.bytes.load(Ordering::Relaxed);
        self.bytes.retain(|(at, _)| elapsed - at <= 1.5);
        let (from, before) = self.bytes.first().copied().unwrap_or((0.0, 0));
        self.bytes.push((elapsed, bytes));
        let mut now = Snapshot {
            elapsed,
            duration: self.duration,
            scheduled: self.scheduled.as_ref().map(|number| number.load(Ordering::Relaxed)),
            started: self.live.started.load(Ordering::Relaxed),
            complete: self.live.complete.load(Ordering::Relaxed),
            failed: self.live.failed.load(Ordering::Relaxed),
            open: self.live.open.load(Ordering::Relaxed),
            bytes_per_second: (bytes - before) as f64 / (elapsed - from).max(1e-3),
            ..Snapshot::default()
        };
        tally.snapshot(&mut now);
        now
    }
}
