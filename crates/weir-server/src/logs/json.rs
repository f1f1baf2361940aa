//! Objects of JSON (RFC 8259), each on a line of its own, written straight into the line. Used by the access
//! log and by the server's messages.

use std::fmt::{self, Write as _};
use std::time::Duration;

use super::date::Date;
use super::numbers;

/// An object that is being written at the end of a line. Names are letters, digits and underscores.
pub(super) struct Object<'o> {
    out: &'o mut String,
    is_empty: bool,
}

impl<'o> Object<'o> {
    /// Begins an object.
    pub(super) fn begin(out: &'o mut String) -> Object<'o> {
        out.push('{');
        Object { out, is_empty: true }
    }

    /// Adds a text, whatever is in it.
    pub(super) fn text(&mut self, name: &str, value: &str) {
        self.name(name);
        self.out.push('"');
        escape(self.out, value);
        self.out.push('"');
    }

    /// Adds a text, or null.
    pub(super) fn text_or_null(&mut self, name: &str, value: Option<&str>) {
        match value {
            Some(value) => self.text(name, value),
            None => self.null(name),
        }
    }

    /// Adds a text that needs no escaping.
    pub(super) fn plain(&mut self, name: &str, value: impl fmt::Display) {
        self.name(name);
        let _ = write!(self.out, "\"{value}\"");
    }

    /// Adds a date.
    pub(super) fn date(&mut self, name: &str, date: &Date) {
        self.name(name);
        self.out.push('"');
        date.write_rfc3339(self.out);
        self.out.push('"');
    }

    /// Adds a number.
    pub(super) fn number(&mut self, name: &str, value: u64) {
        self.name(name);
        numbers::number(self.out, value);
    }

    /// Adds a time in seconds, or null.
    pub(super) fn seconds(&mut self, name: &str, time: Option<Duration>) {
        match time {
            Some(time) => {
                self.name(name);
                numbers::seconds(self.out, time);
            }
            None => self.null(name),
        }
    }

    /// Ends the object.
    pub(super) fn end(self) {
        self.out.push('}');
    }

    fn null(&mut self, name: &str) {
        self.name(name);
        self.out.push_str("null");
    }

    fn name(&mut self, name: &str) {
        if !std::mem::take(&mut self.is_empty) {
            self.out.push(',');
        }
        self.out.push('"');
        self.out.push_str(name);
        self.out.push_str("\":");
    }
}

/// Adds a text with what JSON does not allow within quotes escaped (RFC 8259, section 7).
fn escape(out: &mut String, text: &str) {
    let mut from = 0;
    for (at, byte) in text.bytes().enumerate() {
        if byte >= b' ' && !matches!(byte, b'"' | b'\\' | 0x7f) {
            continue;
        }
        // What is escaped is ASCII: the text is not cut within a character.
        out.push_str(text.get(from..at).unwrap_or_default());
        let _ = match byte {
            b'"' | b'\\' => write!(out, "\\{}", char::from(byte)),
            b'\n' => write!(out, "\\n"),
            _ => write!(out, "\\u{byte:04x}"),
        };
        from = at + 1;
    }
    out.push_str(text.get(from..).unwrap_or_default());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_object_has_its_values_in_order() {
        let mut line = String::new();
        let mut object = Object::begin(&mut line);
        object.date("time", &Date::at(Duration::from_millis(784_111_777_123)));
        object.text("a", "\"\\\n\u{7f}é");
        object.text_or_null("b", None);
        object.plain("c", 1);
        object.number("d", 2);
        object.seconds("e", Some(Duration::from_micros(1_500_000)));
        object.seconds("f", None);
        object.end();
        let expected = "{\"time\":\"1994-11-06T08:49:37.123Z\",\"a\":\"\\\"\\\\\\n\\u007fé\",\"b\":null,\
                        \"c\":\"1\",\"d\":2,\"e\":1.500000,\"f\":null}";
        assert_eq!(line, expected);
    }

    proptest! {
        #[test]
        fn every_text_is_read_back_from_one_line(text in any::<String>()) {
            let mut line = String::new();
            let mut object = Object::begin(&mut line);
            object.text("text", &text);
            object.end();
            let read: serde_json::Value = serde_json::from_str(&line).unwrap();
            prop_assert_eq!(&read["text"], &serde_json::Value::String(text));
            prop_assert!(!line.bytes().any(|byte| byte.is_ascii_control()));
        }
    }
}
