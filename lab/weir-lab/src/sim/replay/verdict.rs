//! The verdict on a replay in one sentence, and the assumptions behind it. Used by the text and the
//! page.

use super::clock::long;
use super::compare::Compared;
use super::figures::{Figures, Policy, SizeClass};
use super::shares::{share, share_of_time};
use crate::words::{bits, bytes, count, size_range, time};

/// A link that is full for less than this share (per cent) of the requests, and of the time, is
/// hardly ever full.
const HARDLY: f64 = 0.5;
/// A time that falls by less than this factor is no difference worth a sentence, nor one that rises
/// by less than its inverse.
const LITTLE: f64 = 0.9;
/// Responses of about one size whose mean changes by this factor are, ...
const SEVERAL: f64 = 2.0;
/// ... if they are at least this share of the requests.
const MANY: f64 = 0.05;
/// Milliseconds that a user takes for at once (Nielsen 1993, section 5.5).
const NOTICED_MS: f64 = 100.0;
/// A response that is later by so many milliseconds has not ended at the same time.
const SAME_MS: f64 = 5.0;

/// The sentence. It is about the first policy.
pub(super) fn sentence(compared: &Compared<'_>) -> String {
    let figures = &compared.figures;
    let Some(policy) = figures.policies.first() else { return String::new() };
    let prefix = match figures.scale_load {
        1.0 => String::new(),
        factor => format!("With {factor} times the traffic: "),
    };
    let weir = match policy.policy {
        "protective" => "weir".to_owned(),
        other => format!("weir under {other}"),
    };
    prefix + &said(compared, policy, &weir)
}

fn said(compared: &Compared<'_>, policy: &Policy, weir: &str) -> String {
    let figures = &compared.figures;
    let full = &figures.full;
    let later = later(figures, policy);
    if full.spans == 0 {
        if policy.faster_percent == 0.0 && policy.slower_percent == 0.0 {
            return format!("Your uplink was never full; {weir} would change nothing.");
        }
        let overall = overall(figures, policy, weir);
        return format!(
            "Your uplink was never full for as long as a second; {overall}, and {later}."
        );
    }
    let when = when(compared);
    let (Some(today), Some(with)) = (figures.fair.while_full, policy.times.while_full) else {
        let overall = overall(figures, policy, weir);
        return format!(
            "Your uplink was full ({when}), but no request came then; {overall}, and {later}."
        );
    };
    if full.percent_of_requests < HARDLY && full.percent_of_time < HARDLY {
        let overall = overall(figures, policy, weir);
        return format!("Your uplink was hardly ever full ({when}); {overall}, and {later}.");
    }
    let median = (
        "your median request would have taken",
        Change::of(today.response_ms_p50, with.response_ms_p50),
    );
    let most = (
        "95 of 100 requests would have taken at most",
        Change::of(today.response_ms_p95, with.response_ms_p95),
    );
    let mean = (
        "the mean response would have taken",
        Change::of(today.response_ms_mean, with.response_ms_mean),
    );
    // A median that nobody would notice persuades nobody.
    let noticed = today.response_ms_p50 >= NOTICED_MS || today.response_ms_p95 < NOTICED_MS;
    let order = if noticed { [&median, &most, &mean] } else { [&most, &median, &mean] };
    let while_full = format!("while the uplink was full ({when})");
    if let Some((what, change)) = order.into_iter().find(|(_, change)| change.less()) {
        let but = match mean.1.more() {
            true => format!(", but {} {}", mean.0, mean.1),
            false => String::new(),
        };
        return format!("With {weir} {what} {change} {while_full}{but}; {later}.");
    }
    // What gets worse is told by the mean if that does.
    if let Some((what, change)) = [&mean, &median, &most].into_iter().find(|(_, c)| c.more()) {
        return format!("With {weir} {what} longer, {change}, {while_full}; {later}.");
    }
    format!(
        "While the uplink was full ({when}), {weir} would have changed {}: {} {}; {later}.",
        mean.1.little(),
        mean.0,
        mean.1
    )
}

/// What all requests together would have had, and those of one size if they stand out.
fn overall(figures: &Figures, policy: &Policy, weir: &str) -> String {
    let mean = Change::of(figures.fair.response_ms_mean, policy.times.response_ms_mean);
    if mean.more() {
        return format!("with {weir} the mean response would have taken longer, {mean}");
    }
    if let Some((class, change)) = most_changed(figures, policy) {
        let size = size_range(class.from_bytes, class.below_bytes);
        let longer = if change.more() { " longer," } else { "" };
        return format!(
            "with {weir} the mean response of {size} would have taken{longer} {change}"
        );
    }
    if mean.less() {
        return format!("with {weir} the mean response would have taken {mean}");
    }
    format!("{weir} would change {}: the mean response would have taken {mean}", mean.little())
}

