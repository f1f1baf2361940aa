//! What the value of a key can be: how it is read from the file, what the server gets, and how the
//! documentation names it. Implemented by every type in a table of [`super::table`].

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::de::{Deserialize, Deserializer};
use weir_sched::balance::Balance;
use weir_sched::policy::ProtectiveOrder;
use weir_sched::{BackendOrder, CallLimit, PolicyKind};
use weir_units::{Count, Size, text};

use super::key::Key;

/// The value of a key.
pub trait Value: Sized {
    /// What the server works with.
    type Resolved;

    /// What stands for it in help and documentation, such as `TIME`.
    const NAME: &'static str;

    /// Words that may be written, each with what it means, which may be empty.
    fn words() -> Vec<(&'static str, &'static str)> {
        Vec::new()
    }

    /// What the documentation says after the name, such as bounds.
    fn detail() -> String {
        String::new()
    }

    /// The keys of a table.
    fn keys() -> Vec<Key> {
        Vec::new()
    }

    /// Reads it from the file.
    ///
    /// # Errors
    ///
    /// What is wrong with it and what would be right.
    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error>;

    /// What the server works with.
    fn resolve(self) -> Self::Resolved;

    /// As it is written on the command line, for values that are defaults.
    fn written(&self) -> String {
        Self::NAME.to_owned()
    }

    /// Takes a relative path to be relative to `directory`, which is that of the file.
    fn move_beside(&mut self, _directory: &Path) {}
}

/// Reads the value of a key that is there.
pub(super) fn read<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Value,
{
    T::read(deserializer).map(Some)
}

/// [`Value`] for types that are read with `FromStr` and printed with `Display`: the type, its name, what
/// the server gets, and other items of the trait.
macro_rules! value {
    ($type:ty, $name:literal, |$value:ident| -> $resolved:ty { $resolve:expr } $($items:tt)*) => {
        impl $crate::config::value::Value for $type {
            type Resolved = $resolved;

            const NAME: &'static str = $name;

            fn read<'de, D: ::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::std::result::Result<Self, D::Error> {
                ::weir_units::text::from_text(deserializer)
            }

            fn resolve(self) -> $resolved {
                let $value = self;
                $resolve
            }

            fn written(&self) -> String {
                self.to_string()
            }

            $($items)*
        }
    };
}

/// [`Value`] for an enum with `ALL`, `name` and `help`, as [`weir_units::choice!`] makes them.
macro_rules! choice_value {
    ($type:ty) => {
        $crate::config::value::value! {
            $type, "NAME", |it| -> $type { it }
            fn words() -> Vec<(&'static str, &'static str)> {
                <$type>::ALL.iter().map(|it| (it.name(), it.help())).collect()
            }
        }
    };
}

/// [`Value`] for the keys of a table inside a table, as [`super::table`] makes them.
macro_rules! table_value {
    ($keys:ty => $resolved:ty) => {
        impl $crate::config::value::Value for $keys {
            type Resolved = $resolved;

            const NAME: &'static str = "TABLE";

            fn keys() -> Vec<$crate::config::key::Key> {
                <$keys as $crate::config::key::Table>::keys()
            }

            fn read<'de, D: ::serde::Deserializer<'de>>(
                deserializer: D,
            ) -> ::std::result::Result<Self, D::Error> {
                ::serde::Deserialize::deserialize(deserializer)
            }

            fn resolve(self) -> $resolved {
                <$keys>::resolve(&self)
            }
        }
    };
}

pub(super) use {choice_value, table_value, value};

value!(String, "TEXT", |text| -> String { text });
value!(Size, "SIZE", |size| -> u64 { size.0 });
choice_value!(PolicyKind);
choice_value!(ProtectiveOrder);

value! {
    CallLimit, "N", |limit| -> CallLimit { limit }
    fn words() -> Vec<(&'static str, &'static str)> {
        vec![("auto", "learned from how long calls take"), ("a number", "always so many, from 1")]
    }
}

value! {
    BackendOrder, "NAME", |order| -> BackendOrder { order }
    fn words() -> Vec<(&'static str, &'static str)> {
        let meaning = |order| match order {
            BackendOrder::Adaptive => {
                "first come first served while clients can be served in time, newest first otherwise"
            }
            BackendOrder::NewestFirst => "last come first served",
            BackendOrder::Fifo => "first come first served",
            BackendOrder::ShortestExpected => "shortest expected service time first",
            BackendOrder::Edf => {
                "earliest deadline first, which is when clients of the route would leave"
            }
        };
        BackendOrder::ALL.into_iter().map(|order| (order.name(), meaning(order))).collect()
    }
}

value! {
    Balance, "NAME", |balance| -> Balance { balance }
    fn words() -> Vec<(&'static str, &'static str)> {
        let meaning = |balance| match balance {
            Balance::RoundRobin => "one after the other",
            Balance::LeastRequests => "the one with the fewest requests",
            Balance::TwoChoices => "the one with fewer requests of two drawn at random",
            Balance::Hash => "by the client's address: one client stays with one backend",
            Balance::HashPath => "by the path: one path stays with one backend",
        };
        Balance::ALL.into_iter().map(|balance| (balance.name(), meaning(balance))).collect()
    }
}

impl<const LEAST: u32, const MOST: u32> Value for Count<LEAST, MOST> {
    type Resolved = u32;

    const NAME: &'static str = "N";

    fn detail() -> String {
        format!(" from {LEAST} to {MOST}")
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        text::from_text(deserializer)
    }

    fn resolve(self) -> u32 {
        self.get()
    }

    fn written(&self) -> String {
        self.to_string()
    }
}

impl Value for bool {
    type Resolved = bool;

    const NAME: &'static str = "BOOL";

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        bool::deserialize(deserializer)
    }

    fn resolve(self) -> bool {
        self
    }

    fn written(&self) -> String {
        self.to_string()
    }
}

impl Value for BTreeMap<String, String> {
    type Resolved = BTreeMap<String, String>;

    const NAME: &'static str = "TABLE";

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        BTreeMap::deserialize(deserializer)
    }

    fn resolve(self) -> BTreeMap<String, String> {
        self
    }
}

impl Value for PathBuf {
    type Resolved = PathBuf;

    const NAME: &'static str = "DIR";

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        PathBuf::deserialize(deserializer)
    }

    fn resolve(self) -> PathBuf {
        self
    }

    fn move_beside(&mut self, directory: &Path) {
        *self = directory.join(&*self);
    }
}

/// A list is an array of texts, or a single text.
impl<T: Value + std::str::FromStr<Err: std::fmt::Display>> Value for Vec<T> {
    type Resolved = Vec<T::Resolved>;

    const NAME: &'static str = T::NAME;

    fn words() -> Vec<(&'static str, &'static str)> {
        T::words()
    }

    fn detail() -> String {
        format!("{}, one or several", T::detail())
    }

    fn read<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        text::list_from_text(deserializer)
    }

    fn resolve(self) -> Vec<T::Resolved> {
        self.into_iter().map(T::resolve).collect()
    }

    fn written(&self) -> String {
        self.iter().map(T::written).collect::<Vec<_>>().join(", ")
    }

    fn move_beside(&mut self, directory: &Path) {
        self.iter_mut().for_each(|item| item.move_beside(directory));
    }
}
