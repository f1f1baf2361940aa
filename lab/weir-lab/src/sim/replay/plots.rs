//! The plots of the page: backlog and response times over time, by size, and their distribution.
//! Used by [`page`](super::page).

use weir_plot::{Axis, COLOURS, Plot, Series};
use weir_sched::{PolicyKind, policy};
use weir_stats::Samples;
use weir_stats::size::SizeBins;

use super::compare::Compared;
use crate::words::{bytes, round_time};

/// Parts of the time for which a median is drawn.
const MEDIANS: usize = 90;
/// A median of fewer responses is an accident.
const ENOUGH: usize = 5;
/// Parts of the time in each of which spans too short to be seen are shaded together, or not.
const SHADES: usize = 240;

/// A policy has one colour in all plots.
pub(super) fn colour(policy: PolicyKind) -> usize {
    // Today is on every plot: its colour is nobody else's.
    if policy == policy::FAIR { 0 } else { 1 + policy.place() % (COLOURS - 1) }
}

/// Who is compared: name, response times, colour, and whether it is the first policy or today.
type Curve<'a> = (String, &'a [f64], usize, bool);

/// Today first; the first policy last, so that no other is drawn over it.
fn curves<'a>(compared: &'a Compared<'_>) -> Vec<Curve<'a>> {
    let today = ("today (fair)".to_owned(), &compared.fair[..], colour(policy::FAIR), true);
    let mut all = vec![today];
    for (place, (policy, times)) in compared.policies.iter().enumerate().rev() {
        let first = place == 0;
        let name = if first { format!("weir ({policy})") } else { policy.to_string() };
        all.push((name, times, colour(*policy), first));
    }
    all
}

/// The requests that plots of response times are about: those that came while the uplink was full,
/// or all if none did.
fn chosen(compared: &Compared<'_>) -> (Vec<usize>, &'static str) {
    let all = 0..compared.demand.asked.len();
    let is_full = |&index: &usize| compared.fullness.is_full(compared.demand.asked[index].at);
    let full: Vec<usize> = all.clone().filter(is_full).collect();
    match full.is_empty() {
        true => (all.collect(), ""),
        false => (full, " while the uplink was full"),
    }
}

/// All plots, in the order of the page.
pub(super) fn all(compared: &Compared<'_>) -> Vec<Plot> {
    let more = [over_time(compared), by_size(compared), distribution(compared)];
    backlog(compared).into_iter().chain(more).collect()
}

fn timed(compared: &Compared<'_>, title: &str, y: Axis) -> Plot {
    let until = compared.fullness.until;
    let (ticks, label) = compared.clock.ticks(until);
    let mut plot = Plot::new(title, Axis::places(label, (0.0, until), ticks), y);
    plot.shade = "uplink full".to_owned();
    plot.shaded = shades(&compared.fullness.spans, until);
    plot
}

/// Spans as they are shaded. Those too short to be seen are counted part by part: one that is at
/// least half full is shaded, another shows the first of its spans.
fn shades(spans: &[(f64, f64)], until: f64) -> Vec<(f64, f64)> {
    let width = until / SHADES as f64;
    let part = |at: f64| ((at / width) as usize).min(SHADES - 1);
    let mut all = Vec::new();
    let mut parts: Vec<(f64, Option<(f64, f64)>)> = vec![(0.0, None); SHADES];
    for &(from, to) in spans {
        let to = to.min(until);
        let long = to - from >= width;
        if long {
            all.push((from, to));
        }
        for (place, (filled, first)) in (part(from)..).zip(&mut parts[part(from)..=part(to)]) {
            let begin = place as f64 * width;
            *filled += (to.min(begin + width) - from.max(begin)).max(0.0);
            if !long && place == part(from) {
                first.get_or_insert((from, to));
            }
        }
    }
    for (place, (filled, first)) in parts.into_iter().enumerate() {
        let begin = place as f64 * width;
        match first {
            Some(_) if filled >= width / 2.0 => all.push((begin, begin + width)),
            first => all.extend(first),
        }
    }
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut shades: Vec<(f64, f64)> = Vec::new();
    for (from, to) in all {
        match shades.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => shades.push((from, to)),
        }
    }
    shades
}

/// Nothing where it is not known what waits for the uplink.
fn backlog(compared: &Compared<'_>) -> Option<Plot> {
    let full = &compared.figures.full;
    let peak = full.peak?;
    let y = Axis::linear("time the uplink needs for what waits").written(short_seconds);
    let mut plot = timed(compared, "What waited for the uplink", y);
    let per_byte = peak.peak_backlog_s / peak.peak_backlog_bytes.max(1.0);
    let points = full.backlog.iter().map(|w| (w.at_s, w.bytes * per_byte));
    plot.series.push(Series::new("waiting", points.collect()).coloured(7, false).filled());
    Some(plot)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_spans_far_apart_do_not_shade_a_plot() {
        // A second in each of 240 parts of ten: a line each, a tenth of the plot.
        let seldom: Vec<_> = (0..240).map(|i| f64::from(i) * 10.0).map(|s| (s, s + 1.0)).collect();
        let shaded: f64 = shades(&seldom, 2400.0).iter().map(|(from, to)| to - from).sum();
        assert!((shaded - 240.0).abs() < 1e-6, "{shaded}");
        // Every other second is half of it: all is shaded, once.
        let often: Vec<_> = (0..1200).map(|i| f64::from(i) * 2.0).map(|s| (s, s + 1.0)).collect();
        assert_eq!(shades(&often, 2400.0), [(0.0, 2400.0)]);
        // What is long stays as it is, and so does one line in hours.
        assert_eq!(
            shades(&[(5.0, 46.0), (1000.0, 1001.0)], 2400.0),
            [(5.0, 46.0), (1000.0, 1001.0)]
        );
        assert_eq!(shades(&[(1.0, 2.0)], 1.5), [(1.0, 1.5)]);
    }
}