/// The responses of about one size whose mean changes most, if that is several-fold and they are
/// not a few.
fn most_changed<'a>(figures: &'a Figures, policy: &Policy) -> Option<(&'a SizeClass, Change)> {
    let many = |class: &SizeClass| class.requests as f64 >= MANY * figures.requests as f64;
    let classes = figures.fair.by_size.iter().zip(&policy.times.by_size);
    let changes = classes
        .filter(|(today, _)| many(today))
        .map(|(today, with)| (today, Change::of(today.response_ms_mean, with.response_ms_mean)));
    changes
        .filter(|(_, change)| change.factor() >= SEVERAL)
        .max_by(|a, b| a.1.factor().total_cmp(&b.1.factor()))
}

/// A time in milliseconds under fair sharing and under a policy; written as "a instead of b".
#[derive(Clone, Copy, Debug)]
struct Change {
    fair: f64,
    ours: f64,
}

impl Change {
    fn of(fair: f64, ours: f64) -> Change {
        Change { fair, ours }
    }

    /// It falls by more than a little, and is written otherwise.
    fn less(self) -> bool {
        self.ours <= LITTLE * self.fair && !self.written_alike()
    }

    /// It rises by more than a little, and is written otherwise.
    fn more(self) -> bool {
        LITTLE * self.ours >= self.fair && !self.written_alike()
    }

    fn written_alike(self) -> bool {
        let (fair, ours) = pair(self.fair, self.ours);
        fair == ours
    }

    /// By how much it falls or rises, 1 or more.
    fn factor(self) -> f64 {
        if self.written_alike() { 1.0 } else { (self.fair / self.ours).max(self.ours / self.fair) }
    }

    /// How much neither less nor more is.
    fn little(self) -> &'static str {
        if self.written_alike() { "next to nothing" } else { "little" }
    }
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match pair(self.fair, self.ours) {
            (fair, ours) if fair == ours => write!(f, "{ours} as today"),
            (fair, ours) => write!(f, "{ours} instead of {fair}"),
        }
    }
}

/// Who would have been later.
fn later(figures: &Figures, policy: &Policy) -> String {
    // Where grants are long, what counts as the same can be noticed.
    let same = figures.same_within_ms;
    let than = match same > SAME_MS {
        true => format!("later than today by more than {}", time(same)),
        false => "later than today".to_owned(),
    };
    if policy.slower_percent == 0.0 {
        return format!("no response would have ended {than}");
    }
    let share = share(policy.slower_percent, figures.requests);
    let (_, latest) = pair(policy.latest_s * 1e3, policy.latest_s * 1e3);
    format!("{share} of the responses would have ended {than}, the worst by {latest}")
}

/// The most by which a response ended later, if any counts as later.
pub(super) fn latest(policy: &Policy) -> Option<String> {
    (policy.slower_percent > 0.0).then(|| time(policy.latest_s * 1e3))
}

/// When the uplink was full, in a few words.
fn when(compared: &Compared<'_>) -> String {
    let full = &compared.figures.full;
    let span = compared.fullness.longest();
    let longest = span.map(|span| compared.clock.span_and_day(span)).unwrap_or_default();
    match full.spans {
        0 => "never".to_owned(),
        1 if full.percent_of_time > 99.0 => format!("all the time, {longest}"),
        1 => longest,
        _ => format!("{} of the time, longest {longest}", of_time(compared)),
    }
}

/// The share of the time in which the uplink was full.
pub(super) fn of_time(compared: &Compared<'_>) -> String {
    share_of_time(compared.figures.full.seconds, compared.fullness.until.ceil())
}

/// Two times in the same unit: seconds if the larger is a tenth of one or more.
fn pair(larger_ms: f64, other_ms: f64) -> (String, String) {
    let seconds = larger_ms.max(other_ms) >= 100.0;
    let text = |ms: f64| match (seconds, ms / 1e3) {
        (true, s) if s >= 99.5 => format!("{s:.0} s"),
        (true, s) if s >= 9.95 => format!("{s:.1} s"),
        (true, s) if s >= 0.01 => format!("{s:.2} s"),
        (true, s) if s >= 0.0005 => format!("{s:.3} s"),
        (true, _) => "less than 0.001 s".to_owned(),
        (false, _) if ms >= 9.95 => format!("{ms:.0} ms"),
        (false, _) if ms >= 0.005 => format!("{ms:.2} ms"),
        (false, _) => "less than 0.01 ms".to_owned(),
    };
    (text(larger_ms), text(other_ms))
}

/// The uplink in words.
pub(super) fn uplink(compared: &Compared<'_>) -> String {
    let figures = &compared.figures;
    let used = used(compared);
    let load = match figures.offered_load {
        Some(load) if load < 0.1 => format!(", offered load {load:.4}"),
        Some(load) => format!(", offered load {load:.2}"),
        None => String::new(),
    };
    format!("{}, of which {used} are used{load}", bits(figures.uplink_bits_per_second as f64))
}

/// The share of the uplink that is used.
fn used(compared: &Compared<'_>) -> String {
    format!("{} %", (compared.figures.uplink_pace * 1e4).round() / 1e2)
}

