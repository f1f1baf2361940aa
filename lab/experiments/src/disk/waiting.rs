//! How many disk jobs of weir wait while load comes, by its own metrics. The bench asks for them in
//! saturation.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use weir_peers::interrupt;
use weir_peers::probe::metrics;

/// So far apart are two looks.
const APART: Duration = Duration::from_secs(1);
/// What waits: jobs in the queues of the disks, and those that helpers are doing.
const WAITING: [&str; 2] = ["weir_disk_queued_jobs ", "weir_disk_jobs_under_way "];

/// The most that were seen at once until `end` was set; nothing if the server never said.
pub(super) fn most(admin: SocketAddr, end: &AtomicBool) -> Option<u64> {
    let mut most = None;
    while !end.load(Ordering::Relaxed) {
        // A look that fails is left out: the queue grows for seconds, so the next one sees nearly as many.
        most = most.max(metrics(admin).ok().as_deref().and_then(waiting));
        if interrupt::sleep(APART).is_err() {
            break;
        }
    }
    most
}

fn waiting(metrics: &str) -> Option<u64> {
    let of = |name: &str| -> Option<u64> {
        metrics.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
    };
    WAITING.into_iter().map(of).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queued_jobs_and_those_under_way_wait() {
        let text = "# TYPE weir_disk_queued_jobs gauge\nweir_disk_queued_jobs 369\n\
                    weir_disk_jobs_limit 4\nweir_disk_jobs_under_way 2\n";
        assert_eq!(waiting(text), Some(371));
        assert_eq!(waiting("weir_disk_queued_jobs 369\n"), None);
    }
}
