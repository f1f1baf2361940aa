//! The media type `multipart/byteranges` (RFC 9110, section 14.6): what stands before, between and behind
//! the parts of a representation in a body that has several of them. Used by `weir-server`, which puts
//! the parts themselves between.

use super::range::{ContentRange, Span};

/// Bytes before a part, about, without its type.
const USUAL: usize = 112;

/// Parts of one representation.
#[derive(Debug, Clone, Copy)]
pub struct Byteranges<'a> {
    /// The boundary: 1 to 70 letters and digits (RFC 2046, section 5.1.1) that no part contains.
    pub boundary: &'a str,
    /// The type of the representation, which each part names. Not sent if it contains a control
    /// character.
    pub content_type: &'a str,
    /// The length of the whole representation in bytes.
    pub total: u64,
}

impl Byteranges<'_> {
    /// `Content-Type` of the response.
    pub fn media_type(&self) -> String {
        ["multipart/byteranges; boundary=", self.boundary].concat()
    }

    /// What stands before the bytes of `part`. `is_first`: no other part is before it.
    pub fn before(&self, part: Span, is_first: bool) -> String {
        let mut text = String::with_capacity(USUAL + self.boundary.len() + self.content_type.len());
        if !is_first {
            text.push_str("\r\n");
        }
        text.push_str("--");
        text.push_str(self.boundary);
        if !self.content_type.contains(char::is_control) {
            text.push_str("\r\nContent-Type: ");
            text.push_str(self.content_type);
        }
        let Span { first, last } = part;
        let range = ContentRange::Part { first, last, total: self.total };
        text.push_str("\r\nContent-Range: ");
        text.push_str(&range.to_string());
        text.push_str("\r\n\r\n");
        text
    }

    /// What stands behind the last part.
    pub fn end(&self) -> String {
        ["\r\n--", self.boundary, "--\r\n"].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_rfc_9110_section_15_3_7_2() {
        let parts = Byteranges {
            boundary: "THIS_STRING_SEPARATES",
            content_type: "application/pdf",
            total: 8000,
        };
        assert_eq!(parts.media_type(), "multipart/byteranges; boundary=THIS_STRING_SEPARATES");
        let body = [
            parts.before(Span { first: 500, last: 999 }, true),
            "...the first range...".to_owned(),
            parts.before(Span { first: 7000, last: 7999 }, false),
            "...the second range".to_owned(),
            parts.end(),
        ];
        let expected = "--THIS_STRING_SEPARATES\r\nContent-Type: application/pdf\r\n\
                        Content-Range: bytes 500-999/8000\r\n\r\n...the first range...\r\n\
                        --THIS_STRING_SEPARATES\r\nContent-Type: application/pdf\r\n\
                        Content-Range: bytes 7000-7999/8000\r\n\r\n...the second range\r\n\
                        --THIS_STRING_SEPARATES--\r\n";
        assert_eq!(body.concat(), expected);
    }

    #[test]
    fn a_type_cannot_end_its_line() {
        let parts = Byteranges { boundary: "b", content_type: "a/b\r\nX: y", total: 10 };
        let before = parts.before(Span { first: 0, last: 1 }, true);
        assert_eq!(before, "--b\r\nContent-Range: bytes 0-1/10\r\n\r\n");
    }
}
