//! Numbers and times at the end of a line, without the cost of general formatting. Used by the formats of
//! the access log and by objects of JSON.

use std::time::Duration;

/// Adds a number.
pub(super) fn number(out: &mut String, value: u64) {
    out.push_str(itoa::Buffer::new().format(value));
}

/// Adds a time as seconds with six digits behind the point, cut and not rounded, such as `0.001500`.
pub(super) fn seconds(out: &mut String, time: Duration) {
    number(out, time.as_secs());
    out.push('.');
    padded::<6>(out, time.subsec_micros());
}

/// Adds a number with zeros before it, in `DIGITS` digits at least; 9 at most.
pub(super) fn padded<const DIGITS: usize>(out: &mut String, value: u32) {
    const ZEROS: &str = "000000000";
    let mut buffer = itoa::Buffer::new();
    let digits = buffer.format(value);
    out.push_str(ZEROS.get(..DIGITS.saturating_sub(digits.len())).unwrap_or_default());
    out.push_str(digits);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn seconds_are_written_as_they_are_usually(nanos in any::<u64>()) {
            let micros = Duration::from_micros(nanos / 1000);
            let mut out = String::new();
            seconds(&mut out, Duration::from_nanos(nanos));
            let expected = format!("{}.{:06}", micros.as_secs(), micros.subsec_micros());
            prop_assert_eq!(out, expected);
        }
    }
}
