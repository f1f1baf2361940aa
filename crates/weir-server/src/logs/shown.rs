//! Names that clients write, as messages show them: on one line, and not longer than anybody reads.

/// Bytes of a name that are shown.
const SHOWN: usize = 200;

/// `name` with what is no text escaped; what is too long ends in dots.
pub(crate) fn shown(name: &[u8]) -> String {
    let (start, more) = match name.split_at_checked(SHOWN) {
        Some((start, rest)) if !rest.is_empty() => (start, "..."),
        _ => (name, ""),
    };
    format!("{}{more}", start.escape_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_end_the_line_or_fill_the_log() {
        assert_eq!(shown(b"/a b"), "/a b");
        assert_eq!(shown(b"a\n\x1b[2J\xff\""), "a\\n\\x1b[2J\\xff\\\"");
        assert_eq!(shown(&[b'a'; SHOWN]), "a".repeat(SHOWN));
        assert_eq!(shown(&[b'a'; SHOWN + 1]), format!("{}...", "a".repeat(SHOWN)));
    }
}
