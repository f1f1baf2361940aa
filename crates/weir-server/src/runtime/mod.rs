//! The runtime of a worker (one thread of tokio), its turns, how long requests wait for a gate, and the steps
//! in which the server stops. Used by everything that runs on a worker.

use std::io;
use std::sync::Arc;

use tokio::runtime::{Builder, LocalOptions, LocalRuntime};

use crate::metrics::{Metrics, take_events};

pub(crate) mod stop;
pub(crate) mod turn;
pub(crate) mod turnstile;
pub(crate) mod wait;

/// How many turns are taken before sockets are looked at again.
const TURNS: u32 = 128;

/// A runtime of one thread that counts socket events between two waits.
pub(crate) fn build(metrics: &Arc<Metrics>) -> io::Result<LocalRuntime> {
    let metrics = metrics.clone();
    Builder::new_current_thread()
        .enable_all()
        .on_thread_park(move || {
            let events = take_events();
            if events > 0 {
                metrics.events_per_wake.observe(f64::from(events));
            }
        })
        .event_interval(TURNS)
        .build_local(LocalOptions::default())
}
