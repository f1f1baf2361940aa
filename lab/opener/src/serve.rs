//! Runs the opener until it is told to stop: accepts connections, counts them, tells its counts.
//! `weir-lab opener` calls it.

use std::num::NonZeroUsize;
use std::os::unix::net::UnixListener as StdListener;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::net::UnixListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::{JoinSet, LocalSet};
use tokio::time::sleep;

use crate::closing::unclosed_of_peers;
use crate::connection::{self, Cut};
use crate::counts::Counts;
use crate::error::Error;
use crate::find::in_memory;
use crate::listener::{SocketFile, listen};
use crate::messages::Socket;
use crate::opener::{Keeping, Opener};
use crate::peers::Peers;
use crate::roots::{Below, Roots};

/// Pause after a connection could not be accepted for want of descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// How the opener is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where servers connect.
    pub socket: PathBuf,
    /// Mode of the socket's file.
    pub mode: u32,
    /// Users beside root and the opener's own whose processes may ask: names or numbers.
    pub users: Vec<String>,
    /// Directories below which files are opened, by the names that servers say; absolute.
    pub roots: Vec<PathBuf>,
    /// Most files that are kept open; fewer where the limit of descriptors wants it.
    pub files: usize,
    /// How long a name is trusted to stand for its open file before it is looked at again.
    pub valid: Duration,
    /// After how long a file that nobody asks for is closed.
    pub unused: Duration,
    /// Bytes of a file that are brought into memory.
    pub window: u64,
    /// Most helpers at once that wait for each disk, those not counted that hang.
    pub helpers: usize,
}

/// Runs until SIGTERM or SIGINT, and returns what was counted. `ready` is called once servers can connect,
/// `tell` at each SIGUSR1.
///
/// # Errors
///
/// It cannot start: a root, a user or the socket is not as it must be, or names cannot be looked up in
/// memory alone.
pub fn serve(
    options: &Options,
    ready: impl FnOnce(),
    tell: impl Fn(&Counts),
) -> Result<Counts, Error> {
    let roots = Roots::new(&options.roots)?;
    for root in &options.roots {
        check_kernel(in_memory(Below { root, name: Path::new(".") }).err())?;
    }
    let peers = Peers::new(&options.users)?;
    let share = Share::of(raised_limit());
    let (listener, file) = listen(&options.socket, options.mode)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Error(format!("cannot start: {error}")))?;
    let keeping = Keeping {
        most: NonZeroUsize::new(options.files.min(share.files)).unwrap_or(NonZeroUsize::MIN),
        valid: options.valid,
        unused: options.unused,
        window: options.window,
    };
    let (opener, results) = Opener::new(roots, keeping, options.helpers);
    let opener = Rc::new(opener);
    let local = LocalSet::new();
    let worker = opener.clone();
    let working = local.spawn_local(async move { worker.work(results).await });
    let done = local.block_on(&runtime, async {
        let signals = Signals::watch()?;
        ready();
        let accepting = accept((file, listener), &opener, &peers, share.connections);
        tokio::select! {
            failed = accepting => failed,
            // It panicked: who asks for what is not in memory would wait for nothing.
            _ = working => Err(std::io::Error::other("files are opened no longer")),
            stopped = signals.until_stopped(|| tell(&opener.counts())) => stopped,
        }
    });
    // A helper that hangs must not keep the opener from ending.
    runtime.shutdown_background();
    done.map(|()| opener.counts()).map_err(|error| Error(format!("cannot go on: {error}")))
}

/// Whether names can be looked up in memory alone (RESOLVE_CACHED), by why a root could not be.
fn check_kernel(failure: Option<Errno>) -> Result<(), Error> {
    match failure {
        Some(Errno::INVAL | Errno::NOSYS) => {
            Err(Error("the opener needs Linux 5.12 or later (RESOLVE_CACHED of openat2)".into()))
        }
        // The kernel itself has no such error for a directory that is only named.
        Some(Errno::PERM) => Err(Error(
            "the opener may not call openat2: allow it in the filter of system calls (seccomp) of \
             its container or service"
                .into(),
        )),
        _ => Ok(()),
    }
}

