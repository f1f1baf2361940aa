//! One server in its memory group, with the disk behind it and clients before it: started with all
//! caches empty, warmed, and asked for files in one phase after the other. The run of a cell says which
//! phases.

use std::ffi::OsString;
use std::net::SocketAddrV4;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use weir_load::{Body, Demand, Plan, Report, Source};
use weir_peers::probe::{accepts, metrics};
use weir_peers::{Error, Result, Server, interrupt, opener};
use weir_stand::{Locked, MemoryGroup, Work, address, cores, fill_cache, send};
use weir_stats::{Outcome as End, Record};
use weir_workload::{FileSet, Invalid, Request};

use super::answered::{answered, none_wrong};
use super::programs::{Opener, Place};
use super::stand::Stand;
use super::{systems, waiting, watch};
use crate::cell::{Files, Users, What};
use crate::figures::Lags;
use crate::outcome::Observed;
use crate::settings::Settings;
use crate::{kept, machine};

/// Seconds after the end of a phase at which what has not come counts as unfinished.
const DRAIN: f64 = 30.0;
/// The same for a trial, of which only the time of its load counts.
const TRIAL_DRAIN: f64 = 1.0;
/// What phases in memory ask for is read so often at most, until the disk reads nothing any more.
const PASSES: usize = 6;
/// Seconds that the last files of a pass may take: with a cold cache those under way are many megabytes.
const READING: f64 = 300.0;
/// Requests under way of the client that reads every file.
const SCANNERS: u32 = 4;
/// Requests under way when a server is stopped are of no interest any more.
const STOP: Duration = Duration::from_secs(1);
/// What a trial left in queues is not the next one's: between two, this share of a trial, a second at
/// most.
const REST: f64 = 0.1;
/// After a rate that was too much, and before each phase, the server has so long to be done with what is
/// left for it to do.
const MOST_REST: Duration = Duration::from_secs(30);
/// It is done when for so long the disk read nothing, and the server used at most this share of a core:
/// what it does while nobody asks for anything.
const STILL: Duration = Duration::from_millis(500);
const IDLE: f64 = 0.05;

/// A server on the stand; stopped when dropped.
pub(super) struct Bench<'a> {
    /// Dropped before the group, which must be empty to be removed.
    server: Server,
    /// What opens files for it.
    opener: Option<Server>,
    group: MemoryGroup,
    stand: &'a Stand,
    files: &'a Files,
    users: &'a Users,
    directory: &'a Path,
    set: FileSet,
    /// What is asked for in phases in memory.
    in_memory: FileSet,
    address: SocketAddrV4,
    /// Where weir has its metrics; none of another server.
    admin: Option<SocketAddrV4>,
    /// Whether a scan has read the whole tree in this stretch of load.
    tree_read: Arc<AtomicBool>,
}

/// What clients, disk and server showed in a stretch of load.
pub(super) struct Seen {
    pub(super) records: Vec<Record>,
    pub(super) report: Report,
    /// Seconds for which requests came.
    pub(super) seconds: f64,
    /// The disk's, until the last response.
    pub(super) work: Work,
    /// Seconds until then, from the start.
    pub(super) elapsed: f64,
    /// How often a scan has read the tree.
    pub(super) scanned: Option<f64>,
    pub(super) observed: Option<Observed>,
    /// The most disk jobs of weir that waited at once, in saturation.
    pub(super) waiting: Option<u64>,
}

impl Seen {
    /// The share of the time in which the disk worked.
    pub(super) fn busy(&self) -> f64 {
        self.work.busy_seconds / self.elapsed.max(1e-9)
    }
}

/// What became of a rate that was tried.
pub(super) struct Trial {
    /// Requests that came.
    pub(super) requests: usize,
    /// Those that were answered by the end.
    pub(super) answered: usize,
    /// The share of the time in which the disk worked.
    pub(super) busy: f64,
    /// How late the clients were.
    pub(super) lags: Lags,
}

