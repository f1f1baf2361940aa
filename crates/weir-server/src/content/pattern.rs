//! Bytes that are made up on the way, a function of their place. The body of the built-in site's files,
//! which so take no memory.

/// Fills `out` from `offset` on of an endless text that does not compress well.
pub(super) fn pattern(offset: u64, out: &mut [u8]) {
    let (mut index, skip) = (offset / 8, (offset % 8) as usize);
    let first = out.len().min((8 - skip) % 8);
    let (start, rest) = out.split_at_mut(first);
    if !start.is_empty() {
        start.copy_from_slice(&word(index)[skip..skip + first]);
        index += 1;
    }
    let mut whole = rest.chunks_exact_mut(8);
    for chunk in &mut whole {
        chunk.copy_from_slice(&word(index));
        index += 1;
    }
    let end = whole.into_remainder();
    end.copy_from_slice(&word(index)[..end.len()]);
}

/// The eight bytes at place `index`.
fn word(index: u64) -> [u8; 8] {
    let mixed = (index ^ (index >> 31)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
    mixed.wrapping_mul(0x94D0_49BB_1331_11EB).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_the_pattern_is_a_part_of_the_whole() {
        let mut whole = [0; 1000];
        pattern(0, &mut whole);
        for (offset, count) in [(0, 1), (7, 2), (8, 8), (13, 500), (999, 1)] {
            let mut part = vec![0; count];
            pattern(offset as u64, &mut part);
            assert_eq!(part, &whole[offset..offset + count]);
        }
    }
}