/// The share of the time, and the requests in it.
pub(super) fn fullness(compared: &Compared<'_>) -> String {
    let full = &compared.figures.full;
    match full.spans {
        0 => "never for as long as a second".to_owned(),
        spans => format!(
            "{} of the time in {} span{}, with {} of the requests",
            of_time(compared),
            count(spans),
            if spans == 1 { "" } else { "s" },
            share(full.percent_of_requests, compared.figures.requests)
        ),
    }
}

/// The most that waited, if that is known.
pub(super) fn peak(compared: &Compared<'_>) -> Option<String> {
    let peak = compared.figures.full.peak?;
    let bytes = bytes(peak.peak_backlog_bytes);
    let at = compared.clock.short(peak.peak_backlog_at_s, true);
    Some(format!("{bytes}, {} of the uplink, at {at}", long(peak.peak_backlog_s)))
}

/// What the figures rest on, a sentence or two each.
pub(super) fn assumptions(compared: &Compared<'_>) -> Vec<String> {
    let (figures, demand) = (&compared.figures, compared.demand);
    let mut all = vec![
        "Today is fair sharing: at every moment all responses under way get the same share of the \
         uplink. nginx, Apache and others come close to it at best."
            .to_owned(),
        format!(
            "Policies are the server's own code. Both sides use {} of the uplink, as weir does so \
             that the queue is in the server and not in the network. Grants are of {}, so a \
             response counts as sooner or later only beyond {:.2} ms.",
            used(compared),
            bytes(figures.grant_bytes as f64),
            figures.same_within_ms,
        ),
        "The log's times are taken for the requests' arrivals. Apache writes when a request came; \
         nginx and weir write when its response ended, so in their logs overload looks smoother \
         than it was."
            .to_owned(),
    ];
    if let Some(seed) = demand.spread {
        all.push(format!(
            "The log has whole seconds: requests of one second are spread over it at random (seed \
             {seed}), in the order of the log."
        ));
    }
    if figures.scale_load != 1.0 {
        all.push(format!(
            "The gaps between requests are divided by {}: dates and times of day are the log's, but \
             how long something lasted is told as in the replay.",
            figures.scale_load
        ));
    }
    all.push(match figures.round_trip_ms {
        None => "Only the uplink is scarce: disks, processors and the clients' own lines take no \
                 time, one client can take the whole uplink, and nobody gives up waiting."
            .to_owned(),
        Some(round_trip) => {
            let line = figures
                .client_bits_per_second
                .map_or("any rate".to_owned(), |rate| format!("at most {}", bits(rate as f64)));
            format!(
                "All clients are {} away and take {line}. Fair sharing is exact, among those whose \
                 window and line take more at that moment; policies go through the server's own \
                 gate, grant by grant. Connections start with ten segments and lose nothing; disks \
                 and processors take no time, and nobody gives up waiting.",
                time(round_trip)
            )
        }
    });
    all.push(
        "Each response counts its body, a head of 200 bytes, 66 bytes for each packet of 1448, and \
         its share of a connection's 206."
            .to_owned(),
    );
    all.push(match figures.full.peak {
        Some(_) => "The uplink is full in a second in which it sends for 95 % of the time or more."
            .to_owned(),
        None => {
            "The uplink is full in a second in which it sends for 95 % of the time or more under \
                 fair sharing. What waits is not told: it may wait for its client."
                .to_owned()
        }
    });
    if figures.unknown_sizes > 0 {
        all.push(format!(
            "{} requests whose size the log does not say count as empty.",
            count(figures.unknown_sizes)
        ));
    }
    if figures.records_left_out > 0 {
        all.push(format!(
            "{} records are left out: other methods than GET, or statuses that --statuses leaves out.",
            count(figures.records_left_out)
        ));
    }
    if figures.bad_records > 0 {
        all.push(format!("{} bad records were skipped.", count(figures.bad_records)));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_times_have_one_unit() {
        let said = |a, b| {
            let (a, b) = pair(a, b);
            format!("{a} {b}")
        };
        assert_eq!(said(310.0, 20.4), "0.31 s 0.02 s");
        assert_eq!(said(12_345.0, 3.0), "12.3 s 0.003 s");
        assert_eq!(said(120_000.0, 0.1), "120 s less than 0.001 s");
        assert_eq!(said(31.0, 2.345), "31 ms 2.35 ms");
    }

    #[test]
    fn little_lies_between_two_limits() {
        let words = |fair, ours| {
            let change = Change::of(fair, ours);
            (change.less(), change.more(), change.to_string())
        };
        assert_eq!(words(20.0, 18.0), (true, false, "18 ms instead of 20 ms".into()));
        assert_eq!(words(20.0, 19.0), (false, false, "19 ms instead of 20 ms".into()));
        assert_eq!(words(22.0, 3000.0), (false, true, "3.00 s instead of 0.02 s".into()));
        assert_eq!(words(20.0, 20.1), (false, false, "20 ms as today".into()));
        // What is written alike is no change, whatever the factor.
        assert_eq!(words(0.004, 0.001), (false, false, "less than 0.01 ms as today".into()));
        assert_eq!(Change::of(0.004, 0.001).factor(), 1.0);
        assert_eq!(Change::of(3.0, 12.0).factor(), 4.0);
    }
}
