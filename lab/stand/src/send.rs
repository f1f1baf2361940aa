//! Load from weir-load that ends on Ctrl-C. Clients of servers on the stand are sent by it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use weir_load::{Demand, Live, Plan, Report};
use weir_peers::{Error, Result, interrupt};
use weir_stats::Record;

use crate::priority::BeforeOrdinary;

/// Between two looks whether the load is to end.
const LOOK: Duration = Duration::from_millis(20);

/// Send the demand from this thread, until all requests have ended or `end` is set; `record` gets each
/// request as it ends. Requests of an open loop have their times, so the thread comes before ordinary work
/// meanwhile. Not that of a closed loop: it may never rest, and then the kernel would stop it for 50 ms of
/// each second (sched(7), on limiting real-time processes).
///
/// # Errors
///
/// When the load cannot be sent, or on Ctrl-C.
pub fn send(
    plan: &Plan,
    demand: Demand,
    end: &AtomicBool,
    record: &mut dyn FnMut(Record),
) -> Result<Report> {
    let (live, over) = (Live::default(), AtomicBool::new(false));
    let report = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                let stop = interrupt::interrupted() || end.load(Ordering::Relaxed);
                live.stop.fetch_or(stop, Ordering::Relaxed);
                std::thread::sleep(LOOK);
            }
        });
        let report =
            first_if_open(&demand).map(|_first| weir_load::run(plan, demand, &live, record));
        over.store(true, Ordering::Relaxed);
        report
    });
    interrupt::check()?;
    report?.map_err(|e| Error(e.to_string()))
}

fn first_if_open(demand: &Demand) -> Result<Option<BeforeOrdinary>> {
    matches!(demand, Demand::Open(_)).then(BeforeOrdinary::begin).transpose()
}
