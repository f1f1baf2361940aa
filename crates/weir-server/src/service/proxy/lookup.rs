//! Looks up the names of backends as the system does it (getaddrinfo(3)), by helper threads. All who want
//! a name at the same time share one look-up. Used by [`super::stream`] for each new connection.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::{Arc, Weak};
use std::time::Duration;
use std::vec;

use tokio::sync::{Semaphore, watch};
use tokio::task::spawn_blocking;
use tokio::time::Instant;

/// The most look-ups of a worker at once. Each blocks a thread for as long as a name server does not
/// answer, and temporary files need some of the worker's 512, too.
const MOST: usize = 64;

/// Who wants a name that has been looked up for so long begins another look-up beside it, and after twice the
/// time a third, and so on: the system asks a name server again only after 5 s (resolv.conf(5)), and a lost
/// packet should not hold up those who come later.
const AGAIN_AFTER: Duration = Duration::from_millis(500);

/// Look-ups beside others leave room for so many.
const LEFT_FREE: usize = MOST / 2;

/// How a look-up ends; the addresses have port 0.
type Found = io::Result<Vec<SocketAddr>>;

/// Tells those who wait for a name what the first of its look-ups found, or why the last failed.
type Teller = watch::Sender<Option<Found>>;

/// Who waits for a name.
type Waiting = watch::Receiver<Option<Found>>;

/// A name that is looked up.
struct UnderWay {
    /// The look-ups have it: when there is none left, nothing is told any more.
    teller: Weak<Teller>,
    /// When another one may begin beside them, and how long the next waits then.
    again_at: Instant,
    gap: Duration,
}

thread_local! {
    /// Room for the look-ups of this worker: each has a permit until its thread has ended.
    static PERMITS: Arc<Semaphore> = Arc::new(Semaphore::new(MOST));
    /// The names that this worker looks up.
    static UNDER_WAY: RefCell<HashMap<Box<str>, UnderWay>> = RefCell::default();
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
    let mut addresses = end_of(share(host, Instant::now(), work)).await?;
    for address in &mut addresses {
        address.set_port(port);
    }
    Ok(addresses.into_iter())
}

/// Waits for `name`, which those share who want it at the same time. If it is not looked up, or has been
/// for long at `now`, a look-up begins, which does `work`. It is a task of its own, so that whoever gives up
/// takes it from nobody else.
fn share(name: &str, now: Instant, work: impl FnOnce() -> Found + Send + 'static) -> Waiting {
    UNDER_WAY.with_borrow_mut(|all| {
        if let Some(under_way) = all.get_mut(name)
            && let Some(teller) = under_way.teller()
        {
            let waiting = teller.subscribe();
            if under_way.again_at <= now && free() > LEFT_FREE {
                under_way.gap *= 2;
                under_way.again_at = now + under_way.gap;
                begin(teller, work);
            }
            return waiting;
        }
        all.retain(|_, under_way| under_way.teller().is_some());
        let (teller, waiting) = watch::channel(None);
        let teller = Arc::new(teller);
        let (gap, again_at) = (AGAIN_AFTER, now + AGAIN_AFTER);
        all.insert(name.into(), UnderWay { teller: Arc::downgrade(&teller), again_at, gap });
        begin(teller, work);
        waiting
    })
}

/// Begins a look-up, unless another one has found the name until there is room for it.
fn begin(teller: Arc<Teller>, work: impl FnOnce() -> Found + Send + 'static) {
    tokio::spawn(async move {
        let Ok(permit) = PERMITS.with(Arc::clone).acquire_owned().await else { return };
        if teller.borrow().is_some() {
            return;
        }
        // It is kept for as long as the thread hangs.
        let work = move || {
            let _permit = permit;
            work()
        };
        let found = spawn_blocking(work).await.unwrap_or_else(|error| Err(error.into()));
        // What one could not find, another may, as long as there is one.
        let counts = found.is_ok() || Arc::strong_count(&teller) == 1;
        teller.send_if_modified(|answer| {
            let is_first = counts && answer.is_none();
            if is_first {
                *answer = Some(found);
            }
            is_first
        });
    });
}

/// How many more look-ups may begin.
fn free() -> usize {
    PERMITS.with(|permits| permits.available_permits())
}

impl UnderWay {
    /// None if the name's look-ups are over.
    fn teller(&self) -> Option<Arc<Teller>> {
        self.teller.upgrade().filter(|teller| teller.borrow().is_none())
    }
}

/// Waits for the answer.
async fn end_of(mut waiting: Waiting) -> Found {
    let answer = waiting.wait_for(Option::is_some).await;
    // No thread could be started for it, or the worker ends.
    let broke_off = || io::Error::other("the look-up broke off");
    let answer = answer.map_err(|_| broke_off())?;
    answer.as_ref().ok_or_else(broke_off)?.as_ref().cloned().map_err(copy)
}

