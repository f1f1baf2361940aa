//! Numbers of bytes. Used for memory, files, bodies and disks.

use std::fmt;
use std::str::FromStr;

use crate::Invalid;

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

/// Units as they are printed, with what they stand for; larger units come first where both would do.
const UNITS: [(&str, u64); 8] = [
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("KB", 1_000),
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
];

/// What else is read, in lower case: a letter alone is a power of 1024, as with dd(1).
const ALSO_READ: [(&str, u64); 6] =
    [("", 1), ("b", 1), ("k", 1 << 10), ("m", 1 << 20), ("g", 1 << 30), ("t", 1 << 40)];

impl fmt::Display for Size {
    /// In the largest decimal unit of which it is a whole multiple, else in the largest binary one.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = |(_, factor): &&(&str, u64)| self.0 > 0 && self.0.is_multiple_of(*factor);
        match UNITS.iter().find(whole) {
            Some((unit, factor)) => write!(f, "{}{unit}", self.0 / factor),
            None => self.0.fmt(f),
        }
    }
}

impl FromStr for Size {
    type Err = Invalid;

    /// A whole number and a unit in either case: KB, MB, GB, TB (powers of 1000), KiB, MiB, GiB, TiB
    /// or K, M, G, T (powers of 1024); without a unit it is bytes.
    fn from_str(text: &str) -> Result<Size, Invalid> {
        let lower = text.trim().to_ascii_lowercase();
        let digits = lower.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let unit = &lower[digits.len()..];
        let factor = UNITS
            .iter()
            .chain(&ALSO_READ)
            .find(|(name, _)| name.eq_ignore_ascii_case(unit))
            .map(|(_, factor)| factor);
        let number = digits.trim_end().parse::<u64>().ok();
        let size = number.zip(factor).and_then(|(number, factor)| number.checked_mul(*factor));
        size.map(Size).ok_or_else(|| {
            Invalid::new(
                text,
                "a size",
                "a whole number and KB, MB, GB, TB, KiB, MiB, GiB or TiB, such as 64MB",
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_are_read_with_their_units() {
        let size = |text: &str| text.parse::<Size>().map(|Size(bytes)| bytes);
        for (text, bytes) in [
            ("64mb", 64_000_000),
            ("60MB", 60_000_000),
            (" 1 GiB ", 1 << 30),
            ("8G", 8 << 30),
            ("10k", 10_240),
            ("4096", 4096),
            ("12 B", 12),
            ("0", 0),
        ] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for wrong in ["", "mb", "-1", "1.5gb", "1xb", "1 0", "99999999999999gb"] {
            let error = size(wrong).unwrap_err().to_string();
            assert!(error.contains("is not a size; write a whole number and KB"), "{error}");
        }
    }

    #[test]
    fn sizes_are_printed_in_the_unit_that_fits() {
        for (bytes, text) in [
            (64_000_000, "64MB"),
            (65_536, "64KiB"),
            (1_000_000_000, "1GB"),
            (100, "100"),
            (0, "0"),
        ] {
            assert_eq!(Size(bytes).to_string(), text);
        }
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_the_same(bytes: u64, zeros in 0u32..64) {
            for bytes in [bytes >> zeros << zeros, bytes / 1000 * 1000, bytes / 1_000_000 * 1_000_000] {
                prop_assert_eq!(Size(bytes).to_string().parse(), Ok(Size(bytes)));
            }
        }

        #[test]
        fn nothing_that_is_written_panics(text in "[0-9]{0,20} ?[kmgtib]{0,3}|.{0,9}") {
            let _ = text.parse::<Size>();
        }
    }
}
