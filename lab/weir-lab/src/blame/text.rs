//! A report of `weir-lab blame` as text.

use std::fmt::Write as _;

use weir_blame::{Blocked, Distribution, Method, Report, Turn};

use crate::print::table;
use crate::words::{count, percent, time};

/// The whole report; each table with its calls and at most so many files.
pub(crate) fn of(report: &Report, files: usize) -> String {
    let mut text = head(report);
    let of_loops = |row: &&Blocked| row.in_event_loop;
    let (loops, others): (Vec<_>, Vec<_>) = report.blocked.iter().partition(of_loops);
    let title = "Blocked in event loops: each call keeps all connections of its thread waiting";
    text += &blocked(title, &loops, files);
    text += &blocked("Blocked in other threads and processes", &others, files);
    text += &waiting(&report.waiting);
    if let Some(ready) = &report.ready {
        text += &events(ready);
    }
    text += &runnable(report);
    match &report.longest_turn {
        Some(turn) => text += &longest(turn, files),
        None => text += "\nNo turn of an event loop was seen from beginning to end.\n",
    }
    text
}

fn head(report: &Report) -> String {
    let mut text = match &report.method {
        Method::Tracepoints => "every call, by tracepoints".to_owned(),
        Method::Sampled { per_second, because } => {
            format!("sampled: {per_second:.0} looks at each thread a second ({because})")
        }
    };
    let _ = write!(text, "\n{}, {} threads", time(report.seconds * 1e3), report.tasks);
    if report.ended {
        text += ", all of which have ended";
    }
    let _ = writeln!(
        text,
        "; {} on a processor, {} ready without one",
        time(report.processor_s * 1e3),
        time(report.queued_s * 1e3)
    );
    if report.lost_events > 0 {
        let _ = writeln!(
            text,
            "LOST  {} events: {} of thread time is in no figure; watch for a shorter time, or when the \
             machine does less",
            count(report.lost_events),
            time(report.unknown_s * 1e3)
        );
    }
    text
}

/// The calls of these rows, then the files with the longest totals.
fn blocked(title: &str, rows: &[&Blocked], files: usize) -> String {
    let mut text = format!("\n{title}\n");
    if rows.is_empty() {
        return text + "  none\n";
    }
    let mut lines = vec![heads("call")];
    let same: Vec<Blocked> = rows.iter().map(|&row| row.clone()).collect();
    lines.extend(Blocked::by_call(&same).iter().map(|row| cells(row, name(row, false))));
    text += &table(&lines);
    let named: Vec<&&Blocked> = rows.iter().filter(|row| row.path.is_some()).collect();
    if files == 0 || named.is_empty() {
        return text;
    }
    let mut lines = vec![heads("file")];
    lines.extend(named.iter().take(files).map(|row| cells(row, name(row, true))));
    text += "\n";
    text += &table(&lines);
    if named.len() > files {
        let _ = writeln!(text, "and {} more; --files N or --json shows them", named.len() - files);
    }
    text
}

/// The calls of these waits, and whose they were: a loop that waits for a lock keeps its connections
/// waiting, a helper does not.
fn waiting(rows: &[Blocked]) -> String {
    let mut text = "\nWaiting for work, clients and other programs\n".to_owned();
    if rows.is_empty() {
        return text + "  none\n";
    }
    let whose = |row: &Blocked| if row.in_event_loop { "event loops" } else { "others" };
    let mut lines = vec![heads("call")];
    let named = |row: &Blocked| cells(row, format!("{} ({})", row.call, whose(row)));
    lines.extend(Blocked::by_call(rows).iter().map(named));
    text += &table(&lines);
    text
}

fn heads(first: &str) -> Vec<String> {
    [first, "calls", "total", "mean", "longest"].map(str::to_owned).to_vec()
}

/// A line of a table under [`heads`].
fn cells(row: &Blocked, name: String) -> Vec<String> {
    let times = [row.total_s, row.mean_s, row.longest_s].map(|seconds| time(seconds * 1e3));
    [vec![name, count(row.calls)], times.to_vec()].concat()
}

/// The call, and its file. Clients choose names of files, and terminals obey control characters.
fn name(row: &Blocked, with_file: bool) -> String {
    match &row.path {
        Some(path) if with_file => {
            let plain = |c: char| if c.is_control() { '\u{fffd}' } else { c };
            format!("{} {}", row.call, path.chars().map(plain).collect::<String>())
        }
        _ => row.call.clone(),
    }
}

fn events(ready: &Distribution) -> String {
    let mut text = "\nReady events per wake of an event loop\n".to_owned();
    let _ = writeln!(
        text,
        "  {} wakes: median {}, mean {:.2}, 90 % {}, most {}; above 100: {}",
        count(ready.count),
        ready.median,
        ready.mean,
        ready.p90,
        ready.max,
        percent(ready.above_100)
    );
    let (empty, failed) = (count(ready.empty), count(ready.failed));
    let _ = writeln!(text, "  {empty} returns without events, {failed} with an error");
    text
}

