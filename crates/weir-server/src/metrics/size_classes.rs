//! The classes of sizes by which figures tell responses apart. Used by all figures with a label `size`.

/// One label with one of a few values.
pub(crate) type Label = [(&'static str, &'static str); 1];

/// Responses are told apart by their length in bytes.
pub(crate) const SIZES: [(u64, &str); 6] = [
    (1_000, "to 1 kB"),
    (10_000, "to 10 kB"),
    (100_000, "to 100 kB"),
    (1_000_000, "to 1 MB"),
    (10_000_000, "to 10 MB"),
    (u64::MAX, "above 10 MB"),
];

pub(crate) fn size_class(bytes: u64) -> usize {
    SIZES.partition_point(|(largest, _)| *largest < bytes).min(SIZES.len() - 1)
}

pub(super) fn size_label(class: usize) -> Label {
    [("size", SIZES[class].1)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn size_classes_cover_all_sizes() {
        assert_eq!(size_class(0), 0);
        assert_eq!(size_class(1_000), 0);
        assert_eq!(size_class(1_001), 1);
        assert_eq!(size_class(u64::MAX), 5);
    }
}
