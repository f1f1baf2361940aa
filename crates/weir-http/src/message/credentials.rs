//! Basic authentication (RFC 7617): the credentials that a client sends, and the challenge that asks for
//! them. Used by `weir-server` for routes with a file of passwords.

use std::fmt;

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// With or without its padding: some clients leave it out.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Who a client says it is.
#[derive(Clone, PartialEq, Eq)]
pub struct BasicCredentials {
    /// The user: text without colons and control characters, perhaps empty.
    pub user: String,
    /// The password: text without control characters, perhaps empty.
    pub password: String,
}

/// Without the password: what is printed may end in a log.
impl fmt::Debug for BasicCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BasicCredentials").field("user", &self.user).finish_non_exhaustive()
    }
}

/// The credentials in the value of `Authorization`; `None`: they are of another scheme or malformed.
pub fn basic(authorization: &[u8]) -> Option<BasicCredentials> {
    let (scheme, encoded) = authorization.split_at_checked("Basic ".len())?;
    if !scheme.eq_ignore_ascii_case(b"Basic ") {
        return None;
    }
    let text = String::from_utf8(LENIENT.decode(encoded.trim_ascii()).ok()?).ok()?;
    let (user, password) = text.split_once(':')?;
    // RFC 7617, section 2.
    let is_valid = !text.contains(|c: char| c.is_ascii_control());
    is_valid.then(|| BasicCredentials { user: user.to_owned(), password: password.to_owned() })
}

/// The value of `WWW-Authenticate` that asks for a user of `realm`, which has no control characters.
pub fn challenge(realm: &str) -> String {
    let quoted = realm.replace('\\', "\\\\").replace('"', "\\\"");
    format!("Basic realm=\"{quoted}\", charset=\"UTF-8\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(authorization: &str) -> Option<(String, String)> {
        basic(authorization.as_bytes()).map(|it| (it.user, it.password))
    }

    #[test]
    fn credentials_as_in_rfc_7617() {
        let pair = |user: &str, password: &str| Some((user.to_owned(), password.to_owned()));
        for (value, expected) in [
            ("Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", pair("Aladdin", "open sesame")),
            ("basic QWxhZGRpbjpvcGVuIHNlc2FtZQ", pair("Aladdin", "open sesame")),
            // A pound sign in UTF-8.
            ("BASIC dGVzdDoxMjPCow==", pair("test", "123£")),
            ("Basic  YTpiOmM= ", pair("a", "b:c")),
            ("Basic Og==", pair("", "")),
            ("Basic", None),
            ("Basic ", None),
            ("BasicYTpi", None),
            ("Bearer YTpi", None),
            ("Basic YWI=", None),
            ("Basic YTpi!", None),
            // 0xff, and a NUL.
            ("Basic YTr/", None),
            ("Basic YTpiAA==", None),
        ] {
            assert_eq!(read(value), expected, "{value}");
        }
        let credentials = basic(b"Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==").unwrap();
        assert!(!format!("{credentials:?}").contains("sesame"));
    }

    #[test]
    fn a_realm_cannot_end_its_quotes() {
        assert_eq!(challenge("Staff"), "Basic realm=\"Staff\", charset=\"UTF-8\"");
        assert_eq!(challenge("a\"b\\"), "Basic realm=\"a\\\"b\\\\\", charset=\"UTF-8\"");
    }

    proptest! {
        #[test]
        fn what_is_sent_is_read(user in "[^:\\p{Cc}]{0,9}", password in "\\P{Cc}{0,9}") {
            let value = format!("Basic {}", LENIENT.encode(format!("{user}:{password}")));
            prop_assert_eq!(read(&value), Some((user, password)));
        }

        #[test]
        fn nothing_panics(value in prop::collection::vec(any::<u8>(), 0..40), scheme: bool) {
            let start = if scheme { &b"Basic "[..] } else { b"" };
            let _ = basic(&[start, &value].concat());
        }
    }
}
