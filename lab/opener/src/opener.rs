//! The opener's own thread: answers from what is open and in memory, and has helpers do the rest. It never
//! waits for a disk. Connections ask it.

use std::cell::{Cell, RefCell};
use std::num::NonZeroUsize;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use tokio::sync::Notify;
use tokio::time::{interval, timeout};
use weir_sched::Time;

use crate::cache::{Cache, Gone, Name};
use crate::closing::{MOST_UNCLOSED, unclosed, unclosed_files, unclosed_on};
use crate::counts::Counts;
use crate::find::{Identity, Looked, OpenFile, Opened, in_memory};
use crate::helpers::{Outcome, Work};
use crate::misses::{Ended, Misses, Results, Waiter};
use crate::protocol::Found;
use crate::resident::is_resident;
use crate::roots::Roots;

/// How often files that nobody asks for are looked for.
const SWEEP: Duration = Duration::from_secs(1);

/// Most of them that are closed at a time, so that nobody waits for it.
const SWEPT: usize = 1024;

/// Descriptors that are closed when the process has none left.
const SPARED: usize = 16;

/// How files are kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Keeping {
    /// Most files that are kept open.
    pub(crate) most: NonZeroUsize,
    /// How long a name is trusted to stand for its file before it is looked at again.
    pub(crate) valid: Duration,
    /// After how long a file that nobody asks for is closed.
    pub(crate) unused: Duration,
    /// Bytes of a file that are warmed.
    pub(crate) window: u64,
}

/// See the module.
pub(crate) struct Opener {
    roots: Roots,
    keeping: Keeping,
    began: Instant,
    cache: RefCell<Cache>,
    misses: Rc<RefCell<Misses>>,
    /// A job waits that its gate has not been asked about.
    joined: Notify,
    counts: Cell<Counts>,
}

/// What the opener says to a question.
pub(crate) enum Reply {
    Now(Told),
    /// A helper has to find out: [`Opener::told`].
    Later(Later),
}

/// A question that waits for a helper.
pub(crate) struct Later {
    name: Name,
    waiter: Waiter,
    /// The file that the name stood for in memory, if it was looked up there.
    known: Option<Identity>,
}

/// What is told of a name.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) found: Found,
    opened: Opened,
}

impl Told {
    /// What goes with the answer.
    pub(crate) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match &self.opened {
            Opened::File(file) => Some(file.fd.as_fd()),
            Opened::Directory(fd) => Some(fd.as_fd()),
            Opened::Other => None,
        }
    }

    fn file(file: OpenFile) -> Told {
        Told { found: Found::File, opened: Opened::File(file) }
    }

    fn directory(fd: Arc<OwnedFd>) -> Told {
        Told { found: Found::Directory, opened: Opened::Directory(fd) }
    }

    fn error(error: Errno) -> Told {
        let number = u16::try_from(error.raw_os_error()).unwrap_or(0);
        let found = match error {
            Errno::NOENT | Errno::NOTDIR => Found::Nothing(number),
            _ => Found::NotTold(number),
        };
        Told { found, opened: Opened::Other }
    }

    /// It is neither a file nor a directory.
    fn other() -> Told {
        Told { found: Found::NotTold(0), opened: Opened::Other }
    }
}

impl Opener {
    /// `helpers`: most jobs at once that wait for a disk.
    pub(crate) fn new(roots: Roots, keeping: Keeping, helpers: usize) -> (Opener, Results) {
        let (misses, results) = Misses::new(roots.disks(), helpers, keeping.window);
        let opener = Opener {
            roots,
            keeping,
            began: Instant::now(),
            cache: RefCell::new(Cache::new(keeping.most)),
            misses: Rc::new(RefCell::new(misses)),
            joined: Notify::new(),
            counts: Cell::default(),
        };
        (opener, results)
    }

