//! Means, shares in % and rates of counts, for [`super::counts`] and the results of both models.

/// A mean; `None` of nothing.
pub(crate) fn mean(sum: f64, count: u64) -> Option<f64> {
    (count > 0).then(|| sum / count as f64)
}

/// A part in % of the whole; `None` of nothing.
pub(crate) fn percent(part: u64, whole: u64) -> Option<f64> {
    mean(100.0 * part as f64, whole)
}

/// Adds counts place by place.
pub(super) fn add(sums: &mut Vec<u64>, counts: &[u64]) {
    sums.resize(sums.len().max(counts.len()), 0);
    for (sum, one) in sums.iter_mut().zip(counts) {
        *sum += one;
    }
}

/// Counts in intervals of `length` seconds, of which the last may be shorter, as rates in % of
/// `capacity` a second. `duration`: seconds of all together.
pub(super) fn of_intervals(counts: &[u64], length: f64, duration: f64, capacity: f64) -> Vec<f64> {
    let long = |place: usize| length.min(duration - place as f64 * length);
    let percent = |(place, count): (usize, &u64)| *count as f64 / (long(place) * capacity / 100.0);
    counts.iter().enumerate().map(percent).collect()
}
