//! A field that should come once, and what came of it. It does not know which field.

/// The lines of a field that should come once.
#[derive(Debug, Clone, Copy, Default)]
pub(super) enum Single<'b> {
    #[default]
    Absent,
    Once(&'b [u8]),
    Repeated,
}

impl<'b> Single<'b> {
    pub(super) fn add(&mut self, value: &'b [u8]) {
        *self = match self {
            Single::Absent => Single::Once(value),
            Single::Once(_) | Single::Repeated => Single::Repeated,
        };
    }

    pub(super) fn is_absent(self) -> bool {
        matches!(self, Single::Absent)
    }

    /// Whether the field came but has no text to go by.
    pub(super) fn is_unusable(self) -> bool {
        !self.is_absent() && self.text().is_none()
    }

    /// The value, if there is exactly one and it is UTF-8.
    pub(super) fn text(self) -> Option<&'b str> {
        match self {
            Single::Once(value) => std::str::from_utf8(value).ok(),
            Single::Absent | Single::Repeated => None,
        }
    }
}
