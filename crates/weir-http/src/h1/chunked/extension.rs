//! The syntax of chunk extensions, byte by byte (RFC 9112, section 7.1.1). Used by strict decoding,
//! which refuses what is malformed; their content is ignored. White space around `;` and `=` is
//! refused, as readers differ in it.

use crate::message::fields::is_token_byte;

/// Which part of a list of extensions the next byte is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extension {
    /// The first byte of a name.
    NameStart,
    Name,
    /// The first byte of a value.
    ValueStart,
    Token,
    Quoted,
    /// After a backslash in quotes.
    Escaped,
    /// After the closing quote.
    Closed,
}

impl Extension {
    /// After the first semicolon.
    pub(super) const START: Extension = Extension::NameStart;

    /// Whether the line may end here.
    pub(super) fn may_end(self) -> bool {
        matches!(self, Extension::Name | Extension::Token | Extension::Closed)
    }

    /// The part after `byte`; `None`: malformed.
    pub(super) fn next(self, byte: u8) -> Option<Extension> {
        Some(match (self, byte) {
            (Extension::Name | Extension::Token | Extension::Closed, b';') => Extension::NameStart,
            (Extension::Name, b'=') => Extension::ValueStart,
            (Extension::NameStart | Extension::Name, _) if is_token_byte(byte) => Extension::Name,
            (Extension::ValueStart, b'"') => Extension::Quoted,
            (Extension::ValueStart | Extension::Token, _) if is_token_byte(byte) => {
                Extension::Token
            }
            (Extension::Quoted, b'"') => Extension::Closed,
            (Extension::Quoted, b'\\') => Extension::Escaped,
            (Extension::Quoted | Extension::Escaped, _)
                if !byte.is_ascii_control() || byte == b'\t' =>
            {
                Extension::Quoted
            }
            _ => return None,
        })
    }
}