/// How the descriptors that the process may have are divided; what is left over is for the helpers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Share {
    files: usize,
    connections: usize,
}

impl Share {
    fn of(limit: usize) -> Share {
        Share { files: (limit / 2).max(1), connections: (limit / 4).max(1) }
    }
}

/// Raises the limit of descriptors as far as the process itself may, and returns it.
fn raised_limit() -> usize {
    let now = getrlimit(Resource::Nofile);
    // What cannot be raised stays as it is.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: now.maximum, maximum: now.maximum });
    let limit = getrlimit(Resource::Nofile).current;
    limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX)
}

/// Accepts connections, for ever.
async fn accept(
    (file, listener): (SocketFile, StdListener),
    opener: &Rc<Opener>,
    peers: &Peers,
    most: usize,
) -> std::io::Result<()> {
    let listener = UnixListener::from_std(listener)?;
    // It goes before the listener: where the file is, somebody answers, so that no other opener replaces it
    // while this one removes it.
    let _file = file;
    let mut connections = JoinSet::new();
    loop {
        // What peers leave to be closed takes descriptors, too, and they choose for how long.
        if unclosed_of_peers() > most / 2 {
            sleep(PAUSE).await;
            continue;
        }
        let accepted = tokio::select! {
            biased;
            // Those that have ended take no place from one that comes.
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        let Ok((stream, _)) = accepted else {
            sleep(PAUSE).await;
            continue;
        };
        let socket = Socket::new(stream);
        if connections.len() >= most || !peers.may_ask(&socket) {
            opener.count(|counts| counts.turned_away += 1);
            continue;
        }
        opener.count(|counts| counts.connections += 1);
        let opener = opener.clone();
        connections.spawn_local(async move {
            let ended = connection::serve(socket, opener.clone()).await;
            opener.count(|counts| match ended {
                Err(Cut::Version) => counts.turned_away += 1,
                Err(Cut::Malformed | Cut::Slow) => counts.cut += 1,
                Ok(()) | Err(Cut::Failed) => {}
            });
        });
    }
}

/// What the opener is told from outside.
struct Signals {
    terminated: Signal,
    interrupted: Signal,
    asked: Signal,
}

impl Signals {
    /// From now on they do not end the process by themselves.
    fn watch() -> std::io::Result<Signals> {
        Ok(Signals {
            terminated: signal(SignalKind::terminate())?,
            interrupted: signal(SignalKind::interrupt())?,
            asked: signal(SignalKind::user_defined1())?,
        })
    }

    /// Waits for the signal to stop; calls `tell` at each SIGUSR1.
    async fn until_stopped(mut self, tell: impl Fn()) -> std::io::Result<()> {
        loop {
            tokio::select! {
                _ = self.terminated.recv() => return Ok(()),
                _ = self.interrupted.recv() => return Ok(()),
                _ = self.asked.recv() => tell(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_does_not_start_where_it_could_open_nothing() {
        for (failure, said) in
            [(Errno::NOSYS, "Linux 5.12"), (Errno::INVAL, "Linux 5.12"), (Errno::PERM, "seccomp")]
        {
            let error = check_kernel(Some(failure)).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
        // Not in memory, or not this user's to enter: it may be, later.
        for other in [None, Some(Errno::AGAIN), Some(Errno::ACCESS)] {
            assert_eq!(check_kernel(other), Ok(()));
        }
    }

    #[test]
    fn every_limit_leaves_descriptors_to_the_helpers() {
        for limit in [16, 64, 1024, 20_000, usize::MAX] {
            let Share { files, connections } = Share::of(limit);
            assert!(files > 0 && connections > 0 && files + connections <= limit / 4 * 3 + 3);
        }
    }
}
