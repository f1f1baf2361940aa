//! Looks up the names of backends as the system does it (getaddrinfo(3)), by helper threads. All who want
//! a name at the same time share one look-up. Used by [`super::stream`] for each new connection.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::vec;

use tokio::sync::{Semaphore, watch};
use tokio::task::spawn_blocking;

/// The most names that a worker looks up at once. Each blocks a thread for as long as a name server does
/// not answer, and temporary files need some of the worker's 512, too.
const MAX_NAMES: usize = 64;

/// How a look-up ends; the addresses have port 0.
type Found = io::Result<Vec<SocketAddr>>;

thread_local! {
    /// Room for the look-ups of this worker: each has a permit until its thread has ended.
    static PERMITS: Arc<Semaphore> = Arc::new(Semaphore::new(MAX_NAMES));
    /// Where the look-ups of this worker tell how they ended, by name. If it is closed, the look-up is over.
    static UNDER_WAY: RefCell<HashMap<Box<str>, watch::Receiver<Found>>> = RefCell::default();
}

/// The addresses of `host`, which is a name or an address.
///
/// # Errors
///
/// It leads nowhere.
pub(super) async fn look_up(host: &str, port: u16) -> io::Result<vec::IntoIter<SocketAddr>> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![SocketAddr::from((address, port))].into_iter());
    }
    let name = host.to_owned();
    let work = move || (name.as_str(), 0_u16).to_socket_addrs().map(Iterator::collect);
    let mut addresses = end_of(shared_look_up(host, work)).await?;
    for address in &mut addresses {
        address.set_port(port);
    }
    Ok(addresses.into_iter())
}

/// The look-up of `name` that is under way; if there is none, a new one, which does `work`. It is a task
/// of its own, so that whoever gives up takes it from nobody else.
fn shared_look_up(
    name: &str,
    work: impl FnOnce() -> Found + Send + 'static,
) -> watch::Receiver<Found> {
    UNDER_WAY.with_borrow_mut(|all| {
        if let Some(end) = all.get(name).filter(|end| !end.is_closed()) {
            return end.clone();
        }
        all.retain(|_, end| !end.is_closed());
        let (teller, end) = watch::channel(Ok(Vec::new()));
        tokio::spawn(async move {
            let found = by_helper(work).await;
            // Somebody listens: the map has a receiver.
            let _ = teller.send(found);
        });
        all.insert(name.into(), end.clone());
        end
    })
}

/// Waits for the end of a look-up.
async fn end_of(mut under_way: watch::Receiver<Found>) -> Found {
    // No thread could be started for it, or the worker ends.
    under_way.changed().await.map_err(|_| io::Error::other("the look-up broke off"))?;
    under_way.borrow().as_ref().cloned().map_err(copy)
}

/// `error` once more. The system's errors keep their code: it tells what is short on this host from what
/// is wrong with the backend.
fn copy(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::new(error.kind(), error.to_string()),
    }
}

