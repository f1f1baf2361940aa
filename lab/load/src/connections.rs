//! The connections that are open or being opened, and which of them are idle. The engine keeps one
//! such set for a run.

use slab::Slab;

use crate::http1::Response;
use crate::read_lag::ReadLag;
use crate::stream::Stream;

/// What a connection is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// TCP's handshake is not complete.
    Connecting,
    /// A request is under way on it.
    Busy,
    /// It waits for a request.
    Idle,
    /// Its last response has come; the server is to close first, so that the port is free again.
    Closing,
}

/// One connection.
pub(crate) struct Connection {
    pub(crate) stream: Stream,
    pub(crate) state: State,
    /// The request that is under way on it.
    pub(crate) task: Option<usize>,
    /// Requests it has been given.
    pub(crate) carried: u32,
    pub(crate) response: Response,
    pub(crate) slow: bool,
    /// Of the response that is under way on it.
    pub(crate) read_lag: ReadLag,
    /// Requests of the same group can share it.
    group: usize,
    /// Where it stands among the idle ones of its group.
    position: usize,
    serial: u32,
}

/// All connections of a run.
#[derive(Default)]
pub(crate) struct Connections {
    slab: Slab<Connection>,
    /// By group, the latest used last.
    idle: Vec<Vec<usize>>,
    made: u64,
    most: usize,
}

impl Connections {
    /// Add one that is being made for `task` since `now`; its index.
    pub(crate) fn add(
        &mut self,
        stream: Stream,
        task: usize,
        class: u16,
        slow: bool,
        now: f64,
    ) -> usize {
        let index = self.slab.insert(Connection {
            stream,
            state: State::Connecting,
            task: Some(task),
            carried: 0,
            response: Response::new(None),
            slow,
            read_lag: ReadLag::new(now, slow),
            group: group(class, slow),
            position: 0,
            serial: self.made as u32,
        });
        self.made += 1;
        self.most = self.most.max(self.slab.len());
        index
    }

    /// A name that no later connection with the same index has.
    pub(crate) fn key(&self, index: usize) -> u64 {
        let serial = self.slab.get(index).map_or(0, |connection| connection.serial);
        u64::from(serial) << 32 | index as u64
    }

    /// The index that belongs to a key, while the connection exists.
    pub(crate) fn find(&self, key: u64) -> Option<usize> {
        let index = (key & u64::from(u32::MAX)) as usize;
        let serial = (key >> 32) as u32;
        self.slab.get(index).filter(|connection| connection.serial == serial).map(|_| index)
    }

    pub(crate) fn get(&mut self, index: usize) -> Option<&mut Connection> {
        self.slab.get_mut(index)
    }

    /// Take an idle connection, the one used last.
    pub(crate) fn take_idle(&mut self, class: u16, slow: bool) -> Option<usize> {
        self.idle.get_mut(group(class, slow))?.pop()
    }

    /// A connection has become idle.
    pub(crate) fn put_idle(&mut self, index: usize) {
        let Some(connection) = self.slab.get_mut(index) else { return };
        if connection.group >= self.idle.len() {
            self.idle.resize_with(connection.group + 1, Vec::new);
        }
        let group = &mut self.idle[connection.group];
        connection.state = State::Idle;
        connection.position = group.len();
        group.push(index);
    }

    /// Take one out; dropping it closes it.
    pub(crate) fn remove(&mut self, index: usize) -> Option<Connection> {
        let connection = self.slab.try_remove(index)?;
        if connection.state == State::Idle {
            let group = &mut self.idle[connection.group];
            group.swap_remove(connection.position);
            if let Some(moved) = group.get(connection.position)
                && let Some(other) = self.slab.get_mut(*moved)
            {
                other.position = connection.position;
            }
        }
        Some(connection)
    }

    pub(crate) fn open(&self) -> usize {
        self.slab.len()
    }

    /// Most open at once.
    pub(crate) fn most(&self) -> u64 {
        self.most as u64
    }

    /// Made so far.
    pub(crate) fn made(&self) -> u64 {
        self.made
    }
}

fn group(class: u16, slow: bool) -> usize {
    usize::from(class) * 2 + usize::from(slow)
}
