//! What a replay comes to, in one sentence, and what it was computed from. It does not know pages.

use super::compare::Compared;
use super::figures::{Full, Policy};
use crate::load::words::{bits, bytes, count, percent, time};

/// Below this share (per cent) of requests that end sooner, a policy changes nothing.
const NOTHING: f64 = 1.0;
/// A link that is full for less than this share (per cent) of the requests is hardly ever full.
const HARDLY: f64 = 0.5;
/// A time that falls by less than this factor is no difference worth a sentence.
const LITTLE: f64 = 0.9;
/// Milliseconds that a user takes for at once (Nielsen 1993, section 5.5).
const NOTICED_MS: f64 = 100.0;

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
    let (Some(today), Some(with)) = (figures.fair.while_full, policy.times.while_full) else {
        return prefix + &never_full(compared, policy, &weir);
    };
    let when = when(compared);
    let later = later(policy);
    if figures.full.percent_of_requests < HARDLY {
        let (fair, ours) = pair(figures.fair.response_ms_mean, policy.times.response_ms_mean);
        let little = match fair == ours {
            true => format!("next to nothing: the mean response would have taken {ours} as today"),
            false => format!("little: the mean response would have taken {ours} instead of {fair}"),
        };
        return format!(
            "{prefix}Your uplink was hardly ever full ({when}); {weir} would change {little}, and \
             {later}."
        );
    }
    let median =
        ("your median request would have taken", today.response_ms_p50, with.response_ms_p50);
    let most = (
        "95 of 100 requests would have taken at most",
        today.response_ms_p95,
        with.response_ms_p95,
    );
    // A median that nobody would notice persuades nobody.
    let order = match today.response_ms_p50 < NOTICED_MS && today.response_ms_p95 >= NOTICED_MS {
        true => [most, median],
        false => [median, most],
    };
    for (what, fair, ours) in order {
        let less = ours <= LITTLE * fair;
        let (fair, ours) = pair(fair, ours);
        if less && fair != ours {
            return format!(
                "{prefix}With {weir} {what} {ours} instead of {fair} while the uplink was full \
                 ({when}); {later}."
            );
        }
    }
    let (fair, ours) = pair(today.response_ms_mean, with.response_ms_mean);
    if with.response_ms_mean <= LITTLE * today.response_ms_mean && fair != ours {
        return format!(
            "{prefix}With {weir} the mean response would have taken {ours} instead of {fair} while \
             the uplink was full ({when}), most of them as long as today; {later}."
        );
    }
    format!(
        "{prefix}While the uplink was full ({when}), {weir} would have changed little: the mean \
         response would have taken {ours} instead of {fair}; {later}."
    )
}

fn never_full(compared: &Compared<'_>, policy: &Policy, weir: &str) -> String {
    if policy.faster_percent + policy.slower_percent < NOTHING {
        return format!("Your uplink was never full; {weir} would change nothing.");
    }
    let today = &compared.figures.fair;
    let (fair, ours) = pair(today.response_ms_mean, policy.times.response_ms_mean);
    format!(
        "Your uplink was never full for as long as a second; {weir} would change little: the mean \
         response would have taken {ours} instead of {fair}."
    )
}

/// Who would have been later.
fn later(policy: &Policy) -> String {
    if policy.slower_percent == 0.0 {
        return "no response would have ended later than today".to_owned();
    }
    let share = percent(policy.slower_percent / 100.0);
    let (_, latest) = pair(policy.latest_s * 1e3, policy.latest_s * 1e3);
    format!("{share} of the responses would have ended later than today, the worst by {latest}")
}

/// When the uplink was full, in a few words.
pub(super) fn when(compared: &Compared<'_>) -> String {
    let full = &compared.figures.full;
    let clock = &compared.demand.clock;
    let longest = compared.fullness.longest().map(|span| clock.span(span)).unwrap_or_default();
    match full.spans {
        0 => "never".to_owned(),
        1 if full.percent_of_time > 99.0 => format!("all the time, {longest}"),
        1 => longest,
        _ => format!("{} of the time, longest {longest}", percent(full.percent_of_time / 100.0)),
    }
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

/// The share of the time, the requests in it, and the backlog.
pub(super) fn fullness(full: &Full) -> String {
    match full.spans {
        0 => "never for as long as a second".to_owned(),
        spans => format!(
            "{} of the time in {} span{}, with {} of the requests",
            percent(full.percent_of_time / 100.0),
            count(spans),
            if spans == 1 { "" } else { "s" },
            percent(full.percent_of_requests / 100.0)
        ),
    }
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
    all.push(match figures.round_trip_ms {
        None => "Only the uplink is scarce: disks, processors and the clients' own lines take no \
                 time, one client can take the whole uplink, and nobody gives up waiting."
            .to_owned(),
        Some(round_trip) => {
            let line = figures
                .client_bits_per_second
                .map_or("any rate".to_owned(), |rate| format!("at most {}", bits(rate as f64)));
            format!(
                "All clients are {} away and take {line}; all goes through the server's own gate, \
                 grant by grant, under fair sharing too. Connections start with ten segments and \
                 lose nothing; disks and processors take no time, and nobody gives up waiting.",
                time(round_trip)
            )
        }
    });
    all.push(
        "Each response counts its body, a head of 200 bytes, 66 bytes for each packet of 1448, and \
         its share of a connection's 206."
            .to_owned(),
    );
    all.push(
        "The uplink is full in a second in which it sends for 95 % of the time or more.".to_owned(),
    );
    if figures.unknown_sizes > 0 {
        all.push(format!(
            "{} requests whose size the log does not say count as empty.",
            count(figures.unknown_sizes)
        ));
    }
    if figures.records_left_out > 0 {
        all.push(format!(
            "{} records are left out: other methods than GET, or responses without a body.",
            count(figures.records_left_out)
        ));
    }
    if figures.bad_records > 0 {
        all.push(format!("{} bad records were passed over.", count(figures.bad_records)));
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
}
