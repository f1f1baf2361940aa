//! The replay as text for a terminal.

use std::fmt::Write as _;

use super::clock::long;
use super::compare::Compared;
use super::figures::{SizeClass, Times};
use super::shares::share;
use super::verdict;
use crate::print::table;
use crate::words::{bytes, count, size_range, time};

/// Parts of the line that shows the backlog.
const PARTS: usize = 60;

/// The whole text.
pub(super) fn text(compared: &Compared<'_>) -> String {
    let figures = &compared.figures;
    let mut text = verdict::sentence(compared) + "\n\n";
    let clock = &compared.clock;
    let _ = writeln!(
        text,
        "log      {}, {}: {} requests, {} of bodies, {}",
        figures.log,
        figures.format,
        count(figures.requests),
        bytes(figures.body_bytes),
        clock.span_and_day((0.0, figures.span_s)),
    );
    let _ = writeln!(text, "uplink   {}", verdict::uplink(compared));
    let _ = writeln!(text, "full     {}", verdict::fullness(compared));
    for span in figures.full.longest.iter().take(5) {
        let long = long(span.to_s - span.from_s);
        let _ = writeln!(text, "         {} ({long})", clock.span((span.from_s, span.to_s)));
    }
    if figures.full.longest.len() > 5 {
        let _ = writeln!(text, "         … (--json lists more)");
    }
    if let Some(peak) = verdict::peak(compared) {
        let _ = writeln!(text, "backlog  {}  at most {peak}", bars(compared));
    }
    let _ = write!(text, "\n{}", table(&policies(compared)));
    for (name, of) in
        [("mean", mean as fn(&SizeClass) -> f64), ("99th percentile", p99 as fn(&SizeClass) -> f64)]
    {
        let _ = write!(text, "\n{name} by size of the body\n{}", table(&sizes(compared, of)));
    }
    text.push('\n');
    for line in verdict::assumptions(compared) {
        let _ = writeln!(text, "- {line}");
    }
    text
}

fn mean(class: &SizeClass) -> f64 {
    class.response_ms_mean
}

fn p99(class: &SizeClass) -> f64 {
    class.response_ms_p99
}

/// The backlog over time as blocks.
fn bars(compared: &Compared<'_>) -> String {
    const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let backlog = &compared.figures.full.backlog;
    let most = compared.figures.full.peak.map_or(1.0, |peak| peak.peak_backlog_bytes.max(1.0));
    let each = backlog.len().div_ceil(PARTS).max(1);
    let parts = backlog.chunks(each);
    let parts = parts.map(|part| part.iter().map(|waiting| waiting.bytes).fold(0.0, f64::max));
    parts.map(|bytes| BLOCKS[((bytes / most * 8.0).ceil() as usize).min(8)]).collect()
}

fn policies(compared: &Compared<'_>) -> Vec<Vec<String>> {
    let figures = &compared.figures;
    let full = figures.fair.while_full.is_some();
    let largest = format!("largest ({})", bytes(figures.fair.largest_response_bytes as f64));
    let mut head = vec!["", "mean", "median", "p95", "p99"];
    if full {
        head.extend(["full: mean", "full: median"]);
    }
    head.extend([largest.as_str(), "sooner", "later", "latest by"]);
    let row = |name: &str, times: &Times, more: [String; 3]| {
        let mut row = vec![name.to_owned()];
        row.extend(
            [
                times.response_ms_mean,
                times.response_ms_p50,
                times.response_ms_p95,
                times.response_ms_p99,
            ]
            .map(time),
        );
        if let Some(full) = times.while_full {
            row.extend([full.response_ms_mean, full.response_ms_p50].map(time));
        }
        row.push(time(times.largest_response_s * 1e3));
        row.extend(more);
        row
    };
    let mut rows = vec![head.into_iter().map(str::to_owned).collect()];
    rows.push(row("fair (today)", &figures.fair, ["", "", ""].map(str::to_owned)));
    for policy in &figures.policies {
        let shares = [policy.faster_percent, policy.slower_percent];
        let [faster, slower] = shares.map(|per_cent| share(per_cent, figures.requests));
        let latest = verdict::latest(policy).unwrap_or_else(|| "-".to_owned());
        rows.push(row(policy.policy, &policy.times, [faster, slower, latest]));
    }
    rows
}

fn sizes(compared: &Compared<'_>, of: impl Fn(&SizeClass) -> f64) -> Vec<Vec<String>> {
    let figures = &compared.figures;
    let mut head = vec!["".to_owned(), "requests".to_owned(), "fair".to_owned()];
    head.extend(figures.policies.iter().map(|policy| policy.policy.to_owned()));
    let mut rows = vec![head];
    for (place, class) in figures.fair.by_size.iter().enumerate() {
        let mut row = vec![
            size_range(class.from_bytes, class.below_bytes),
            count(class.requests),
            time(of(class)),
        ];
        let classes = figures.policies.iter().filter_map(|p| p.times.by_size.get(place));
        row.extend(classes.map(|class| time(of(class))));
        rows.push(row);
    }
    rows
}
