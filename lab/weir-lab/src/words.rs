//! Numbers as people read them: times, sizes, rates, counts, shares. Used by the text and the pages
//! of `load` and `sim`.

/// Milliseconds in the unit that needs no exponent.
pub(crate) fn time(ms: f64) -> String {
    match ms {
        ms if !ms.is_finite() => "-".to_owned(),
        ms if ms < 0.9995 => format!("{:.0} µs", ms * 1e3),
        ms if ms < 9.995 => format!("{ms:.2} ms"),
        ms if ms < 99.95 => format!("{ms:.1} ms"),
        ms if ms < 999.5 => format!("{ms:.0} ms"),
        ms if ms < 99_950.0 => format!("{:.2} s", ms / 1e3),
        ms => format!("{:.0} s", ms / 1e3),
    }
}

/// The same of a round number, for an axis.
pub(crate) fn round_time(ms: f64) -> String {
    let text = time(ms);
    match text.split_once(' ') {
        Some((number, unit)) if number.contains('.') => {
            format!("{} {unit}", number.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => text,
    }
}

/// The same of what may not exist.
pub(crate) fn maybe_time(ms: Option<f64>) -> String {
    ms.map_or_else(|| "-".to_owned(), time)
}

/// Bytes in decimal units.
pub(crate) fn bytes(count: f64) -> String {
    scaled(count, &["B", "KB", "MB", "GB", "TB"])
}

/// Bits per second in decimal units.
pub(crate) fn bits(per_second: f64) -> String {
    scaled(per_second, &["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"])
}

fn scaled(mut count: f64, units: &[&str]) -> String {
    let mut unit = 0;
    // What would round to 1000 is written in the next unit.
    while count >= 999.5 && unit + 1 < units.len() {
        count /= 1e3;
        unit += 1;
    }
    let digits = if unit == 0 || count >= 99.95 { 0 } else { usize::from(count < 9.995) + 1 };
    let text = format!("{count:.digits$}");
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    format!("{text} {}", units[unit])
}

/// A whole number with its thousands apart.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A share as a percentage.
pub(crate) fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent.abs() {
        0.0 => "0 %".to_owned(),
        p if p < 0.1 => signed(percent, 3) + " %",
        p if p < 10.0 => signed(percent, 2) + " %",
        _ => signed(percent, 1) + " %",
    }
}

/// A number with so many digits after the point; what is written as zero has no sign.
pub(crate) fn signed(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    match text.strip_prefix('-') {
        Some(zero) if !zero.contains(|digit| matches!(digit, '1'..='9')) => zero.to_owned(),
        _ => text,
    }
}

/// A range of sizes.
pub(crate) fn size_range(from: u64, below: Option<u64>) -> String {
    match below {
        Some(below) if below == from + 1 => bytes(from as f64),
        Some(below) => format!("{} to {}", bytes(from as f64), bytes(below as f64)),
        None => format!("{} and more", bytes(from as f64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_take_the_unit_that_fits() {
        let pairs = [(0.0421, "42 µs"), (0.9999, "1.00 ms"), (1.234, "1.23 ms")];
        let more = [(45.67, "45.7 ms"), (999.7, "1.00 s"), (12_345.0, "12.35 s")];
        for (ms, text) in pairs.into_iter().chain(more) {
            assert_eq!(time(ms), text);
        }
        assert_eq!(maybe_time(None), "-");
        assert_eq!((round_time(10.0).as_str(), round_time(10_000.0).as_str()), ("10 ms", "10 s"));
    }

    #[test]
    fn counts_and_sizes() {
        assert_eq!(count(0), "0");
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(bytes(999.0), "999 B");
        assert_eq!(bytes(999_900.0), "1 MB");
        assert_eq!(bytes(12_340.0), "12.3 KB");
        assert_eq!(bits(10_000_000.0), "10 Mbit/s");
        assert_eq!(percent(0.0123), "1.23 %");
        // Less than nothing by a rounding error is nothing.
        assert_eq!([percent(-0.0), percent(-1e-9), percent(-0.5)], ["0 %", "0.000 %", "-50.0 %"]);
        assert_eq!(size_range(1000, Some(10_000)), "1 KB to 10 KB");
        assert_eq!(size_range(0, Some(1)), "0 B");
    }
}
