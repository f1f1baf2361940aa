//! A page of the kernel's trace buffer, as `trace_pipe_raw` gives it: records with their times, and how
//! many were lost before them. The layout is that of the kernel's include/linux/ring_buffer.h and
//! kernel/trace/ring_buffer.c, on a 64-bit machine.

/// Time, and the length with flags.
const HEAD: usize = 16;
/// Records were lost before this page, …
const MISSED: u64 = 1 << 31;
/// … and how many stands behind its last record.
const MISSED_STORED: u64 = 1 << 30;
const LENGTH: u64 = (1 << 20) - 1;

/// `type_len` of what is no record.
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
/// Bits of the time since the last record.
const DELTA: u32 = 27;
/// Bits of an absolute time; those above are as on the page.
const STAMP_BITS: u32 = 59;

/// A page.
#[derive(Debug)]
pub(super) struct Page<'a> {
    /// Time of its beginning, in nanoseconds.
    pub(super) time: u64,
    /// Records lost before it; at least 1 if their number is not known.
    pub(super) lost: u64,
    records: &'a [u8],
}

impl<'a> Page<'a> {
    /// None if these bytes are too short for a page, or for what the page says it holds.
    pub(super) fn parse(bytes: &'a [u8]) -> Option<Page<'a>> {
        let time = u64_at(bytes, 0)?;
        let commit = u64_at(bytes, 8)?;
        let end = HEAD + (commit & LENGTH) as usize;
        let records = bytes.get(HEAD..end)?;
        let lost = match (commit & MISSED != 0, commit & MISSED_STORED != 0) {
            (false, _) => 0,
            (true, false) => 1,
            (true, true) => u64_at(bytes, end)?.max(1),
        };
        Some(Page { time, lost, records })
    }

    /// Its records in order, each with its time.
    pub(super) fn records(&self) -> Records<'a> {
        Records { time: self.time, rest: self.records }
    }
}

/// The records of a page.
#[derive(Debug)]
pub(super) struct Records<'a> {
    time: u64,
    rest: &'a [u8],
}

impl<'a> Iterator for Records<'a> {
    type Item = (u64, &'a [u8]);

    fn next(&mut self) -> Option<(u64, &'a [u8])> {
        loop {
            let head = u32_at(self.rest, 0)?;
            let (kind, delta) = (head & 31, u64::from(head >> 5));
            let word = u32_at(self.rest, 4);
            let (from, to) = match kind {
                // Nothing follows.
                PADDING if delta == 0 => return None,
                PADDING => (4, 4 + word? as usize),
                TIME_EXTEND | TIME_STAMP => (8, 8),
                // The length includes its own word.
                0 => (8, 4 + word? as usize),
                words => (4, 4 + 4 * words as usize),
            };
            self.time = match kind {
                TIME_EXTEND => self.time.wrapping_add(delta + (u64::from(word?) << DELTA)),
                TIME_STAMP => {
                    let low = (delta + (u64::from(word?) << DELTA)) & ((1 << STAMP_BITS) - 1);
                    (self.time >> STAMP_BITS << STAMP_BITS) | low
                }
                _ => self.time.wrapping_add(delta),
            };
            let record = self.rest.get(from..to)?;
            // Records are padded to whole words.
            self.rest = self.rest.get(to.next_multiple_of(4)..).unwrap_or_default();
            if kind < PADDING {
                return Some((self.time, record));
            }
        }
    }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_ne_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn page(time: u64, flags: u64, words: &[u32], after: &[u8]) -> Vec<u8> {
        let mut bytes = time.to_ne_bytes().to_vec();
        bytes.extend((flags | (4 * words.len() as u64)).to_ne_bytes());
        bytes.extend(words.iter().flat_map(|word| word.to_ne_bytes()));
        bytes.extend(after);
        bytes
    }

    fn head(kind: u32, delta: u32) -> u32 {
        kind | (delta << 5)
    }

    #[test]
    fn records_have_the_times_that_their_distances_add_up_to() {
        let words = [
            head(2, 10),
            1,
            2,
            head(TIME_EXTEND, 1),
            1,
            head(0, 5),
            8,
            3,
            head(PADDING, 1),
            8,
            0,
            head(TIME_STAMP, 7),
            0,
            head(1, 0),
            4,
            head(PADDING, 0),
            0,
        ];
        let bytes = page(100, 0, &words, &[0; 8]);
        let page = Page::parse(&bytes).unwrap();
        let found: Vec<(u64, usize)> =
            page.records().map(|(time, record)| (time, record.len())).collect();
        assert_eq!(found, [(110, 8), (110 + 1 + (1 << 27) + 5, 4), (7, 4)]);
        assert_eq!(page.lost, 0);
    }

    #[test]
    fn what_was_lost_is_told_with_the_number_if_there_is_one() {
        let lost = |flags, after: &[u8]| Page::parse(&page(1, flags, &[], after)).unwrap().lost;
        assert_eq!(lost(MISSED, &[]), 1);
        assert_eq!(lost(MISSED | MISSED_STORED, &700_u64.to_ne_bytes()), 700);
        assert!(Page::parse(&page(1, MISSED | MISSED_STORED, &[], &[])).is_none());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Some(page) = Page::parse(&bytes) {
                let records = page.records().map(|(_, record)| record.len()).sum::<usize>();
                prop_assert!(records <= bytes.len());
            }
        }

        #[test]
        fn any_words_are_read(words in prop::collection::vec(any::<u32>(), 0..40)) {
            let bytes = page(u64::MAX - 3, 0, &words, &[]);
            let count = Page::parse(&bytes).unwrap().records().count();
            prop_assert!(count <= words.len());
        }
    }
}
