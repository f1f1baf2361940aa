//! [`settings!`]: one table of keys, from which come what was given, what the server works with, the
//! flags and their help, the keys that the file may have, and docs/configuration.md. Used by
//! [`super::settings`] for the server and by [`super::routes`] for routes.

/// Makes two structs of a table of keys: what was given, where every key is an `Option`, and what the
/// server works with, where defaults are filled in.
///
/// A key is written
///
/// ```text
/// /// One sentence, which is the help of the flag.
/// ///
/// /// Paragraphs for the documentation.
/// #[arg(long)]                        if there is a flag
/// name: Type = default,               or `=> |given| computed default`, or neither
///     else "what happens if nobody says",
///     needs "other_key",
///     example "a value";
/// ```
///
/// where `else` and `needs` may be left out. The type is a [`Value`](super::value::Value). What is
/// not a key but part of what the server works with stands in the braces of the second struct.
macro_rules! settings {
    (
        $(#[$about_given:meta])*
        $given_visibility:vis struct $given:ident;

        $(#[$about_resolved:meta])*
        $visibility:vis struct $resolved:ident {
            $($(#[$about_extra:meta])* $extra_visibility:vis $extra:ident: $extra_type:ty,)*
        }

        $($group:literal {
            $(
                $(#[doc = $doc:literal])+
                $(#[arg($($arg:tt)+)])?
                $key:ident: $type:ty $(= $default:expr)? $(=> |$by:ident| $computed:expr)?,
                $(else $absent:literal,)?
                $(needs $needs:literal,)?
                example $example:tt;
            )+
        })+
    ) => {
        $(#[$about_given])*
        #[derive(Clone, Debug, Default, ::serde::Deserialize)]
        $given_visibility struct $given {
            $($(
                $(#[arg(
                    value_name = <$type as $crate::config::value::Value>::NAME,
                    help = <$given as $crate::config::key::Table>::help(stringify!($key)),
                    help_heading = $group,
                    $($arg)+
                )])?
                #[serde(default, deserialize_with = "crate::config::value::read")]
                $given_visibility $key: Option<$type>,
            )+)+
        }

        $(#[$about_resolved])*
        #[derive(Clone, Debug)]
        $visibility struct $resolved {
            $($(
                $(#[doc = $doc])+
                $visibility $key: settings!(@type $type $(= $default)? $(=> $computed)?),
            )+)+
            $($(#[$about_extra])* $extra_visibility $extra: $extra_type,)*
        }

        impl $crate::config::key::Resolved for $resolved {
            fn differing(&self, other: &Self) -> Vec<&'static str> {
                // Every value can be shown, and not every one compared.
                let pairs = [$($((
                    stringify!($key),
                    format!("{:?}", self.$key),
                    format!("{:?}", other.$key),
                )),+),+];
                let differing = pairs.iter().filter(|(_, own, others)| own != others);
                differing.map(|(name, ..)| *name).collect()
            }
        }

        impl $crate::config::key::Table for $given {
            const NAMES: &'static [&'static str] = &[$($(stringify!($key)),+),+];

            fn key(name: &str) -> Option<$crate::config::key::Key> {
                $($(if name == stringify!($key) {
                    return Some($crate::config::key::Key {
                        name: stringify!($key),
                        group: $group,
                        doc: concat!($($doc, "\n"),+),
                        value: <$type as $crate::config::value::Value>::NAME,
                        detail: <$type as $crate::config::value::Value>::detail(),
                        words: <$type as $crate::config::value::Value>::words(),
                        default: settings!(@option
                            $(<$type as $crate::config::value::Value>::written(&$default))?),
                        absent: settings!(@option $($absent)?),
                        needs: settings!(@option $($needs)?),
                        example: stringify!($example),
                        keys: <$type as $crate::config::value::Value>::keys(),
                    });
                })+)+
                None
            }

            fn given(&self) -> Vec<&'static str> {
                let given = [$($((stringify!($key), self.$key.is_some())),+),+];
                given.into_iter().filter(|(_, given)| *given).map(|(name, _)| name).collect()
            }

            fn over(self, below: Self) -> Self {
                Self { $($($key: self.$key.or(below.$key),)+)+ }
            }

            fn move_beside(&mut self, directory: &::std::path::Path) {
                $($(if let Some(value) = &mut self.$key {
                    $crate::config::value::Value::move_beside(value, directory);
                })+)+
            }
        }

        impl $given {
            /// Fills in the defaults.
            #[allow(
                clippy::too_many_arguments,
                reason = "one for each part of a table's result that is no key of it"
            )]
            $given_visibility fn resolve(&self, $($extra: $extra_type),*) -> $resolved {
                $resolved {
                    $($($key: settings!(
                        @resolve self, self.$key.clone()
                        $(, = $default)? $(, => |$by| $computed)?
                    ),)+)+
                    $($extra,)*
                }
            }
        }
    };

    (@type $type:ty) => { Option<<$type as $crate::config::value::Value>::Resolved> };
    (@type $type:ty = $default:expr) => { <$type as $crate::config::value::Value>::Resolved };
    (@type $type:ty => $computed:expr) => { <$type as $crate::config::value::Value>::Resolved };

    (@option) => { None };
    (@option $value:expr) => { Some($value) };

    (@resolve $given:expr, $value:expr) => {
        $value.map($crate::config::value::Value::resolve)
    };
    (@resolve $given:expr, $value:expr, = $default:expr) => {
        $crate::config::value::Value::resolve($value.unwrap_or_else(|| $default))
    };
    (@resolve $given:expr, $value:expr, => |$by:ident| $computed:expr) => {
        $crate::config::value::Value::resolve($value.unwrap_or_else(|| {
            let $by = $given;
            $computed
        }))
    };
}

pub(super) use settings;
