//! Descriptors of files, which threads of their own close. A close may wait: a file system that another
//! process has (FUSE) is told of it, and the last one of a file that was deleted frees its blocks. Each file
//! system has its own thread, so that one that hangs keeps no file of another open. How many wait is known,
//! so that no more are opened where they cannot be closed. What peers pass and their sockets have a thread of
//! their own, too. Used by `find`, the opener and `messages`.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::CWD;

/// Major and minor number of a file system.
pub(crate) type Device = (u32, u32);

/// Stands for what peers have to do with: no file system has this number.
const PEERS: Device = (u32::MAX, u32::MAX);

/// After how long a thread ends that has nothing to close.
const IDLE: Duration = Duration::from_secs(60);

/// So many descriptors that wait for their close are too many: their file system hangs.
pub(crate) const MOST_UNCLOSED: usize = 64;

/// What the threads that run have to close.
static QUEUES: Mutex<BTreeMap<Device, Queue>> = Mutex::new(BTreeMap::new());

/// How many descriptors they have closed.
static CLOSED: AtomicUsize = AtomicUsize::new(0);

/// How long to wait for a close when descriptors are short, and between two looks.
const PATIENCE: Duration = Duration::from_millis(100);
const PAUSE: Duration = Duration::from_millis(1);

struct Queue {
    fds: Sender<OwnedFd>,
    /// Those that were handed over and are not closed.
    unclosed: Arc<AtomicUsize>,
}

/// Descriptors of files on `device` that wait for their close.
pub(crate) fn unclosed_on(device: Device) -> usize {
    queues().get(&device).map_or(0, |queue| queue.unclosed.load(Ordering::Relaxed))
}

/// The same, of all file systems.
pub(crate) fn unclosed() -> usize {
    queues().values().map(|queue| queue.unclosed.load(Ordering::Relaxed)).sum()
}

/// The same, without what is of peers.
pub(crate) fn unclosed_files() -> usize {
    let queues = queues();
    let files = queues.iter().filter(|(device, _)| **device != PEERS);
    files.map(|(_, queue)| queue.unclosed.load(Ordering::Relaxed)).sum()
}

/// What is of peers and waits for its close.
pub(crate) fn unclosed_of_peers() -> usize {
    unclosed_on(PEERS)
}

/// Waits until one of those that wait was closed, a tenth of a second at most; whether one was, or they are
/// gone by now.
pub(crate) fn wait_for_one() -> bool {
    let before = CLOSED.load(Ordering::Relaxed);
    let until = Instant::now() + PATIENCE;
    while unclosed() > 0 && CLOSED.load(Ordering::Relaxed) == before {
        if Instant::now() >= until {
            return false;
        }
        thread::sleep(PAUSE);
    }
    true
}

/// Closes what a peer has passed, or its socket. Whoever calls does not wait for it.
pub(crate) fn close_of_peer(fd: OwnedFd) {
    hand_over(PEERS, fd);
}

/// A descriptor of a file. Whoever drops it does not wait for its close.
#[derive(Debug)]
pub(crate) struct Descriptor {
    /// There until it is dropped.
    fd: Option<OwnedFd>,
    device: Device,
}

impl Descriptor {
    /// That of a file which is on `device`.
    pub(crate) fn new(fd: OwnedFd, device: Device) -> Descriptor {
        Descriptor { fd: Some(fd), device }
    }

    pub(crate) fn device(&self) -> Device {
        self.device
    }
}

impl AsFd for Descriptor {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_ref().map_or(CWD, AsFd::as_fd)
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        if let Some(fd) = self.fd.take() {
            hand_over(self.device, fd);
        }
    }
}

fn hand_over(device: Device, fd: OwnedFd) {
    let mut queues = queues();
    if let Some(queue) = queues.get(&device) {
        // Its thread ends only after it has taken the queue away.
        queue.unclosed.fetch_add(1, Ordering::Relaxed);
        let _ = queue.fds.send(fd);
        return;
    }
    let (fds, rest) = channel();
    let unclosed = Arc::new(AtomicUsize::new(1));
    let count = unclosed.clone();
    let close = move || close_all(device, &rest, &count);
    if thread::Builder::new().name("opener-close".to_owned()).spawn(close).is_ok() {
        let _ = fds.send(fd);
        queues.insert(device, Queue { fds, unclosed });
    } else {
        // To wait here is better than to run out of descriptors.
        drop(queues);
        drop(fd);
    }
}

/// Closes one after another, until there has been none for a while.
fn close_all(device: Device, queue: &Receiver<OwnedFd>, unclosed: &AtomicUsize) {
    loop {
        while let Ok(fd) = queue.recv_timeout(IDLE) {
            close_one(fd, unclosed);
        }
        let mut queues = queues();
        let Ok(fd) = queue.try_recv() else {
            queues.remove(&device);
            return;
        };
        drop(queues);
        close_one(fd, unclosed);
    }
}

fn close_one(fd: OwnedFd, unclosed: &AtomicUsize) {
    drop(fd);
    unclosed.fetch_sub(1, Ordering::Relaxed);
    CLOSED.fetch_add(1, Ordering::Relaxed);
}

fn queues() -> MutexGuard<'static, BTreeMap<Device, Queue>> {
    QUEUES.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn what_is_dropped_is_closed() {
        // The first of a file system starts the thread, the second finds it.
        for _ in 0..2 {
            let (mut here, there) = UnixStream::pair().unwrap();
            here.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
            let shared = std::sync::Arc::new(Descriptor::new(there.into(), (u32::MAX, 0)));
            let other = shared.clone();
            drop(shared);
            assert_eq!(rustix::io::write(&other, b"x"), Ok(1));
            drop(other);
            let mut read = Vec::new();
            here.read_to_end(&mut read).unwrap();
            assert_eq!(read, b"x");
            while unclosed_on((u32::MAX, 0)) > 0 {
                thread::yield_now();
            }
        }
    }
}
