//! Fields that the configuration sets or removes on the way. It does not know which way.

use http::{HeaderMap, HeaderName, HeaderValue};

use super::hop_by_hop;

/// What to change of the fields of a message. Fields that frame the message, concern the connection
/// or name the host are left alone whatever stands here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldEdits {
    /// Fields to set: in place of all lines of that name, one line each, in this order.
    pub set: Vec<(HeaderName, HeaderValue)>,
    /// Fields to remove.
    pub remove: Vec<HeaderName>,
}

impl FieldEdits {
    /// The first field here that edits may not touch, if there is one, for who reads the
    /// configuration.
    pub fn refused(&self) -> Option<&HeaderName> {
        let set = self.set.iter().map(|(name, _)| name);
        set.chain(&self.remove).find(|name| !is_free(name))
    }

    pub(super) fn apply(&self, fields: &mut HeaderMap) {
        for name in self.remove.iter().filter(|name| is_free(name)) {
            fields.remove(name);
        }
        for (name, _) in self.settings() {
            fields.remove(name);
        }
        for (name, value) in self.settings() {
            fields.append(name.clone(), value.clone());
        }
    }

    /// Takes out of a trailer section what the head of its message has otherwise: a reader that merges
    /// trailers into the head would undo the change. Nothing is set there.
    pub fn apply_to_trailers(&self, fields: &mut HeaderMap) {
        let set = self.set.iter().map(|(name, _)| name);
        for name in self.remove.iter().chain(set).filter(|name| is_free(name)) {
            fields.remove(name);
        }
    }

    /// Whether a field of this name is not passed on as it came.
    pub(super) fn touches(&self, name: &HeaderName) -> bool {
        is_free(name)
            && (self.remove.contains(name) || self.set.iter().any(|(other, _)| other == name))
    }

    /// The fields to set.
    pub(super) fn settings(&self) -> impl Iterator<Item = &(HeaderName, HeaderValue)> {
        self.set.iter().filter(|(name, _)| is_free(name))
    }
}

fn is_free(name: &HeaderName) -> bool {
    let name = name.as_str();
    !hop_by_hop::is_hop_by_hop(name) && !matches!(name, "host" | "trailer" | "expect")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edits(set: &[(&'static str, &'static str)], remove: &[&'static str]) -> FieldEdits {
        let pair =
            |&(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value));
        FieldEdits {
            set: set.iter().map(pair).collect(),
            remove: remove.iter().map(|name| HeaderName::from_static(name)).collect(),
        }
    }

    #[test]
    fn set_replaces_and_remove_removes() {
        let mut fields = HeaderMap::new();
        for (name, value) in [("a", "1"), ("a", "2"), ("b", "3"), ("c", "4")] {
            fields.append(name, HeaderValue::from_static(value));
        }
        let edits = edits(&[("a", "x"), ("d", "y"), ("d", "z")], &["b", "d"]);
        edits.apply(&mut fields);
        let all = |name| fields.get_all(name).iter().collect::<Vec<_>>();
        assert_eq!(all("a"), ["x"]);
        assert_eq!(all("d"), ["y", "z"]);
        assert_eq!((all("b").len(), all("c").len()), (0, 1));
        assert_eq!(edits.refused(), None);
    }

    #[test]
    fn trailers_have_neither_what_is_set_nor_what_is_removed() {
        let mut fields = HeaderMap::new();
        for (name, value) in [("a", "1"), ("a", "2"), ("b", "3"), ("c", "4")] {
            fields.append(name, HeaderValue::from_static(value));
        }
        edits(&[("a", "x"), ("d", "y")], &["b"]).apply_to_trailers(&mut fields);
        assert_eq!((fields.len(), &fields["c"]), (1, &HeaderValue::from_static("4")));
    }

    #[test]
    fn what_frames_or_routes_a_message_is_not_edited() {
        for name in ["content-length", "transfer-encoding", "connection", "upgrade", "te", "host"] {
            let mut fields = HeaderMap::new();
            fields.insert(name, HeaderValue::from_static("1"));
            let remove = edits(&[], &[name]);
            assert_eq!(remove.refused().map(HeaderName::as_str), Some(name));
            remove.apply(&mut fields);
            let set = edits(&[(name, "2")], &[]);
            assert_eq!(set.refused().map(HeaderName::as_str), Some(name));
            set.apply(&mut fields);
            assert_eq!(fields[name], "1", "{name}");
        }
    }
}
