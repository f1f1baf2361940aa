//! What a source tells of the tasks (threads) that are watched. The ledger is made of these alone, so
//! it can be tested without a kernel.

/// A system call under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    /// As the kernel numbers calls on this architecture.
    pub(crate) number: i64,
    pub(crate) arguments: [u64; 6],
}

/// Where the instruction pointer of a task is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inside {
    /// Nobody has said.
    Unknown,
    /// In the program; it enters the kernel by page faults only.
    Program,
    Call(Call),
}

/// What the scheduler does with a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It has a processor, or waits for one.
    Runnable,
    /// It sleeps until something happens or a signal comes: events, sockets, pipes, locks of the
    /// program. Stopped and traced tasks are taken for such.
    Interruptible,
    /// It sleeps until the kernel is done: disks, locks inside the kernel.
    Uninterruptible,
}

/// What happened to a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// /proc says so; of use where events have not told better.
    Found { state: State, inside: Inside },
    /// /proc says so, and there are no other events.
    Sampled { state: State, inside: Inside },
    /// It enters a system call.
    Enters(Call),
    /// It returns from a system call.
    Returns { number: i64, value: i64 },
    /// It leaves its processor.
    Stops(State),
    /// It gets a processor.
    Runs,
    /// It may run again.
    Wakes,
    /// It starts another task, which is watched, too.
    Forks { child: u32 },
    /// It ends.
    Ends,
}

/// An event with its time and its task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    /// Nanoseconds of the monotonic clock.
    pub(crate) at: u64,
    /// The kernel's id of the thread.
    pub(crate) task: u32,
    pub(crate) event: Event,
}