fn runnable(report: &Report) -> String {
    let mut text = "\nRunnable threads: share of the time\n".to_owned();
    let (Some(none), Some(most), Some(shares)) =
        (report.none_runnable(), report.most_runnable(), report.runnable)
    else {
        text += "  unknown: at no time was it known of all of them\n";
        return text;
    };
    let (none, most) = (percent(none), percent(most));
    let _ = writeln!(text, "  none {none}, more than 80 % of them {most}");
    let bins = shares.iter().enumerate().skip(1);
    let bins = bins.map(|(bin, share)| format!("to {} %: {}", bin * 10, percent(*share)));
    let _ = writeln!(text, "  {}", bins.collect::<Vec<_>>().join(", "));
    text
}

fn longest(turn: &Turn, files: usize) -> String {
    let mut text = "\nThe longest turn of an event loop\n".to_owned();
    // A sum of nothing would be -0.
    let off = turn.blocked.iter().fold(0.0, |sum, row| sum + row.total_s);
    let _ = writeln!(
        text,
        "  {} in thread {}, {} after the beginning{}",
        time(turn.seconds * 1e3),
        turn.task,
        time(turn.at_s * 1e3),
        if turn.unfinished { ", not over at the end" } else { "" }
    );
    let processor = (turn.seconds - off - turn.queued_s).max(0.0);
    let _ = writeln!(
        text,
        "  {} off the processor in calls, {} ready without a processor, {} on it",
        time(off * 1e3),
        time(turn.queued_s * 1e3),
        time(processor * 1e3)
    );
    for row in turn.blocked.iter().take(files.max(1)) {
        let _ = writeln!(text, "  {}  {}", time(row.total_s * 1e3), name(row, true));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(call: &str, path: Option<&str>, in_event_loop: bool, total_s: f64) -> Blocked {
        let path = path.map(str::to_owned);
        let (calls, mean_s, longest_s) = (2, total_s / 2.0, total_s);
        Blocked { call: call.into(), path, in_event_loop, calls, total_s, mean_s, longest_s }
    }

    fn report() -> Report {
        Report {
            method: Method::Sampled { per_second: 500.0, because: "a test".into() },
            seconds: 2.0,
            ended: true,
            tasks: 3,
            lost_events: 12,
            processor_s: 0.5,
            queued_s: 0.25,
            unknown_s: 0.125,
            ready: Some(Distribution { count: 4, median: 1, max: 7, ..Distribution::default() }),
            runnable: Some([0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.25, 0.25]),
            mean_runnable: Some(0.45),
            blocked: vec![
                row("openat", Some("/srv/\u{1b}[31mred"), true, 0.25),
                row("pread64", Some("/srv/helper"), false, 0.125),
            ],
            waiting: vec![
                row("epoll_wait", None, true, 1.0),
                row("futex", None, true, 0.5),
                row("futex", None, false, 0.25),
            ],
            longest_turn: Some(Turn {
                task: 9,
                at_s: 1.0,
                seconds: 0.5,
                unfinished: true,
                queued_s: 0.0625,
                blocked: vec![row("openat", Some("/srv/a"), true, 0.25)],
            }),
        }
    }

    #[test]
    fn a_turn_that_never_left_the_processor_has_no_less_than_nothing_off_it() {
        let mut turn = report().longest_turn.expect("it has one");
        turn.blocked.clear();
        let text = longest(&turn, 10);
        assert!(text.contains("\n  0 \u{b5}s off the processor"), "{text}");
    }

    #[test]
    fn all_that_was_found_is_told() {
        let text = of(&report(), 10);
        for words in [
            "sampled: 500 looks at each thread a second (a test)",
            "all of which have ended",
            "LOST  12 events",
            "openat /srv/\u{fffd}[31mred",
            "pread64 /srv/helper",
            "\nepoll_wait (event loops)",
            "\nfutex (event loops)",
            "\nfutex (others)",
            "4 wakes: median 1",
            "none 50.0 %, more than 80 % of them 50.0 %",
            "500 ms in thread 9, 1.00 s after the beginning, not over at the end",
            "250 ms off the processor in calls, 62.5 ms ready without a processor, 188 ms on it",
        ] {
            assert!(text.contains(words), "no `{words}` in\n{text}");
        }
        let helper = text.find("Blocked in other threads").expect("a second table");
        assert!(text.find("openat") < Some(helper) && text.find("pread64") > Some(helper));
    }

    #[test]
    fn files_beyond_the_most_are_counted() {
        let mut report = report();
        report.blocked.push(row("openat", Some("/srv/b"), true, 0.125));
        let text = of(&report, 1);
        assert!(!text.contains("/srv/b") && text.contains("and 1 more"), "{text}");
    }
}
