//! Settings that are one of a few words: [`choice!`](crate::choice) makes an enum of them. Used by
//! the configuration of the server, which takes the words and what they mean into its documentation.

/// An enum with a name for each value, by which it is read and printed, and a line of help, which is
/// the value's documentation.
///
/// ```
/// weir_units::choice! {
///     /// How requests are spaced.
///     pub enum Spacing, "a way to space requests", default Poisson {
///         /// Independent users: exponential gaps.
///         Poisson = "poisson",
///         /// Equal gaps.
///         Even = "even",
///     }
/// }
/// assert_eq!("even".parse(), Ok(Spacing::Even));
/// assert_eq!(Spacing::default().to_string(), "poisson");
/// assert_eq!(Spacing::Even.help(), "Equal gaps.");
/// assert_eq!(
///     "odd".parse::<Spacing>().unwrap_err().to_string(),
///     "\"odd\" is not a way to space requests; write poisson or even",
/// );
/// ```
#[macro_export]
macro_rules! choice {
    (
        $(#[$about:meta])*
        $visibility:vis enum $kind:ident, $what:literal, default $default:ident {
            $($(#[doc = $help:literal])+ $value:ident = $name:literal),+ $(,)?
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        $visibility enum $kind { $($(#[doc = $help])+ $value),+ }

        impl $kind {
            /// Every value, in the order of the documentation.
            $visibility const ALL: &'static [$kind] = &[$($kind::$value),+];

            /// As it is written.
            $visibility const fn name(self) -> &'static str {
                match self { $($kind::$value => $name),+ }
            }

            /// What it means, in a sentence.
            $visibility const fn help(self) -> &'static str {
                match self { $($kind::$value => concat!($($help),+).trim_ascii()),+ }
            }
        }

        impl ::std::default::Default for $kind {
            fn default() -> $kind {
                $kind::$default
            }
        }

        impl ::std::fmt::Display for $kind {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl ::std::str::FromStr for $kind {
            type Err = $crate::Invalid;

            fn from_str(text: &str) -> ::std::result::Result<$kind, $crate::Invalid> {
                let found = $kind::ALL.iter().copied().find(|value| value.name() == text.trim());
                found.ok_or_else(|| {
                    $crate::Invalid::new(text, $what, $crate::one_of(&[$($name),+]))
                })
            }
        }
    };
}

/// Words as an alternative: `a`, `a or b`, `a, b or c`.
pub fn one_of(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [word] => (*word).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn words_are_joined_as_in_a_sentence() {
        let joined = [&["a"][..], &["a", "b"], &["a", "b", "c"]].map(super::one_of);
        assert_eq!(joined, ["a", "a or b", "a, b or c"]);
    }
}
