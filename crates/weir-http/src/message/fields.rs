//! The grammar that field values share: tokens and comma-separated lists (RFC 9110, section 5.6).
//! Used wherever this crate reads a field.

/// Whether `byte` may stand in a token.
pub(crate) fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// The members of a list, without the white space around them; some may be empty. Only for lists
/// of tokens: a comma inside a quoted string divides as well.
pub(crate) fn members(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii)
}
