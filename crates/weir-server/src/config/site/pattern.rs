//! Patterns of file names, such as `*.html` or `/assets/*`. Used by the values of keys that differ from
//! file to file.

use std::str::FromStr;

/// What stands for any characters, slashes included.
const ANY: u8 = b'*';

/// A pattern of names below the root: one that begins with a slash is for the whole name, others are for
/// its last segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern(String);

impl Pattern {
    /// Whether the file of this name, below the root and without a slash at its beginning, is one of
    /// those that are meant.
    pub(super) fn fits(&self, name: &[u8]) -> bool {
        match self.0.strip_prefix('/') {
            Some(whole) => fits(whole.as_bytes(), name),
            None => {
                let last = name.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
                fits(self.0.as_bytes(), last)
            }
        }
    }

    /// How exact it is: of two that fit, that with more characters of its own comes first, and of two with
    /// equally many one for the whole name before one for a last segment.
    pub(super) fn exactness(&self) -> (usize, bool) {
        let own = self.0.bytes().filter(|byte| *byte != ANY).count();
        (own, self.0.starts_with('/'))
    }
}

/// Whether `text` is `pattern` with something in the place of each `*`. Takes at most as many steps as the
/// product of both lengths: after a mismatch only the last `*` takes one more character.
fn fits(pattern: &[u8], text: &[u8]) -> bool {
    let (mut at, mut read) = (0, 0);
    let mut last = None;
    while read < text.len() {
        match pattern.get(at) {
            Some(&ANY) => {
                last = Some((at, read));
                at += 1;
            }
            Some(byte) if text.get(read) == Some(byte) => {
                at += 1;
                read += 1;
            }
            _ => match last {
                Some((star, from)) => {
                    last = Some((star, from + 1));
                    (at, read) = (star + 1, from + 1);
                }
                None => return false,
            },
        }
    }
    pattern.get(at..).unwrap_or_default().iter().all(|byte| *byte == ANY)
}

impl FromStr for Pattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let has_slash_inside = !text.starts_with('/') && text.contains('/');
        if text.is_empty() || has_slash_inside || text.contains(char::is_control) {
            return Err(format!(
                "\"{text}\" is not a pattern of file names; write such as *.html for names in every \
                 directory, or /assets/* for all below one"
            ));
        }
        Ok(Pattern(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_that_patterns_are_for() {
        for (pattern, name, expected) in [
            ("*", "a/b.c", true),
            ("*.html", "a/b.html", true),
            ("*.html", "b.htm", false),
            ("a*c", "x/abc", true),
            ("a*c", "ac", true),
            ("a*b*c", "aXbXbXc", true),
            ("a*b*c", "aXcXb", false),
            ("index.html", "a/index.html", true),
            ("index.html", "a/index.html.bak", false),
            ("/index.html", "index.html", true),
            ("/index.html", "a/index.html", false),
            ("/assets/*", "assets/a/b.js", true),
            ("/assets/*", "assets", false),
            ("/assets/*", "x/assets/a", false),
            ("/*/a.js", "x/y/a.js", true),
            ("/*", "", true),
        ] {
            let fits = pattern.parse::<Pattern>().unwrap().fits(name.as_bytes());
            assert_eq!(fits, expected, "{pattern} for {name}");
        }
        for wrong in ["", "a/b", "assets/*", "a\nb"] {
            assert!(wrong.parse::<Pattern>().unwrap_err().contains("write such as *.html"));
        }
    }

    /// The definition, which takes long.
    fn naive(pattern: &[u8], text: &[u8]) -> bool {
        match pattern.split_first() {
            None => text.is_empty(),
            Some((&ANY, rest)) => (0..=text.len()).any(|from| naive(rest, &text[from..])),
            Some((byte, rest)) => {
                text.split_first().is_some_and(|(first, text)| first == byte && naive(rest, text))
            }
        }
    }

    proptest! {
        #[test]
        fn the_short_way_says_what_the_definition_says(pattern in "[ab*]{0,8}", text in "[ab]{0,10}") {
            let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
            prop_assert_eq!(fits(pattern, text), naive(pattern, text));
        }
    }
}
