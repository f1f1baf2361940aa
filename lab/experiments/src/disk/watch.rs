//! A server's wakes and processes while it works, as `weir-lab blame` sees them. The bench watches in
//! phases of their own, since it takes processor time.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use weir_blame::{Distribution, Method, Options, Report, watch};
use weir_peers::Result;

use crate::outcome::{Observed, Ready};

/// Watch this process and all that it starts for so many seconds, or until `end` is set; nothing where
/// there are no tracepoints, since sampling sees no wakes and short stretches by chance only.
///
/// # Errors
///
/// When the process cannot be watched, or watching breaks off.
pub(super) fn server(process: u32, seconds: f64, end: &AtomicBool) -> Result<Option<Observed>> {
    let options = Options { duration: Duration::from_secs_f64(seconds), sample: false };
    let report = watch(&[process], &options, &|| end.load(Ordering::Relaxed))?;
    Ok(observed(report))
}

fn observed(report: Report) -> Option<Observed> {
    let Report { method, lost_events, ready, runnable, mean_runnable, .. } = report;
    let ready = ready.filter(|wakes| wakes.count > 0).map(ready_events);
    (method == Method::Tracepoints).then_some(Observed {
        ready,
        runnable,
        mean_runnable,
        lost_events,
    })
}

fn ready_events(wakes: Distribution) -> Ready {
    let Distribution { mean, median, max, above_100, counts, .. } = wakes;
    Ready { mean, median: median as f64, most: max as f64, above_100, counts }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(method: Method, wakes: u64) -> Report {
        let counts = vec![(1, 6), (3, 2), (7, 1)];
        let ready =
            Distribution { count: wakes, mean: 2.5, max: 7, counts, ..Distribution::default() };
        Report {
            method,
            seconds: 1.0,
            ended: false,
            tasks: 1,
            lost_events: 3,
            processor_s: 0.5,
            queued_s: 0.0,
            unknown_s: 0.0,
            ready: Some(ready),
            runnable: None,
            mean_runnable: None,
            blocked: Vec::new(),
            waiting: Vec::new(),
            longest_turn: None,
        }
    }

    #[test]
    fn wakes_are_those_of_a_loop_and_seen_by_tracepoints_only() {
        let seen = observed(report(Method::Tracepoints, 9)).expect("tracepoints");
        let ready = seen.ready.expect("wakes");
        assert_eq!((ready.mean, ready.most, seen.lost_events), (2.5, 7.0, 3));
        assert_eq!(
            [0.1, 0.66, 0.67, 0.88, 0.89, 1.0].map(|at| ready.at(at)),
            [1.0, 1.0, 3.0, 3.0, 7.0, 7.0]
        );
        let without = observed(report(Method::Tracepoints, 0)).expect("tracepoints");
        assert_eq!(without.ready, None);
        let sampled = Method::Sampled { per_second: 1000.0, because: "a container".into() };
        assert_eq!(observed(report(sampled, 9)), None);
    }
}
