//! Looks up the names of backends as the system does it (getaddrinfo(3)), by helper threads. Used by
//! [`super::stream`] for each new connection.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::vec;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;

/// The most look-ups of a worker at once. Each blocks a thread for as long as a name server does not
/// answer, and temporary files need some of the worker's 512, too.
const MAX_CONCURRENT: usize = 64;

/// The most of these of one name: one that nobody answers for leaves room for others.
const MAX_OF_A_NAME: usize = 16;

thread_local! {
    /// Those of this worker.
    static PERMITS: Arc<Semaphore> = Arc::new(Semaphore::new(MAX_CONCURRENT));
    /// Those of each name that is being looked up.
    static OF_NAMES: RefCell<HashMap<Box<str>, Arc<Semaphore>>> = RefCell::default();
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
    by_helper(host, move || (name.as_str(), port).to_socket_addrs()).await
}

/// Has a helper do `work`, a look-up of `name`.
async fn by_helper<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    // Who waits for its name keeps no other name from its turn.
    let of_name = permit(permits_of(name)).await?;
    let permits = (of_name, permit(PERMITS.with(Arc::clone)).await?);
    // They are kept for as long as the thread hangs, even if the caller gave up.
    let work = move || {
        let _permits = permits;
        work()
    };
    spawn_blocking(work).await?
}

async fn permit(permits: Arc<Semaphore>) -> io::Result<OwnedSemaphorePermit> {
    permits.acquire_owned().await.map_err(io::Error::other)
}

fn permits_of(name: &str) -> Arc<Semaphore> {
    OF_NAMES.with_borrow_mut(|all| {
        if let Some(permits) = all.get(name) {
            return permits.clone();
        }
        // Others whose look-ups are over.
        all.retain(|_, permits| Arc::strong_count(permits) > 1);
        let permits = Arc::new(Semaphore::new(MAX_OF_A_NAME));
        all.insert(name.into(), permits.clone());
        permits
    })
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::mpsc;
    use std::time::Duration;

    use tokio::sync::oneshot;
    use tokio::task::JoinHandle;
    use tokio::time::timeout;

    use super::*;

    /// Guards against hanging.
    const DEADLINE: Duration = Duration::from_secs(30);

    /// Long enough for what need not wait.
    const A_WHILE: Duration = Duration::from_millis(50);

    /// Begins to look `name` up at a server that answers when the result is dropped.
    async fn hang(name: &'static str) -> (mpsc::Sender<()>, JoinHandle<io::Result<()>>) {
        let (answer, server) = mpsc::channel::<()>();
        let (asked, is_asked) = oneshot::channel();
        let work = move || {
            let _ = asked.send(());
            let _ = server.recv();
            Ok(())
        };
        let waiting = tokio::spawn(by_helper(name, work));
        timeout(DEADLINE, is_asked).await.unwrap().unwrap();
        (answer, waiting)
    }

    #[tokio::test]
    async fn a_name_that_nobody_answers_for_leaves_room_for_others() {
        let mut answers = Vec::new();
        for _ in 0..MAX_OF_A_NAME {
            let (answer, waiting) = hang("hangs.test").await;
            // Whether or not somebody waits: its thread cannot be stopped.
            waiting.abort();
            assert!(waiting.await.unwrap_err().is_cancelled());
            answers.push(answer);
        }
        let mut next = pin!(by_helper("hangs.test", || Ok("next")));
        assert!(timeout(A_WHILE, &mut next).await.is_err());
        let free = PERMITS.with(|permits| permits.available_permits());
        assert_eq!(free, MAX_CONCURRENT - MAX_OF_A_NAME);
        let other = timeout(DEADLINE, by_helper("other.test", || Ok("other")));
        assert_eq!(other.await.unwrap().unwrap(), "other");
        drop(answers);
        assert_eq!(timeout(DEADLINE, next).await.unwrap().unwrap(), "next");
    }

    #[tokio::test]
    async fn a_name_waits_for_a_place_and_an_address_does_not() {
        let permits = PERMITS.with(Arc::clone);
        let all = permits.acquire_many(MAX_CONCURRENT as u32).await.unwrap();
        let mut named = pin!(look_up("localhost", 80));
        assert!(timeout(A_WHILE, &mut named).await.is_err());
        for address in ["127.0.0.1", "::1"] {
            let found: Vec<_> = look_up(address, 80).await.unwrap().collect();
            assert_eq!(found, [SocketAddr::new(address.parse().unwrap(), 80)]);
        }
        drop(all);
        let mut found = timeout(DEADLINE, named).await.unwrap().unwrap();
        assert!(found.all(|address| address.ip().is_loopback()));
    }

    #[tokio::test]
    async fn names_are_forgotten_once_they_were_looked_up() {
        for number in 0..100 {
            by_helper(&format!("{number}.test"), || Ok(())).await.unwrap();
        }
        assert!(OF_NAMES.with_borrow(HashMap::len) <= 2);
    }
}