/// Has a helper do `work` when there is room for one more.
async fn by_helper(work: impl FnOnce() -> Found + Send + 'static) -> Found {
    let permits = PERMITS.with(Arc::clone);
    let permit = permits.acquire_owned().await.map_err(io::Error::other)?;
    // It is kept for as long as the thread hangs.
    let work = move || {
        let _permit = permit;
        work()
    };
    spawn_blocking(work).await?
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use tokio::sync::oneshot;
    use tokio::time::timeout;

    use super::*;
    use crate::sys::descriptors;

    /// Guards against hanging.
    const DEADLINE: Duration = Duration::from_secs(30);

    /// Long enough for what need not wait.
    const A_WHILE: Duration = Duration::from_millis(50);

    fn address(last: u8) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, last], 0))
    }

    /// The work of a look-up that must not be begun.
    fn asked_again() -> Found {
        panic!("it is looked up again")
    }

    /// Begins to look `name` up at a server that answers `address(1)` when the sender is dropped.
    async fn hang(name: &str) -> (mpsc::Sender<()>, watch::Receiver<Found>) {
        let (answer, server) = mpsc::channel::<()>();
        let (asked, is_asked) = oneshot::channel();
        let waiting = shared_look_up(name, move || {
            let _ = asked.send(());
            let _ = server.recv();
            Ok(vec![address(1)])
        });
        timeout(DEADLINE, is_asked).await.unwrap().unwrap();
        (answer, waiting)
    }

    async fn soon(under_way: watch::Receiver<Found>) -> Found {
        timeout(DEADLINE, end_of(under_way)).await.unwrap()
    }

    /// How many threads look names up.
    fn threads() -> usize {
        MAX_NAMES - PERMITS.with(|permits| permits.available_permits())
    }

    #[tokio::test]
    async fn a_name_that_nobody_answers_for_takes_one_thread_and_leaves_room_for_others() {
        let (answer, first) = hang("hangs.test").await;
        // Whether or not somebody waits: its thread cannot be stopped.
        drop(first);
        let later = [(); 2 * MAX_NAMES].map(|()| shared_look_up("hangs.test", asked_again));
        for number in 0..2 * MAX_NAMES {
            let other = shared_look_up(&format!("{number}.test"), || Ok(vec![address(2)]));
            assert_eq!(soon(other).await.unwrap(), [address(2)]);
            assert_eq!(threads(), 1);
        }
        drop(answer);
        for waiting in later {
            assert_eq!(soon(waiting).await.unwrap(), [address(1)]);
        }
        assert_eq!(threads(), 0);
    }

    #[tokio::test]
    async fn all_who_share_a_look_up_have_ports_of_their_own() {
        let (answer, _first) = hang("shared.test").await;
        let asking = async {
            let answering = async { drop(answer) };
            tokio::join!(look_up("shared.test", 80), look_up("shared.test", 443), answering)
        };
        let (clear, secure, ()) = timeout(DEADLINE, asking).await.unwrap();
        for (found, port) in [(clear, 80), (secure, 443)] {
            let found: Vec<_> = found.unwrap().collect();
            assert_eq!(found, [SocketAddr::new(address(1).ip(), port)]);
        }
    }

    #[tokio::test]
    async fn a_name_waits_for_a_place_and_an_address_does_not() {
        let permits = PERMITS.with(Arc::clone);
        let all = permits.acquire_many(MAX_NAMES as u32).await.unwrap();
        assert!(timeout(A_WHILE, look_up("localhost", 80)).await.is_err());
        // Its place is kept for whoever comes next.
        let next = shared_look_up("localhost", asked_again);
        for address in ["127.0.0.1", "::1"] {
            let found: Vec<_> = look_up(address, 80).await.unwrap().collect();
            assert_eq!(found, [SocketAddr::new(address.parse().unwrap(), 80)]);
        }
        drop(all);
        let found = soon(next).await.unwrap();
        assert!(!found.is_empty() && found.iter().all(|address| address.ip().is_loopback()));
    }

    #[tokio::test]
    async fn all_who_wait_are_told_why_it_failed() {
        for (number, why) in ["no such name", "no answer"].into_iter().enumerate() {
            let name = format!("{number}.test");
            let work = move || Err(io::Error::new(io::ErrorKind::NotFound, why));
            let first = shared_look_up(&name, work);
            for waiting in [shared_look_up(&name, asked_again), first] {
                let error = soon(waiting).await.unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::NotFound);
                assert_eq!(error.to_string(), why);
            }
        }
        let first = shared_look_up("short.test", || Err(descriptors::none_left()));
        for waiting in [shared_look_up("short.test", asked_again), first] {
            assert!(descriptors::is_own(&soon(waiting).await.unwrap_err()));
        }
    }

    #[tokio::test]
    async fn a_look_up_is_forgotten_when_it_is_over() {
        let (_, broken_off) = watch::channel(Ok(Vec::new()));
        assert!(soon(broken_off.clone()).await.is_err());
        UNDER_WAY.with_borrow_mut(|all| all.insert("again.test".into(), broken_off));
        let found = || -> Found { Ok(vec![address(1)]) };
        let failed = || -> Found { Err(io::ErrorKind::NotFound.into()) };
        let panicked = asked_again;
        let ends: [(fn() -> Found, bool); 3] = [(found, true), (failed, false), (panicked, false)];
        for (end, is_found) in ends {
            assert_eq!(soon(shared_look_up("again.test", end)).await.is_ok(), is_found);
            let next = shared_look_up("again.test", || Ok(vec![address(2)]));
            assert_eq!(soon(next).await.unwrap(), [address(2)]);
        }
        assert_eq!(threads(), 0);
        for number in 0..100 {
            soon(shared_look_up(&format!("{number}.test"), found)).await.unwrap();
        }
        assert!(UNDER_WAY.with_borrow(HashMap::len) <= 1);
    }
}
