//! Lets so many tasks of a worker through between two looks at its sockets, in the order in which they
//! came: work that is long, such as the handshakes of new clients, then holds up nobody for more than
//! that. Each worker has one for handshakes.

use tokio::sync::{Notify, Semaphore};
use tokio::task::yield_now;

/// See the module.
#[derive(Debug)]
pub(crate) struct Turnstile {
    most: usize,
    places: Semaphore,
    used: Notify,
}

impl Turnstile {
    /// `most`: how many may pass between two looks.
    pub(crate) fn new(most: usize) -> Turnstile {
        Turnstile { most, places: Semaphore::new(most), used: Notify::new() }
    }

    /// Waits for a place.
    pub(crate) async fn pass(&self) {
        if let Ok(place) = self.places.acquire().await {
            place.forget();
        }
        self.used.notify_one();
    }

    /// Makes all places free again after each look, for as long as the worker runs.
    pub(crate) async fn run(&self) {
        loop {
            self.used.notified().await;
            // A task that yields goes on after the runtime has looked at the sockets.
            yield_now().await;
            self.places.add_permits(self.most - self.places.available_permits());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::Metrics;
    use crate::runtime;
    use std::cell::Cell;
    use std::rc::Rc;
    use std::sync::Arc;
    use tokio::task::spawn_local;

    #[test]
    fn so_many_pass_between_two_looks_and_all_in_the_end() {
        runtime::build(&Arc::new(Metrics::new())).unwrap().block_on(async {
            let (turnstile, passed) = (Rc::new(Turnstile::new(4)), Rc::new(Cell::new(0)));
            let (running, mut looks) = (turnstile.clone(), 0);
            spawn_local(async move { running.run().await });
            for number in 0..40 {
                let (turnstile, passed) = (turnstile.clone(), passed.clone());
                spawn_local(async move {
                    turnstile.pass().await;
                    assert_eq!(passed.replace(number + 1), number, "the order in which they came");
                });
            }
            while passed.get() < 40 {
                let before = passed.get();
                yield_now().await;
                assert!(passed.get() - before <= 8, "at most those of this look and of the next");
                looks += 1;
                assert!(looks < 1000);
            }
            assert!(looks >= 5);
        });
    }
}