/// `error` once more. The system's errors keep their code: it tells what is short on this host from what
/// is wrong with the backend.
fn copy(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::new(error.kind(), error.to_string()),
    }
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
    async fn hang(name: &str, now: Instant) -> (mpsc::Sender<()>, Waiting) {
        let (answer, server) = mpsc::channel::<()>();
        let (asked, is_asked) = oneshot::channel();
        let waiting = share(name, now, move || {
            let _ = asked.send(());
            let _ = server.recv();
            Ok(vec![address(1)])
        });
        timeout(DEADLINE, is_asked).await.unwrap().unwrap();
        (answer, waiting)
    }

    async fn soon(waiting: Waiting) -> Found {
        timeout(DEADLINE, end_of(waiting)).await.unwrap()
    }

    /// How many threads look names up.
    fn threads() -> usize {
        MOST - free()
    }

    #[tokio::test]
    async fn a_name_that_nobody_answers_for_takes_one_thread_and_leaves_room_for_others() {
        let start = Instant::now();
        let (answer, first) = hang("hangs.test", start).await;
        // Whether or not somebody waits: its thread cannot be stopped.
        drop(first);
        let soon_after = start + AGAIN_AFTER - Duration::from_millis(1);
        let later = [(); 2 * MOST].map(|()| share("hangs.test", soon_after, asked_again));
        for number in 0..2 * MOST {
            let other = share(&format!("{number}.test"), start, || Ok(vec![address(2)]));
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
    async fn a_look_up_that_takes_long_has_others_beside_it() {
        let start = Instant::now();
        let (first, waiting) = hang("lost.test", start).await;
        let (second, _) = hang("lost.test", start + AGAIN_AFTER).await;
        let (third, _) = hang("lost.test", start + 3 * AGAIN_AFTER).await;
        let between = share("lost.test", start + 6 * AGAIN_AFTER, asked_again);
        assert_eq!(threads(), 3);
        // One answer is enough for all.
        drop(third);
        for waiting in [waiting, between] {
            assert_eq!(soon(waiting).await.unwrap(), [address(1)]);
        }
        let anew = share("lost.test", start, || Ok(vec![address(2)]));
        assert_eq!(soon(anew).await.unwrap(), [address(2)]);
        drop((first, second));
    }

    #[tokio::test]
    async fn look_ups_beside_others_leave_room_for_first_ones() {
        let start = Instant::now();
        let (_answer, _first) = hang("hangs.test", start).await;
        let permits = PERMITS.with(Arc::clone);
        let _taken = permits.acquire_many((free() - LEFT_FREE) as u32).await.unwrap();
        drop(share("hangs.test", start + 100 * AGAIN_AFTER, asked_again));
        assert_eq!(UNDER_WAY.with_borrow(|all| all["hangs.test"].gap), AGAIN_AFTER);
        let other = share("other.test", start, || Ok(vec![address(2)]));
        assert_eq!(soon(other).await.unwrap(), [address(2)]);
    }

    #[tokio::test]
    async fn what_one_look_up_cannot_find_another_may() {
        let start = Instant::now();
        let (answer, first) = hang("refused.test", start).await;
        let refused = || Err(io::ErrorKind::ConnectionRefused.into());
        let second = share("refused.test", start + AGAIN_AFTER, refused);
        let ended = async {
            while threads() > 1 {
                tokio::task::yield_now().await;
            }
        };
        timeout(DEADLINE, ended).await.unwrap();
        drop(answer);
        for waiting in [first, second] {
            assert_eq!(soon(waiting).await.unwrap(), [address(1)]);
        }
    }

    #[tokio::test]
    async fn all_who_share_a_look_up_have_ports_of_their_own() {
        let (answer, _first) = hang("shared.test", Instant::now() + DEADLINE).await;
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
        let all = permits.acquire_many(MOST as u32).await.unwrap();
        let start = Instant::now();
        assert!(timeout(A_WHILE, look_up("localhost", 80)).await.is_err());
        // Its place is kept for whoever comes next.
        let next = share("localhost", start, asked_again);
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
        let now = Instant::now();
        for (number, why) in ["no such name", "no answer"].into_iter().enumerate() {
            let name = format!("{number}.test");
            let work = move || Err(io::Error::new(io::ErrorKind::NotFound, why));
            let first = share(&name, now, work);
            for waiting in [share(&name, now, asked_again), first] {
                let error = soon(waiting).await.unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::NotFound);
                assert_eq!(error.to_string(), why);
            }
        }
        let first = share("short.test", now, || Err(descriptors::none_left()));
        for waiting in [share("short.test", now, asked_again), first] {
            assert!(descriptors::is_own(&soon(waiting).await.unwrap_err()));
        }
    }

    #[tokio::test]
    async fn a_look_up_is_forgotten_when_it_is_over() {
        let now = Instant::now();
        let found = || -> Found { Ok(vec![address(1)]) };
        let failed = || -> Found { Err(io::ErrorKind::NotFound.into()) };
        let panicked = asked_again;
        let ends: [(fn() -> Found, bool); 3] = [(found, true), (failed, false), (panicked, false)];
        for (end, is_found) in ends {
            assert_eq!(soon(share("again.test", now, end)).await.is_ok(), is_found);
            let next = share("again.test", now, || Ok(vec![address(2)]));
            assert_eq!(soon(next).await.unwrap(), [address(2)]);
        }
        assert_eq!(threads(), 0);
        for number in 0..100 {
            soon(share(&format!("{number}.test"), now, found)).await.unwrap();
        }
        assert!(UNDER_WAY.with_borrow(HashMap::len) <= 1);
    }

    #[tokio::test]
    async fn who_waits_for_a_look_up_that_broke_off_is_told() {
        let (teller, waiting) = watch::channel(None);
        drop(teller);
        assert!(soon(waiting).await.is_err());
    }
}
