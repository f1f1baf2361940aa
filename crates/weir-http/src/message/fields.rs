//! The fields of a message, and the grammar that their values share: tokens and comma-separated lists
//! (RFC 9110, sections 5 and 5.6). Protocols gather the fields, the proxy passes them on.

/// All fields of a message in their order, as they came: names in any case, values that hold any byte
/// but ASCII controls, tabs apart, and no white space at their ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Fields<'b>(Box<[(&'b str, &'b [u8])]>);

impl<'b> Fields<'b> {
    /// Names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&'b str, &'b [u8])> + '_ {
        self.0.iter().copied()
    }

    /// The values of all fields of this name, in any case, as one list with commas between them (RFC
    /// 9110, section 5.3); what is not UTF-8 is replaced. `None`: there is no such field.
    pub fn list(&self, name: &str) -> Option<String> {
        let named = self.iter().filter(|(other, _)| other.eq_ignore_ascii_case(name));
        let values: Vec<_> = named.map(|(_, value)| String::from_utf8_lossy(value)).collect();
        (!values.is_empty()).then(|| values.join(","))
    }
}

impl<'b> FromIterator<(&'b str, &'b [u8])> for Fields<'b> {
    fn from_iter<I: IntoIterator<Item = (&'b str, &'b [u8])>>(fields: I) -> Fields<'b> {
        Fields(fields.into_iter().collect())
    }
}

/// Takes the fields of a head one by one and writes them as its version of HTTP does.
pub trait FieldSink {
    /// One more field. `name`: in any case; `value`: without line ends.
    fn field(&mut self, name: &str, value: &[u8]);
}

/// Whether `byte` may stand in a token.
pub(crate) fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

/// The members of a list, without the white space around them; some may be empty. Only for lists
/// of tokens: a comma inside a quoted string divides as well.
pub(crate) fn members(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii)
}
