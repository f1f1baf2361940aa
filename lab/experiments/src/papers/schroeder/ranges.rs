//! Schroeder 2003, Table 2, column 4: the values of each row on any base case. The World Cup's
//! experiments (Figure 6, right) and the NASA trace's (Figure 11, right) share them.

use crate::experiment::case::Case;

/// A value of a row, and the case that has it.
pub(super) type Range = Vec<(f64, Case)>;

/// Round trip of row D's own case, in milliseconds, and its loss each way.
pub(super) const DELAY: f64 = 100.0;
pub(super) const LOSS: f64 = 0.05;
/// What of row D's plane is run beside its own case and its edges, rows B and C.
const PLANE: [(f64, f64); 4] = [(50.0, 0.05), (150.0, 0.05), (100.0, 0.10), (100.0, 0.15)];
/// Seconds after which users of row H abort, and how often they try again.
pub(super) const PATIENCE: [f64; 3] = [3.0, 10.0, 15.0];
pub(super) const RETRIES: [u32; 4] = [2, 4, 6, 8];

/// B: round-trip times in ms.
pub(super) fn delays(base: &Case) -> Range {
    [0.0, 50.0, 100.0, 150.0].map(|ms| (ms, base.clone().wan(ms, 0.0))).to_vec()
}

/// C: losses each way in per cent.
pub(super) fn losses(base: &Case) -> Range {
    [0.0, 0.05, 0.10, 0.15].map(|loss| (loss * 100.0, base.clone().wan(0.0, loss))).to_vec()
}

/// D: both at once, named.
pub(super) fn plane(base: &Case) -> Vec<(String, Case)> {
    let named = |(ms, loss): (f64, f64)| {
        (format!("{ms} ms, {:.0} %", loss * 100.0), base.clone().wan(ms, loss))
    };
    [(DELAY, LOSS)].into_iter().chain(PLANE).map(named).collect()
}

/// E: requests on a connection.
pub(super) fn requests(base: &Case) -> Range {
    [1, 5, 10].map(|n| (f64::from(n), base.clone().requests_per_connection(n))).to_vec()
}

/// F: initial retransmission timeouts in ms.
pub(super) fn timeouts(base: &Case) -> Range {
    [500, 1000, 3000].map(|ms| (f64::from(ms), base.clone().initial_rto(ms))).to_vec()
}

/// H: seconds until users abort, and their retries. Column 3 has 10 s and 3 retries; the text of
/// section 4.1 (H) has 6 for the same figure.
pub(super) fn aborts(base: &Case) -> Vec<(f64, u32, Case)> {
    let of = |after: f64, retries: u32| (after, retries, base.clone().abort(after, retries));
    let plane = RETRIES.into_iter().flat_map(|retries| PATIENCE.map(|after| of(after, retries)));
    plane.chain([of(10.0, 3)]).collect()
}

/// I: bytes of a packet; 576 are the paper's 536 of data and 40 of headers.
pub(super) fn lengths(base: &Case) -> Range {
    [576, 1000, 1500].map(|n| (f64::from(n), base.clone().mtu(n))).to_vec()
}

/// J: everything at once.
pub(super) fn realistic(case: Case) -> Case {
    case.wan(DELAY, LOSS).requests_per_connection(5).abort(7.0, 3)
}
