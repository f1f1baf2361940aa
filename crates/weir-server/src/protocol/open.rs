//! The open connections of a worker: how many there are, how many may be, and which are closed when
//! descriptors are short. Used by the accept loop, and by the worker when it stops.

use std::cell::Cell;
use std::os::fd::AsFd;
use std::rc::Rc;

use tokio::sync::Notify;

use crate::client::deadlines::Deadlines;
use crate::sys::descriptors;

/// Connections that may wait at a time until their client has closed its side.
const LINGERING: usize = 16_384;

/// The connections that are open, and those that only wait for their client to close.
#[derive(Debug)]
pub(crate) struct OpenConnections {
    counts: Rc<Counts>,
    deadlines: Rc<Deadlines>,
    /// `None`: as many as there are descriptors for.
    most: Option<usize>,
}

#[derive(Debug, Default)]
struct Counts {
    open: Cell<usize>,
    lingering: Cell<usize>,
    none_open: Notify,
}

impl OpenConnections {
    /// As many as there are descriptors for.
    pub(crate) fn new() -> OpenConnections {
        OpenConnections { counts: Rc::default(), deadlines: Rc::default(), most: None }
    }

    /// `most` at a time, out of descriptors that are kept for them.
    pub(crate) fn at_most(most: usize) -> OpenConnections {
        OpenConnections { most: Some(most), ..OpenConnections::new() }
    }

    /// The deadlines of these connections.
    pub(crate) fn deadlines(&self) -> &Rc<Deadlines> {
        &self.deadlines
    }

    /// Whether their number is limited by more than descriptors.
    pub(crate) fn is_limited(&self) -> bool {
        self.most.is_some()
    }

    /// How many others must be closed for a new connection on `socket`, so that files and backends, and
    /// above all the admin address, always find descriptors.
    pub(crate) fn too_many(&self, socket: impl AsFd) -> usize {
        match self.most {
            None => descriptors::taken_of_reserve(socket),
            Some(most) => (self.count() + 1).saturating_sub(most),
        }
    }

    /// Has `count` connections end that wait for a request, the longest idle first; and 1 in 128 of all
    /// beyond these, so that they are not searched for every newcomer. Returns how many end.
    pub(crate) fn give_up_idle(&self, count: usize) -> usize {
        self.deadlines.give_up(count + self.count() / 128)
    }

    /// How many connections are open.
    fn count(&self) -> usize {
        self.counts.open.get()
    }

    /// How many connections have a request that has begun, or a response that is under way.
    pub(crate) fn busy(&self) -> usize {
        self.count().saturating_sub(self.counts.lingering.get())
    }

    /// Counts a connection until what is returned is dropped.
    pub(crate) fn enter(&self) -> impl Drop + use<> {
        self.counts.open.set(self.counts.open.get() + 1);
        Entered(self.counts.clone())
    }

    /// A place among those that wait for their client to close, if there is one.
    pub(crate) fn linger(&self) -> Option<impl Drop + use<>> {
        let count = self.counts.lingering.get();
        (count < LINGERING).then(|| {
            self.counts.lingering.set(count + 1);
            Lingering(self.counts.clone())
        })
    }

    /// Waits until no connection is open.
    pub(crate) async fn until_none(&self) {
        while self.count() > 0 {
            self.counts.none_open.notified().await;
        }
    }
}

struct Entered(Rc<Counts>);

impl Drop for Entered {
    fn drop(&mut self) {
        self.0.open.set(self.0.open.get() - 1);
        if self.0.open.get() == 0 {
            self.0.none_open.notify_one();
        }
    }
}

struct Lingering(Rc<Counts>);

impl Drop for Lingering {
    fn drop(&mut self) {
        self.0.lingering.set(self.0.lingering.get() - 1);
    }
}
