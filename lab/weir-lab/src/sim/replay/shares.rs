//! Shares in words that are never rounded to none or to all. Used by the verdict, the text and the
//! page.

use super::clock::long;
use crate::words::{count, percent};

/// Shares (per cent) below and above which [`percent`] writes none and all.
const TOLD: std::ops::Range<f64> = 0.0005..99.95;

/// So many per cent of `of`.
pub(super) fn share(per_cent: f64, of: u64) -> String {
    let part = (per_cent / 100.0 * of as f64).round() as u64;
    match part {
        0 => "0 %".to_owned(),
        part if part >= of => "100 %".to_owned(),
        _ if TOLD.contains(&per_cent) => percent(per_cent / 100.0),
        part => format!("{} of {}", count(part), count(of)),
    }
}

/// So many seconds of `of`, which is more than 0.
pub(super) fn share_of_time(seconds: f64, of: f64) -> String {
    match 100.0 * seconds / of {
        0.0 => "0 %".to_owned(),
        100.0 => "100 %".to_owned(),
        per_cent if TOLD.contains(&per_cent) => percent(per_cent / 100.0),
        _ => format!("{} of {}", long(seconds), long(of)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_not_none_and_all_but_one_are_not_all() {
        assert_eq!(share(0.0004, 250_000), "1 of 250,000");
        assert_eq!(share(99.9996, 250_000), "249,999 of 250,000");
        assert_eq!([share(0.0, 9), share(100.0, 9)], ["0 %", "100 %"]);
        assert_eq!([share(0.001, 100_000), share(12.5, 8)], ["0.001 %", "12.5 %"]);
        assert_eq!(share_of_time(1.0, 360_000.0), "1 s of 100.0 h");
        assert_eq!(share_of_time(6.0, 60.0), "10.0 %");
    }
}
