//! Names that clients chose, made fit for a message: on one line, and cut to a readable length. Used by
//! whatever logs a path.

/// Bytes of a name that are printable.
const SHOWN: usize = 200;

/// `name` with everything escaped that is not printable ASCII; a name of more than 200 bytes is cut and
/// ends in dots.
pub(crate) fn printable(name: &[u8]) -> String {
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
        assert_eq!(printable(b"/a b"), "/a b");
        assert_eq!(printable(b"a\n\x1b[2J\xff\""), "a\\n\\x1b[2J\\xff\\\"");
        assert_eq!(printable(&[b'a'; SHOWN]), "a".repeat(SHOWN));
        assert_eq!(printable(&[b'a'; SHOWN + 1]), format!("{}...", "a".repeat(SHOWN)));
    }
}