impl<'a> Bench<'a> {
    /// Start a server whose files nobody has read yet.
    ///
    /// # Errors
    ///
    /// When disk, group or server cannot be had, in words for the user.
    pub(super) fn start(
        system: &str,
        (files, users): (&'a Files, &'a Users),
        stand: &'a Stand,
        directory: &'a Path,
        settings: &Settings,
    ) -> Result<Bench<'a>> {
        stand.disk.forget()?;
        let group = MemoryGroup::new(files.memory)?;
        let (address, admin) = (address::free()?, address::free()?);
        let place = Place {
            address,
            admin,
            root: &stand.root,
            directory,
            memory: files.memory,
            open_files: machine::open_files().min(1 << 20) as usize,
        };
        let error_log = directory.join("server-error.log");
        let programs = systems::programs(system, &place, &error_log, settings)?;
        let before = [group.before(), cores::on(cores::SERVER)].concat();
        let start = |opener: Opener| start_opener(opener, &before, directory);
        let opener = programs.opener.map(start).transpose()?;
        let log = directory.join("server.log");
        let server = Server::spawn(programs.server.command(&before), log, Some(error_log))?;
        let mut server = server.stops_within(STOP);
        server.wait_until_ready(&|| Ok(accepts(address.into())))?;
        let (set, in_memory) = (FileSet::of_bytes(files.set), FileSet::of_bytes(files.memory / 2));
        let tree_read = Arc::new(AtomicBool::new(false));
        let admin = system.starts_with("weir:").then_some(admin);
        Ok(Bench {
            server,
            opener,
            group,
            stand,
            files,
            users,
            directory,
            set,
            in_memory,
            address,
            admin,
            tree_read,
        })
    }

    /// The set that a phase asks for.
    pub(super) fn set(&self, what: What) -> &FileSet {
        match what {
            What::InMemory => &self.in_memory,
            What::Set | What::Scanned | What::Watched => &self.set,
        }
    }

    /// Fill the cache as the requests of a phase would.
    pub(super) fn warm(&self, what: What, seed: u64) -> Result<()> {
        let mut seed = seed;
        fill_cache(&self.stand.disk, self.files.warm.round().max(1.0) as u64, |seconds| {
            seed = seed.wrapping_add(1 << 32);
            let requests = self.set(what).endless(seed).map_err(invalid)?;
            let demand = Demand::Saturate(requests, self.files.connections);
            answered(&self.plan(Some(seconds as f64)), demand, &AtomicBool::new(false))
        })
    }

    /// Read all that phases in memory ask for until the page cache has it. Pages of the whole set, which
    /// were asked for before, would push out what is read only now.
    ///
    /// # Errors
    ///
    /// When a document is not answered as it should be.
    pub(super) fn read_in_memory(&self) -> Result<()> {
        self.stand.disk.slow(false);
        self.group.forget_pages()?;
        let documents = self.in_memory.documents().len() as u64;
        for _ in 0..PASSES {
            self.stand.disk.work();
            let demand = Demand::Saturate(self.in_memory.scan(), self.files.connections);
            let plan = Plan { drain: READING, ..self.plan(None) };
            let right = answered(&plan, demand, &AtomicBool::new(false))?;
            if right < documents {
                return Err(Error(format!(
                    "of {documents} files that are to be in memory only {right} were answered"
                )));
            }
            if self.stand.disk.work().reads == 0 {
                break;
            }
        }
        Ok(())
    }

    /// Hold in memory all that phases in memory ask for. The kernel may take back pages that were idle
    /// for a minute, however much memory there is (DAMON), and then those phases would read the disk.
    ///
    /// # Errors
    ///
    /// Without `vmtouch`, or when it may not lock them.
    pub(super) fn lock_in_memory(&self) -> Result<Locked> {
        let (set, root) = (&self.in_memory, &self.stand.root);
        let below = |request: Request| root.join(request.path.trim_start_matches('/'));
        Locked::files(set.scan().map(below), self.directory)
    }

    /// A stretch of load: at a rate, or as much as the server manages.
    pub(super) fn phase(&self, what: What, rate: Option<f64>, seed: u64) -> Result<Seen> {
        let (seconds, longest) = (self.files.seconds, self.files.longest(what));
        self.settle()?;
        let set = self.set(what);
        let demand = match rate {
            Some(rate) => Demand::Open(set.arrivals(rate, longest, seed).map_err(invalid)?),
            None => Demand::Saturate(set.endless(seed).map_err(invalid)?, self.files.connections),
        };
        // In memory nothing is read from the disk; should something be, it takes no time.
        self.stand.disk.slow(what != What::InMemory);
        let demand = match (what, demand) {
            (What::Scanned, Demand::Open(requests)) => {
                let tree_read = Arc::clone(&self.tree_read);
                let goes_on = move |request: &Request| {
                    request.at < seconds || !tree_read.load(Ordering::Relaxed)
                };
                Demand::Open(Box::new(requests.take_while(goes_on)))
            }
            (_, other) => other,
        };
        self.load(what, demand, self.plan(Some(longest)))
    }

    /// A rate for so many seconds.
    pub(super) fn trial(&self, rate: f64, seconds: f64, seed: u64) -> Result<Trial> {
        interrupt::sleep(Duration::from_secs_f64((REST * seconds).min(1.0)))?;
        let demand = Demand::Open(self.set.arrivals(rate, seconds, seed).map_err(invalid)?);
        self.stand.disk.slow(true);
        let plan = Plan { drain: TRIAL_DRAIN, ..self.plan(Some(seconds)) };
        let seen = self.load(What::Set, demand, plan)?;
        let in_time = |record: &&Record| {
            record.outcome == End::Ok && record.last_byte.is_some_and(|last| last <= seconds)
        };
        let answered = seen.records.iter().filter(in_time).count();
        let lags = Lags::of(&seen.report);
        Ok(Trial { requests: seen.records.len(), answered, busy: seen.busy(), lags })
    }

    /// Wait until the server works for nobody: one that does not notice departures goes on with the
    /// requests of clients who have left, and of those that wait in its listen queue there may be
    /// thousands.
    pub(super) fn settle(&self) -> Result<()> {
        let start = Instant::now();
        while start.elapsed() < MOST_REST {
            self.stand.disk.work();
            let (at, used) = (Instant::now(), self.cpu());
            interrupt::sleep(STILL)?;
            let share = (self.cpu() - used) / at.elapsed().as_secs_f64();
            if self.stand.disk.work().reads == 0 && share <= IDLE {
                break;
            }
        }
        Ok(())
    }

    /// Send a demand, and what belongs to the phase beside it.
    fn load(&self, what: What, demand: Demand, plan: Plan) -> Result<Seen> {
        let longest = plan.duration.unwrap_or(0.0);
        self.tree_read.store(false, Ordering::Relaxed);
        let (never, end) = (AtomicBool::new(false), &AtomicBool::new(false));
        let mut records = Vec::new();
        self.stand.disk.work();
        let start = Instant::now();
        let saturated = what == What::Set && matches!(demand, Demand::Saturate(..));
        let asks = self.admin.filter(|_| saturated);
        let (report, work, elapsed, scanned, observed, waiting) = std::thread::scope(|scope| {
            let scan = (what == What::Scanned).then(|| scope.spawn(|| self.scan(end)));
            let watch = (what == What::Watched)
                .then(|| scope.spawn(|| watch::server(self.server.id(), longest, end)));
            let waiting = asks.map(|admin| scope.spawn(move || waiting::most(admin.into(), end)));
            let report = send(&plan, demand, &never, &mut |record| records.push(record));
            let (work, elapsed) = (self.stand.disk.work(), start.elapsed().as_secs_f64());
            end.store(true, Ordering::Relaxed);
            let scanned = scan.map(|scan| scan.join().unwrap_or_else(|_| Err(panicked())));
            let observed = watch.map(|watch| watch.join().unwrap_or_else(|_| Err(panicked())));
            let waiting = waiting.map(|most| most.join().map_err(|_| panicked()));
            (report, work, elapsed, scanned, observed, waiting)
        });
        let (scanned, observed) = (scanned.transpose()?, observed.transpose()?.flatten());
        let waiting = waiting.transpose()?.flatten();
        let last = records.iter().map(|record| record.scheduled).fold(0.0, f64::max);
        let seconds = match what {
            // It has ended with the scan, or with its time.
            What::Scanned => last.clamp(self.files.seconds, longest),
            What::Set | What::InMemory | What::Watched => longest,
        };
        let seen =
            Seen { records, report: report?, seconds, work, elapsed, scanned, observed, waiting };
        none_wrong(seen.ended(End::Wrong))?;
        Ok(seen)
    }

    /// Read every file, over and over until `end` is set; how often the tree was read.
    fn scan(&self, end: &AtomicBool) -> Result<f64> {
        let plan = Plan { abort_after: None, retries: 0, drain: 1.0, ..self.plan(None) };
        let mut right = 0;
        while !end.load(Ordering::Relaxed) {
            let scan = Demand::Saturate(self.set.scan(), SCANNERS);
            match answered(&plan, scan, end)? {
                0 => break,
                more => right += more,
            }
            self.tree_read.store(true, Ordering::Relaxed);
        }
        Ok(right as f64 / self.set.documents().len().max(1) as f64)
    }

    /// What the requests of a stretch have in common.
    fn plan(&self, duration: Option<f64>) -> Plan {
        let source = |class| Source { addresses: address::clients(class) };
        Plan {
            server: self.address.into(),
            host: self.address.to_string(),
            headers: String::new(),
            tls: None,
            // Of the requests for other files, and of those for hot ones.
            sources: vec![source(0), source(1)],
            requests_per_connection: self.users.requests_per_connection,
            abort_after: self.users.abort_after,
            retries: self.users.retries,
            drain: DRAIN,
            duration,
            slow_readers: None,
            body: Body::Prefix(Arc::clone(&self.stand.bodies)),
            spin: false,
        }
    }

    /// How often the kernel ended a process of the server for want of memory.
    pub(super) fn killed(&self) -> u64 {
        self.group.killed()
    }

    /// Processor seconds that the server has used, and what opens files for it.
    pub(super) fn cpu(&self) -> f64 {
        let both = std::iter::once(&self.server).chain(&self.opener);
        both.map(|server| weir_peers::processes::usage(server.id()).cpu).sum()
    }

    /// An error if the server has ended by itself.
    pub(super) fn must_run(&mut self) -> Result<()> {
        self.server.must_run()?;
        self.opener.as_mut().map_or(Ok(()), Server::must_run)
    }

    /// Keep weir's own figures; another server has none.
    pub(super) fn keep_metrics(&self, directory: &Path) -> Result<()> {
        let Some(admin) = self.admin else { return Ok(()) };
        // The other figures are worth keeping even if the server's own are not to be had.
        let text = metrics(admin.into()).unwrap_or_else(|error| format!("# {error}\n"));
        kept::text(&directory.join("metrics.txt"), &text)
    }
}

impl Seen {
    /// Requests that ended so.
    fn ended(&self, end: End) -> usize {
        self.records.iter().filter(|record| record.outcome == end).count()
    }
}

/// Start what opens files for a server, in the server's group and on its core: what it warms is the
/// server's page cache, and what it uses is the server's processor time.
fn start_opener(opener: Opener, before: &[OsString], directory: &Path) -> Result<Server> {
    let log = directory.join("opener.log");
    let command = opener.program.command(before);
    let mut server = Server::spawn(command, log, None)?.stops_within(STOP);
    server.wait_until_ready(&|| Ok(opener::accepts(&opener.socket)))?;
    Ok(server)
}

fn panicked() -> Error {
    Error("a thread beside the load panicked".into())
}

fn invalid(error: Invalid) -> Error {
    Error(format!("the requests: {error}"))
}