    /// What `name` stands for.
    pub(crate) fn ask(&self, name: &[u8]) -> Reply {
        self.count(|counts| counts.questions += 1);
        let Some((below, disk)) = self.roots.find(name) else {
            return self.now(Told::error(Errno::XDEV));
        };
        let now = self.clock();
        let mut kept = self.cache.borrow_mut().get(name, now);
        let mut known = None;
        let trusted = |(_, checked): &(OpenFile, Time)| now.since(*checked) < self.keeping.valid;
        if !kept.as_ref().is_some_and(trusted) {
            kept = match in_memory(below) {
                Ok(Looked::File(identity)) => {
                    known = Some(identity);
                    kept.filter(|(file, _)| file.identity == identity)
                }
                Ok(Looked::Directory(fd)) => {
                    self.forget(name);
                    return self.now(Told::directory(Arc::new(fd)));
                }
                Ok(Looked::Other) => {
                    self.forget(name);
                    return self.now(Told::other());
                }
                // It is not in memory.
                Err(Errno::AGAIN) => None,
                // A helper can wait for those that are about to be closed.
                Err(Errno::MFILE | Errno::NFILE) if unclosed() > 0 => None,
                Err(error @ (Errno::MFILE | Errno::NFILE)) => {
                    self.spare();
                    return self.now(Told::error(error));
                }
                Err(error) => {
                    self.forget(name);
                    return self.now(Told::error(error));
                }
            };
            if kept.is_some() {
                self.cache.borrow_mut().checked(name, now);
            }
        }
        let work = match kept {
            Some((file, _)) if is_resident(&file, self.keeping.window) => {
                self.count(|counts| counts.hits += 1);
                return Reply::Now(Told::file(file));
            }
            Some((file, _)) => {
                self.count(|counts| counts.warmed_again += 1);
                // Whatever comes of it, it is this file.
                known = None;
                Work::Warm(file)
            }
            None => Work::from(below),
        };
        match self.join((name, disk), work, now) {
            Ok((waiter, merged)) => {
                self.count(|counts| counts.merged += u64::from(merged));
                Reply::Later(Later { name: name.into(), waiter, known })
            }
            Err(told) => self.now(told),
        }
    }

    /// What is told when a helper has found out. It may have looked the name up before the question was asked,
    /// for another that waits, too: if what it found then is not what the name stood for at the question, the
    /// name is looked up once more.
    pub(crate) async fn told(&self, later: Later) -> Told {
        let Later { name, waiter, known } = later;
        let mut outcome = waiter.outcome().await;
        if known.is_some_and(|known| is_another(&outcome, known)) {
            outcome = match self.look_again(&name) {
                Ok(waiter) => waiter.outcome().await,
                Err(told) => {
                    self.count_told(&told);
                    return told;
                }
            };
        }
        let told = match outcome {
            Ok(Opened::File(file)) => Told::file(file),
            Ok(Opened::Directory(fd)) => Told::directory(fd),
            Ok(Opened::Other) => Told::other(),
            Err(error) => Told::error(error),
        };
        self.count_told(&told);
        told
    }

    /// Has helpers work and keeps what they open, for ever.
    pub(crate) async fn work(&self, mut results: Results) {
        let mut sweep = interval(SWEEP);
        loop {
            let patience = self.misses.borrow_mut().advance(self.clock());
            let patience = patience.unwrap_or(Duration::MAX);
            tokio::select! {
                result = results.recv() => {
                    let Some((job, outcome)) = result else { return };
                    let ended = self.misses.borrow_mut().ended(job, outcome, self.clock());
                    if let Some(ended) = ended {
                        self.keep(&ended);
                        ended.tell();
                    }
                }
                _ = timeout(patience, self.joined.notified()) => {}
                _ = sweep.tick() => self.sweep(),
            }
        }
    }

    /// Adds to what is counted.
    pub(crate) fn count(&self, add: impl FnOnce(&mut Counts)) {
        let mut counts = self.counts.get();
        add(&mut counts);
        self.counts.set(counts);
    }

    pub(crate) fn counts(&self) -> Counts {
        self.counts.get()
    }

