//! Fields that the configuration sets or removes, in requests or in responses. Used by
//! [`super::request`], [`super::response`] and the configuration of `weir-server`.

use http::{HeaderMap, HeaderName, HeaderValue};

use super::hop_by_hop;

/// Changes to the fields of a message. Those that would touch fields which frame the message, concern
/// the connection or name the host are ignored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FieldEdits {
    /// Fields to set, in this order: they replace all lines of the same name.
    pub set: Vec<(HeaderName, HeaderValue)>,
    /// Fields to remove.
    pub remove: Vec<HeaderName>,
}

impl FieldEdits {
    /// The first field here that edits may not change, if there is one, so that the configuration
    /// can be refused.
    pub fn first_forbidden(&self) -> Option<&HeaderName> {
        let set = self.set.iter().map(|(name, _)| name);
        set.chain(&self.remove).find(|name| !may_edit(name))
    }

    pub(super) fn apply(&self, fields: &mut HeaderMap) {
        for name in self.remove.iter().filter(|name| may_edit(name)) {
            fields.remove(name);
        }
        for (name, _) in self.fields_to_set() {
            fields.remove(name);
        }
        for (name, value) in self.fields_to_set() {
            fields.append(name.clone(), value.clone());
        }
    }

    /// Removes from a trailer section every field that is set or removed in the head: a reader that
    /// merges trailers into the head would undo the edit.
    pub fn apply_to_trailers(&self, fields: &mut HeaderMap) {
        let set = self.set.iter().map(|(name, _)| name);
        for name in self.remove.iter().chain(set).filter(|name| may_edit(name)) {
            fields.remove(name);
        }
    }

    /// Whether a field of this name is set or removed.
    pub fn changes(&self, name: &HeaderName) -> bool {
        may_edit(name)
            && (self.remove.contains(name) || self.set.iter().any(|(other, _)| other == name))
    }

    /// The fields to set.
    pub(super) fn fields_to_set(&self) -> impl Iterator<Item = &(HeaderName, HeaderValue)> {
        self.set.iter().filter(|(name, _)| may_edit(name))
    }
}

fn may_edit(name: &HeaderName) -> bool {
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
        assert_eq!(edits.first_forbidden(), None);
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
            assert_eq!(remove.first_forbidden().map(HeaderName::as_str), Some(name));
            remove.apply(&mut fields);
            let set = edits(&[(name, "2")], &[]);
            assert_eq!(set.first_forbidden().map(HeaderName::as_str), Some(name));
            set.apply(&mut fields);
            assert_eq!(fields[name], "1", "{name}");
        }
    }
}
