//! Reads the `[[route]]` tables of the file: keys, values and their lines. Used by the reader of the
//! file.

use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};

use super::access::RouteAccessKeys;
use super::build::{FileRoute, Lines, build};
use super::table::{ProxyKeys, RouteKeys};
use crate::config::error::ConfigError;
use crate::config::key::{Key, Table as _};
use crate::config::keys::{Keys, Source, apart, at_line, check_section};
use crate::config::site::FileKeys;

const NO_TABLES: &str = "write each route as a table that begins with [[route]]";

/// All that is known of the keys that belong to a route alone.
pub(in crate::config) fn keys() -> Vec<Key> {
    [RouteKeys::keys(), RouteAccessKeys::keys(), ProxyKeys::keys()].concat()
}

/// The names of the keys that a route may have: those, and those about files.
pub(in crate::config) fn key_names() -> Vec<&'static str> {
    let of_files = FileKeys::names();
    [RouteKeys::NAMES, RouteAccessKeys::NAMES, ProxyKeys::NAMES, &of_files[..]].concat()
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
    let (of_proxy, table) = apart(table, ProxyKeys::NAMES);
    let (of_access, table) = apart(table, RouteAccessKeys::NAMES);
    let (of_files, of_route) = apart(table, &FileKeys::names());
    let of_route: RouteKeys = keys_in(text, span.clone(), of_route)?;
    let of_access: RouteAccessKeys = keys_in(text, span.clone(), of_access)?;
    let of_proxy: ProxyKeys = keys_in(text, span.clone(), of_proxy)?;
    let of_files = FileKeys::read(text, span, of_files)?;
    build(&of_route, &of_access, &of_proxy, of_files, &lines)
        .map_err(|wrong| at_line(wrong.line(&lines), wrong.what))
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
