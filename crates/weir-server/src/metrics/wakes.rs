//! How many socket events a worker handles between two waits: many mean that it is busy. Connections
//! note the events, the worker takes their number.

use std::cell::Cell;

thread_local! {
    static EVENTS: Cell<u32> = const { Cell::new(0) };
}

/// A task of this thread goes on because its socket had something for it.
pub(crate) fn note_event() {
    EVENTS.with(|events| events.set(events.get().saturating_add(1)));
}

/// The events since the last call.
pub(crate) fn take_events() -> u32 {
    EVENTS.with(Cell::take)
}
