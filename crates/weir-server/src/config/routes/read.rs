//! Reads the `[[route]]` tables of the file: keys, values and their lines. Used by the reader of the
//! file.

use std::borrow::Cow;
use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use super::build::{FileRoute, Lines, build};
use super::table::{ProxyKeys, RouteKeys};
use crate::config::error::ConfigError;
use crate::config::key::{Key, Table as _};
use crate::config::keys::{Keys, Source, at_line};

const NO_TABLES: &str = "write each route as a table that begins with [[route]]";

/// All that is known of the keys that belong to a route.
pub(in crate::config) fn keys() -> Vec<Key> {
    [RouteKeys::keys(), ProxyKeys::keys()].concat()
}

/// Their names.
pub(in crate::config) fn key_names() -> Vec<&'static str> {
    [RouteKeys::NAMES, ProxyKeys::NAMES].concat()
}

/// Reads all tables; `settings` are the keys that belong above them.
pub(in crate::config) fn read(
    text: Source<'_>,
    tables: Spanned<DeValue<'_>>,
    settings: &[&str],
) -> Result<Vec<FileRoute>, ConfigError> {
    let start = tables.span().start;
    let DeValue::Array(tables) = tables.into_inner() else {
        return Err(text.wrong(start, NO_TABLES));
    };
    tables.into_iter().map(|table| read_one(text, table, settings)).collect()
}

fn read_one(
    text: Source<'_>,
    table: Spanned<DeValue<'_>>,
    settings: &[&str],
) -> Result<FileRoute, ConfigError> {
    let span = table.span();
    let DeValue::Table(table) = table.into_inner() else {
        return Err(text.wrong(span.start, NO_TABLES));
    };
    let known = key_names();
    let elsewhere = (settings, "it belongs above the first [[route]]");
    let checked = Keys { known: &known, place: " of a route", elsewhere };
    let mut table = checked.check(text, table)?;
    for key in keys() {
        check_section(text, &mut table, &key)?;
    }
    let of_keys = table.keys().map(|key| (key.get_ref().to_string(), text.line(key.span().start)));
    let lines = Lines { first: text.line(span.start), keys: of_keys.collect() };
    let is_of_proxy = |key: &Spanned<Cow<'_, str>>| ProxyKeys::NAMES.contains(&&**key.get_ref());
    let (of_proxy, of_route) = table.into_iter().partition(|(key, _)| is_of_proxy(key));
    let of_route: RouteKeys = keys_in(text, span.clone(), of_route)?;
    let of_proxy: ProxyKeys = keys_in(text, span, of_proxy)?;
    build(&of_route, &of_proxy, &lines).map_err(|wrong| at_line(wrong.line(&lines), wrong.what))
}

/// Reads the values of keys.
fn keys_in<'a, T: Deserialize<'a>>(
    text: Source<'_>,
    span: Range<usize>,
    table: DeTable<'a>,
) -> Result<T, ConfigError> {
    let table = Spanned::new(span, DeValue::Table(table));
    T::deserialize(ValueDeserializer::from(table)).map_err(|error| text.refused(&error))
}

/// Checks the keys of the table that is the value of `key`, if that has keys.
fn check_section(text: Source<'_>, table: &mut DeTable<'_>, key: &Key) -> Result<(), ConfigError> {
    if key.keys.is_empty() {
        return Ok(());
    }
    let Some((name, value)) = table.remove_entry(key.name) else { return Ok(()) };
    let known: Vec<&str> = key.keys.iter().map(|key| key.name).collect();
    let place = format!(" of `{}`", key.name);
    let keys = Keys { known: &known, place: &place, elsewhere: (&[], "") };
    let span = value.span();
    let value = match value.into_inner() {
        DeValue::Table(inner) => DeValue::Table(keys.check(text, inner)?),
        // What else it is, is for the reader of values to say.
        other => other,
    };
    table.insert(name, Spanned::new(span, value));
    Ok(())
}