    fn now(&self, told: Told) -> Reply {
        self.count_told(&told);
        Reply::Now(told)
    }

    fn look_again(&self, name: &[u8]) -> Result<Waiter, Told> {
        let (below, disk) = self.roots.find(name).ok_or_else(|| Told::error(Errno::XDEV))?;
        let (waiter, _) = self.join((name, disk), Work::from(below), self.clock())?;
        Ok(waiter)
    }

    /// Has helpers do `work` for a name on a disk; true as well if it was merged. Otherwise what is told: it
    /// is refused.
    fn join(&self, at: (&[u8], usize), work: Work, now: Time) -> Result<(Waiter, bool), Told> {
        match Misses::join(&self.misses, at, work, now) {
            Ok(joined) => {
                self.joined.notify_one();
                Ok(joined)
            }
            Err(error) => {
                self.count(|counts| counts.refused += 1);
                Err(Told::error(error))
            }
        }
    }

    fn count_told(&self, told: &Told) {
        self.count(|counts| match told.found {
            // Hits are counted where they are found.
            Found::File => {}
            Found::Directory => counts.directories += 1,
            Found::Nothing(_) => counts.nothing += 1,
            Found::NotTold(_) => counts.not_told += 1,
        });
    }

    /// Keeps what a job has opened, or forgets what its name stood for before.
    fn keep(&self, ended: &Ended) {
        match &ended.outcome {
            // It is kept, unless its name has come to stand for another file.
            Ok(Opened::File(_)) if ended.warmed => {}
            Ok(Opened::File(file)) => self.keep_file(&ended.name, file, ended.asked),
            Err(Errno::MFILE | Errno::NFILE) => self.spare(),
            // Nothing was done; to forget it is to have one more to close.
            Err(Errno::BUSY | Errno::AGAIN) => {}
            Ok(Opened::Directory(_) | Opened::Other) | Err(_) => self.forget(&ended.name),
        }
    }

    fn keep_file(&self, name: &Name, file: &OpenFile, asked: Time) {
        let known = self.cache.borrow_mut().get(name, self.clock());
        if known.is_some_and(|(known, _)| known.identity == file.identity) {
            // Found to be the same: the descriptor that is there will do.
            self.cache.borrow_mut().checked(name, asked);
            return;
        }
        self.count(|counts| counts.opened += 1);
        // Those that cannot be closed take the places of others.
        let unclosed = unclosed_files();
        let kept = self.cache.borrow().len();
        if unclosed >= MOST_UNCLOSED && unclosed + kept >= self.keeping.most.get() {
            self.forget(name);
            return;
        }
        let gone = self.cache.borrow_mut().keep(name.clone(), file.clone(), asked);
        if let Some(Gone { file, evicted }) = gone {
            self.count(|counts| counts.evicted += u64::from(evicted));
            drop(file);
        }
    }

    fn forget(&self, name: &[u8]) {
        drop(self.cache.borrow_mut().forget(name));
    }

    /// The process has no descriptor left: makes room. While so many of a file system wait for their close,
    /// no more of it are closed.
    fn spare(&self) {
        let may_go = |file: &OpenFile| unclosed_on(file.fd.device()) < SPARED;
        let spared = self.cache.borrow_mut().pop_oldest(SPARED, self.clock(), may_go);
        self.count(|counts| counts.evicted += spared.len() as u64);
    }

    fn sweep(&self) {
        let pop = || self.cache.borrow_mut().pop_unused(self.clock(), self.keeping.unused);
        std::iter::from_fn(pop).take(SWEPT).for_each(drop);
    }

    /// Time since the start.
    fn clock(&self) -> Time {
        Time::ZERO + self.began.elapsed()
    }
}

/// Whether a name was found to stand for something else than the `known` file.
fn is_another(outcome: &Outcome, known: Identity) -> bool {
    match outcome {
        Ok(Opened::File(file)) => file.identity != known,
        Ok(Opened::Directory(_) | Opened::Other) | Err(Errno::NOENT | Errno::NOTDIR) => true,
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests;
