//! Changes to the fields of a response that weir makes itself, as the configuration of a site says. Made
//! by `weir-server`; [`super::ResponseFields`] writes them.

use http::{HeaderName, HeaderValue};

use super::fields::FieldSink;

/// Bytes of a line beside its name and value.
const LINE: usize = ": \r\n".len();

/// See the module. What frames a message or names its date is not to be changed: the configuration
/// refuses that.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldChanges {
    /// Fields to write in place of weir's own of the same name.
    pub set: Vec<(HeaderName, HeaderValue)>,
    /// Fields to write beside whatever else has this name, such as `Vary`.
    pub add: Vec<(HeaderName, HeaderValue)>,
    /// Fields of weir's own to leave out.
    pub remove: Vec<HeaderName>,
}

impl FieldChanges {
    /// Whether nothing is changed.
    pub fn is_empty(&self) -> bool {
        self.set.is_empty() && self.add.is_empty() && self.remove.is_empty()
    }

    /// Bytes of the lines that are written.
    pub fn len_written(&self) -> usize {
        let lines = self.set.iter().chain(&self.add);
        lines.map(|(name, value)| name.as_str().len() + value.len() + LINE).sum()
    }

    /// The same, which sets `name` to `value` whatever was said of it before.
    pub fn setting(mut self, name: HeaderName, value: HeaderValue) -> FieldChanges {
        self.set.retain(|(other, _)| *other != name);
        self.set.push((name, value));
        self
    }

    /// The same, which adds a field beside others of its name.
    pub fn adding(mut self, name: HeaderName, value: HeaderValue) -> FieldChanges {
        self.add.push((name, value));
        self
    }

    /// The value that `name` is set to.
    pub fn set_value(&self, name: &HeaderName) -> Option<&HeaderValue> {
        self.set.iter().find(|(set, _)| set == name).map(|(_, value)| value)
    }

    /// Whether weir's own field of this name is as it was.
    pub fn keeps(&self, name: &HeaderName) -> bool {
        !self.leaves_out(name.as_str())
    }

    /// The same, which keeps weir's own field of this name.
    pub fn keeping(mut self, name: &HeaderName) -> FieldChanges {
        self.set.retain(|(set, _)| set != name);
        self.remove.retain(|removed| removed != name);
        self
    }

    /// The fields that are written, in their order.
    pub fn written(&self) -> impl Iterator<Item = (&HeaderName, &HeaderValue)> {
        self.set.iter().chain(&self.add).map(|(name, value)| (name, value))
    }

    /// Whether weir's own field of this name is not written.
    fn leaves_out(&self, name: &str) -> bool {
        let set = self.set.iter().map(|(name, _)| name);
        set.chain(&self.remove).any(|changed| changed.as_str().eq_ignore_ascii_case(name))
    }

    /// Gives `sink` the fields that are written.
    pub(super) fn write_to(&self, sink: &mut impl FieldSink) {
        self.written().for_each(|(name, value)| sink.field(name.as_str(), value.as_bytes()));
    }
}

/// Passes on the fields that the changes leave as they are.
pub(super) struct Kept<'a, S> {
    pub(super) changes: &'a FieldChanges,
    pub(super) sink: &'a mut S,
}

impl<S: FieldSink> FieldSink for Kept<'_, S> {
    fn field(&mut self, name: &str, value: &[u8]) {
        if !self.changes.leaves_out(name) {
            self.sink.field(name, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ResponseFields;
    use super::*;
    use http::{StatusCode, header};

    /// Writes fields as lines.
    struct Lines(String);

    impl FieldSink for Lines {
        fn field(&mut self, name: &str, value: &[u8]) {
            self.0 += &format!("{name}: {}\n", String::from_utf8_lossy(value));
        }
    }

    fn written(changes: &FieldChanges, status: StatusCode) -> String {
        let mut lines = Lines(String::new());
        let fields = ResponseFields {
            length: Some(3),
            content_type: Some("text/plain"),
            changes: Some(changes),
            ..ResponseFields::default()
        };
        fields.write_to(status, &mut lines);
        lines.0
    }

    #[test]
    fn what_is_set_replaces_and_what_is_added_stands_beside() {
        let text = HeaderValue::from_static;
        let changes =
            FieldChanges { remove: vec![header::LAST_MODIFIED], ..FieldChanges::default() }
                .setting(header::CONTENT_TYPE, text("text/x-a"))
                .setting(header::CACHE_CONTROL, text("no-store"))
                .setting(header::CACHE_CONTROL, text("no-cache"))
                .adding(header::VARY, text("Accept"))
                .adding(header::VARY, text("Origin"));
        let expected = "Content-Length: 3\ncontent-type: text/x-a\ncache-control: no-cache\n\
                        vary: Accept\nvary: Origin\n";
        assert_eq!(written(&changes, StatusCode::OK), expected);
        // A 304 has them, too: the client's copy is to be as the 200 would be (RFC 9110, section 15.4.5).
        let not_modified = written(&changes, StatusCode::NOT_MODIFIED);
        assert!(not_modified.contains("cache-control: no-cache\n"), "{not_modified}");
        assert!(!changes.is_empty() && FieldChanges::default().is_empty());
        let lines =
            "content-type: text/x-a\r\ncache-control: no-cache\r\nvary: Accept\r\nvary: Origin\r\n";
        assert_eq!(changes.len_written(), lines.len());
        assert_eq!(changes.set_value(&header::CONTENT_TYPE).unwrap(), "text/x-a");
        assert!(!changes.keeps(&header::CONTENT_TYPE) && !changes.keeps(&header::LAST_MODIFIED));
        assert!(changes.keeps(&header::VARY), "what is added stands beside it");
        let kept = changes.keeping(&header::CONTENT_TYPE).keeping(&header::LAST_MODIFIED);
        assert!(kept.keeps(&header::CONTENT_TYPE) && kept.keeps(&header::LAST_MODIFIED));
        assert!(!kept.keeps(&header::CACHE_CONTROL));
    }
}
