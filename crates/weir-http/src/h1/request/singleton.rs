//! A field that must not come more than once (RFC 9110, section 5.5). Used by [`super::fields`].

/// The value of a singleton field, as far as its lines have been read.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum Singleton<'b> {
    #[default]
    Absent,
    Once(&'b [u8]),
    Repeated,
}

impl<'b> Singleton<'b> {
    pub(super) fn add(&mut self, value: &'b [u8]) {
        *self = match self {
            Singleton::Absent => Singleton::Once(value),
            Singleton::Once(_) | Singleton::Repeated => Singleton::Repeated,
        };
    }

    pub(super) fn is_absent(self) -> bool {
        matches!(self, Singleton::Absent)
    }

    /// Whether the field came, but repeatedly or not as UTF-8.
    pub(super) fn is_unusable(self) -> bool {
        !self.is_absent() && self.text().is_none()
    }

    /// The value, if there is exactly one and it is UTF-8.
    pub(super) fn text(self) -> Option<&'b str> {
        match self {
            Singleton::Once(value) => std::str::from_utf8(value).ok(),
            Singleton::Absent | Singleton::Repeated => None,
        }
    }
}
