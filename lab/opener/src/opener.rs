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

use crate::cache::{Cache, Name};
use crate::counts::Counts;
use crate::find::{Looked, OpenFile, Opened, in_memory};
use crate::helpers::{Outcome, Work};
use crate::misses::{Ended, Misses, Results, Waiter};
use crate::protocol::Found;
use crate::resident::is_resident;
use crate::roots::Roots;

/// How often files that nobody asks for are looked for.
const SWEEP: Duration = Duration::from_secs(1);

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
    /// A helper has to find out.
    Later(Waiter),
}

/// What is told of a name.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) found: Found,
    descriptor: Option<Arc<OwnedFd>>,
}

impl Told {
    /// What goes with the answer.
    pub(crate) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.descriptor.as_deref().map(AsFd::as_fd)
    }

    fn file(file: OpenFile) -> Told {
        Told { found: Found::File, descriptor: Some(file.fd) }
    }

    fn directory(fd: Arc<OwnedFd>) -> Told {
        Told { found: Found::Directory, descriptor: Some(fd) }
    }

    fn error(error: Errno) -> Told {
        let number = u16::try_from(error.raw_os_error()).unwrap_or(0);
        let found = match error {
            Errno::NOENT | Errno::NOTDIR => Found::Nothing(number),
            _ => Found::NotTold(number),
        };
        Told { found, descriptor: None }
    }

    /// It is neither a file nor a directory.
    fn other() -> Told {
        Told { found: Found::NotTold(0), descriptor: None }
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
        let trusted = |(_, checked): &(OpenFile, Time)| now.since(*checked) < self.keeping.valid;
        if !kept.as_ref().is_some_and(trusted) {
            kept = match in_memory(below) {
                Ok(Looked::File(identity)) => kept.filter(|(file, _)| file.identity == identity),
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
                Err(error) => {
                    self.forget(name);
                    return self.now(Told::error(error));
                }
            };
            if kept.is_some() {
                self.cache.borrow_mut().checked(name, now);
            }
        }
        match kept {
            Some((file, _)) if is_resident(&file, self.keeping.window) => {
                self.count(|counts| counts.hits += 1);
                Reply::Now(Told::file(file))
            }
            Some((file, _)) => {
                self.count(|counts| counts.warmed_again += 1);
                self.later((name, disk), Work::Warm(file), now)
            }
            None => self.later((name, disk), Work::from(below), now),
        }
    }

    /// What is told when a helper has found out.
    pub(crate) fn told(&self, outcome: Outcome) -> Told {
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

    fn later(&self, (name, disk): (&[u8], usize), work: Work, now: Time) -> Reply {
        match Misses::join(&self.misses, (name, disk), work, now) {
            Ok((waiter, merged)) => {
                self.count(|counts| counts.merged += u64::from(merged));
                self.joined.notify_one();
                Reply::Later(waiter)
            }
            Err(error) => {
                self.count(|counts| counts.refused += 1);
                self.now(Told::error(error))
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
        let gone = self.cache.borrow_mut().keep(name.clone(), file.clone(), asked);
        if let Some(gone) = gone {
            self.count(|counts| counts.evicted += u64::from(gone.evicted));
            self.close(gone.file);
        }
    }

    fn forget(&self, name: &[u8]) {
        let gone = self.cache.borrow_mut().forget(name);
        gone.into_iter().for_each(|file| self.close(file));
    }

    /// The process has no descriptor left: makes room.
    fn spare(&self) {
        let pop = || self.cache.borrow_mut().pop_unused(self.clock(), Duration::ZERO);
        for file in std::iter::from_fn(pop).take(SPARED) {
            self.count(|counts| counts.evicted += 1);
            self.close(file);
        }
    }

    fn sweep(&self) {
        let pop = || self.cache.borrow_mut().pop_unused(self.clock(), self.keeping.unused);
        std::iter::from_fn(pop).for_each(|file| self.close(file));
    }

    fn close(&self, file: OpenFile) {
        self.misses.borrow().helpers().close(file);
    }

    /// Time since the start.
    fn clock(&self) -> Time {
        Time::ZERO + self.began.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::find::from_disk;
    use crate::roots::Below;

    #[test]
    fn a_name_of_which_a_helper_found_the_same_file_is_trusted_anew() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("f"), "f").unwrap();
        let found = from_disk(Below { root: root.path(), name: Path::new("f") }, 1).unwrap();
        let Opened::File(file) = found else { panic!("{found:?}") };
        let keeping = Keeping {
            most: NonZeroUsize::MIN,
            valid: Duration::from_secs(1),
            unused: Duration::from_secs(60),
            window: 1,
        };
        let roots = Roots::new(&[root.path().to_owned()]).unwrap();
        let (opener, _results) = Opener::new(roots, keeping, 1);
        let name: Name = (*b"/f").into();
        for asked in [1, 2].map(Time::from_nanos) {
            opener.keep_file(&name, &file, asked);
            assert_eq!(opener.cache.borrow_mut().get(&name, asked).unwrap().1, asked);
        }
        assert_eq!(opener.counts().opened, 1);
    }
}
