//! What was found about a server. Times are seconds. It is printed by `weir-lab blame`, kept as JSON by
//! the experiments, and made by the ledger.

use serde::{Deserialize, Serialize};

/// Where a server blocked while it was watched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Where the figures come from.
    pub method: Method,
    /// How long it was watched.
    pub seconds: f64,
    /// Whether all that was watched ended before the time was up.
    pub ended: bool,
    /// Tasks (threads) that were watched, the most at once.
    pub tasks: usize,
    /// Events that the kernel had no room for. After a gap, tasks count again from what /proc says of
    /// them; what they did in it is in no figure but `unknown_s`.
    pub lost_events: u64,
    /// Task seconds on a processor.
    pub processor_s: f64,
    /// Task seconds ready and without a processor. Sampling cannot tell them from the former.
    pub queued_s: f64,
    /// Task seconds of which nothing is known.
    pub unknown_s: f64,
    /// Events that were ready when an event loop woke; sampling cannot tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready: Option<Distribution>,
    /// Burstiness (Ruan & Pai 2006, section 3.2): share of the time with runnable ÷ all
    /// tasks 0; above 0 and up to 0.1; above 0.1 and up to 0.2; and so on up to 1. Of the time in which
    /// it is known of all tasks; none if there was no such time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runnable: Option<[f64; 11]>,
    /// The share of them that could run, on average over that time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_runnable: Option<f64>,
    /// Calls that blocked and ought not to, those with the longest total first.
    pub blocked: Vec<Blocked>,
    /// Waits for work, for clients and for other programs.
    pub waiting: Vec<Blocked>,
    /// The longest time between two waits of an event loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest_turn: Option<Turn>,
}

/// Where the figures come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Every system call and every switch, by the kernel's tracepoints.
    Tracepoints,
    /// /proc, looked at so often. Shorter stretches are seen by chance; equal calls that follow one
    /// another may be taken for one.
    Sampled {
        /// Looks at each task, per second.
        per_second: f64,
        /// Why there are no tracepoints.
        because: String,
    },
}

/// Time off the processor in one call on one file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Blocked {
    /// The name of the system call, or `page fault` outside of all.
    pub call: String,
    /// The file's path, `socket`, `pipe`, or as the kernel calls it. None: the call has no file, or it
    /// could not be read any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Whether the task runs an event loop, so that all its connections waited.
    pub in_event_loop: bool,
    /// Calls that blocked, once or several times each.
    pub calls: u64,
    /// From when tasks left the processor to when they could run again.
    pub total_s: f64,
    /// Of one call, in the mean.
    pub mean_s: f64,
    /// Of one call, the longest.
    pub longest_s: f64,
}

/// How many events were ready when event loops woke (Ruan & Pai 2006, section 3.1).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// Returns with events; all figures are of these.
    pub count: u64,
    /// Returns without: the time was up, or nothing was asked but to look.
    pub empty: u64,
    /// Returns with an error: signals, mostly.
    pub failed: u64,
    /// Events, in the mean; 0 if there are none.
    pub mean: f64,
    /// The least number that half of the returns do not exceed.
    pub median: u64,
    /// The least number that 90 % of the returns do not exceed.
    pub p90: u64,
    /// The most.
    pub max: u64,
    /// Share of the returns with more than 100.
    pub above_100: f64,
    /// Each number that occurred and how often, ascending: for plots.
    pub counts: Vec<(u64, u64)>,
}

/// What an event loop did from the return of one wait to the next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Turn {
    /// The thread.
    pub task: u32,
    /// When it began, in seconds since the watch did.
    pub at_s: f64,
    /// How long it was.
    pub seconds: f64,
    /// Whether it had not ended when the watch did.
    pub unfinished: bool,
    /// Of it, ready and without a processor.
    pub queued_s: f64,
    /// Of it, off the processor in calls, the longest total first.
    pub blocked: Vec<Blocked>,
}

impl Report {
    /// Share of the time in which no task was runnable.
    pub fn none_runnable(&self) -> Option<f64> {
        self.runnable.map(|shares| shares[0])
    }

    /// Share of the time in which more than 80 % of the tasks were runnable.
    pub fn most_runnable(&self) -> Option<f64> {
        self.runnable.map(|shares| shares[9] + shares[10])
    }
}

impl Blocked {
    /// Rows for each call alone, whatever the path, in the order of their totals. The rows stay apart
    /// by whether they were in an event loop.
    pub fn by_call<'a>(rows: impl IntoIterator<Item = &'a Blocked>) -> Vec<Blocked> {
        let mut sums: Vec<Blocked> = Vec::new();
        for row in rows {
            let same = |sum: &&mut Blocked| {
                (&sum.call, sum.in_event_loop) == (&row.call, row.in_event_loop)
            };
            match sums.iter_mut().find(same) {
                None => sums.push(Blocked { path: None, ..row.clone() }),
                Some(sum) => {
                    sum.calls += row.calls;
                    sum.total_s += row.total_s;
                    sum.longest_s = sum.longest_s.max(row.longest_s);
                    sum.mean_s = sum.total_s / sum.calls as f64;
                }
            }
        }
        Blocked::sort(&mut sums);
        sums
    }

    /// The longest total first; equal ones by name, so that equal events make equal reports.
    pub(crate) fn sort(rows: &mut [Blocked]) {
        rows.sort_by(|a, b| {
            let names =
                || (&a.call, &a.path, a.in_event_loop).cmp(&(&b.call, &b.path, b.in_event_loop));
            b.total_s.total_cmp(&a.total_s).then_with(names)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(call: &str, path: &str, in_event_loop: bool, calls: u64, total_s: f64) -> Blocked {
        let mean_s = total_s / calls as f64;
        let path = Some(path.to_owned());
        Blocked {
            call: call.into(),
            path,
            in_event_loop,
            calls,
            total_s,
            mean_s,
            longest_s: total_s,
        }
    }

    #[test]
    fn calls_are_summed_over_paths_but_not_over_kinds_of_tasks() {
        let rows = [
            row("openat", "/a", true, 1, 0.5),
            row("sendfile", "/a", true, 1, 0.75),
            row("openat", "/b", true, 3, 0.5),
            row("openat", "/b", false, 1, 0.25),
        ];
        let sums = Blocked::by_call(&rows);
        let names: Vec<_> = sums.iter().map(|sum| (sum.call.as_str(), sum.in_event_loop)).collect();
        assert_eq!(names, [("openat", true), ("sendfile", true), ("openat", false)]);
        assert_eq!((sums[0].calls, sums[0].total_s, sums[0].mean_s), (4, 1.0, 0.25));
        assert_eq!((sums[0].longest_s, &sums[0].path), (0.5, &None));
    }
}
