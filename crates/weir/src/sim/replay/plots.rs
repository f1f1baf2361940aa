//! The plots of the page: backlog and response times over time, by size, and how they spread. It
//! does not know the page around them.

use weir_plot::{Axis, Plot, Series};
use weir_sched::PolicyKind;
use weir_stats::Samples;
use weir_stats::size::SizeBins;

use super::compare::Compared;
use crate::load::words::{bytes, round_time};

/// Parts of the time for which a median is drawn.
const MEDIANS: usize = 90;
/// A median of fewer responses is an accident.
const ENOUGH: usize = 5;
/// Shades closer than this share of the axis are drawn as one.
const TOGETHER: f64 = 0.004;

/// A policy has one colour in all plots.
pub(super) fn colour(policy: PolicyKind) -> usize {
    match policy {
        PolicyKind::Fair => 2,
        PolicyKind::Protective => 1,
        PolicyKind::Srpt => 0,
        PolicyKind::Fifo => 7,
        PolicyKind::Fsp => 4,
        PolicyKind::Psjf => 5,
        PolicyKind::Las => 3,
        PolicyKind::Bands | PolicyKind::Ageing => 6,
    }
}

/// Who is compared: name, response times, colour, and whether it is the first policy or today.
type Curve<'a> = (String, &'a [f64], usize, bool);

/// Today first; the first policy last, so that no other is drawn over it.
fn curves<'a>(compared: &'a Compared<'_>) -> Vec<Curve<'a>> {
    let today = ("today (fair)".to_owned(), &compared.fair[..], colour(PolicyKind::Fair), true);
    let mut all = vec![today];
    for (place, (policy, times)) in compared.policies.iter().enumerate().rev() {
        let first = place == 0;
        let name = if first { format!("weir ({policy})") } else { policy.to_string() };
        all.push((name, times, colour(*policy), first));
    }
    all
}

/// The requests that plots of response times are about: those that came while the uplink was full,
/// or all if it never was.
fn chosen(compared: &Compared<'_>) -> (Vec<usize>, &'static str) {
    let all = 0..compared.demand.asked.len();
    if compared.fullness.spans.is_empty() {
        return (all.collect(), "");
    }
    let full = all.filter(|&index| compared.fullness.is_full(compared.demand.asked[index].at));
    (full.collect(), " while the uplink was full")
}

/// All plots, in the order of the page.
pub(super) fn all(compared: &Compared<'_>) -> [Plot; 4] {
    [backlog(compared), over_time(compared), by_size(compared), distribution(compared)]
}

fn timed(compared: &Compared<'_>, title: &str, y: Axis) -> Plot {
    let until = compared.fullness.until;
    let (ticks, label) = compared.demand.clock.ticks(until);
    let mut plot = Plot::new(title, Axis::places(label, (0.0, until), ticks), y);
    plot.shade = "uplink full".to_owned();
    for &(from, to) in &compared.fullness.spans {
        let to = to.min(until);
        match plot.shaded.last_mut() {
            Some(last) if from - last.1 < TOGETHER * until => last.1 = to,
            _ => plot.shaded.push((from, to)),
        }
    }
    plot
}

fn backlog(compared: &Compared<'_>) -> Plot {
    let full = &compared.figures.full;
    let y = Axis::linear("time the uplink needs for what waits").written(short_seconds);
    let mut plot = timed(compared, "What waited for the uplink", y);
    let per_byte = full.peak_backlog_s / full.peak_backlog_bytes.max(1.0);
    let points = full.backlog.iter().map(|w| (w.at_s, w.bytes * per_byte));
    plot.series.push(Series::new("waiting", points.collect()).coloured(7, false).filled());
    plot
}

fn over_time(compared: &Compared<'_>) -> Plot {
    let y = Axis::log("median response time").written(round_time);
    let mut plot = timed(compared, "Response time over time", y);
    let requests = &compared.demand.asked;
    let until = compared.fullness.until;
    let part =
        |index: usize| ((requests[index].at / until * MEDIANS as f64) as usize).min(MEDIANS - 1);
    let all: Vec<usize> = (0..requests.len()).collect();
    for (name, times, colour, first) in curves(compared) {
        if first {
            let points = medians(&all, times, MEDIANS, part);
            let middle = |part: usize| (part as f64 + 0.5) / MEDIANS as f64 * until;
            let points = points.into_iter().enumerate().map(|(part, ms)| (middle(part), ms));
            plot.series.push(Series::with_gaps(name, points).coloured(colour, false));
        }
    }
    plot
}

fn by_size(compared: &Compared<'_>) -> Plot {
    let (chosen, when) = chosen(compared);
    let bins = SizeBins::new(4);
    let sizes = &compared.demand.sizes;
    let x = Axis::log("size of the body").written(bytes);
    let y = Axis::log("median response time").written(round_time);
    let mut plot = Plot::new(format!("Response time by size{when}"), x, y);
    for (name, times, colour, first) in curves(compared) {
        let found = medians(&chosen, times, bins.count(), |index| bins.index(sizes[index]));
        let points = found.into_iter().enumerate().filter_map(|(bin, ms)| {
            let (from, below) = bins.bounds(bin)?;
            let from = from.max(1) as f64;
            Some(((from * below.map_or(from, |below| below as f64)).sqrt(), ms?))
        });
        plot.series.push(Series::new(name, points.collect()).coloured(colour, !first));
    }
    plot
}

fn distribution(compared: &Compared<'_>) -> Plot {
    let (chosen, when) = chosen(compared);
    let x = Axis::log("response time").written(round_time);
    let y = Axis::linear("share of the requests that took no longer")
        .written(|share| format!("{:.0} %", share * 100.0));
    let mut plot = Plot::new(format!("How response times spread{when}"), x, y);
    for (name, times, colour, first) in curves(compared) {
        let samples = Samples::new(chosen.iter().map(|&index| times[index] * 1e3));
        let points = (0..=200).filter_map(|step| {
            let share = f64::from(step) / 200.0;
            Some((samples.percentile(share)?, share))
        });
        plot.series.push(Series::new(name, points.collect()).coloured(colour, !first));
    }
    plot
}

/// The median in milliseconds of those that `part` puts together; `None` of few.
fn medians(
    chosen: &[usize],
    times: &[f64],
    parts: usize,
    part: impl Fn(usize) -> usize,
) -> Vec<Option<f64>> {
    let mut grouped = vec![Vec::new(); parts];
    for &index in chosen {
        grouped[part(index)].push(times[index] * 1e3);
    }
    let median = |group: Vec<f64>| {
        if group.len() < ENOUGH { None } else { Samples::new(group).median() }
    };
    grouped.into_iter().map(median).collect()
}

/// Seconds on an axis.
fn short_seconds(seconds: f64) -> String {
    match seconds {
        0.0 => "0".to_owned(),
        s if s < 1.0 => round_time(s * 1e3),
        s => format!("{} s", (s * 10.0).round() / 10.0),
    }
}
