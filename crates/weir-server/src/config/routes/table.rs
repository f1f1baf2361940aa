//! Reads the `[[route]]` tables of the file: their keys and values. It does not judge what they mean
//! together.

use std::collections::BTreeMap;

use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue, ValueDeserializer};
use weir_sched::balance::Balance;
use weir_sched::{BackendOrder, CallLimit};
use weir_units::Count;

use super::BackendAddress;
use super::build::{FileRoute, build};
use super::choices::{Forwarded, HalfClose, How, Overflow, When};
use super::edits::EditKeys;
use super::edits::Edits;
use super::host::{HostHeader, HostPattern};
use super::path::{RoutePath, SentPath};
use super::redirect::{Status, Target};
use crate::config::ConfigError;
use crate::config::keys::{Keys, Text, at_line, fields};
use crate::config::values::{Size, Span, from_text, list_from_text};

/// The keys of a route, as they are named in the file; [`super::ProxyConfig`] says what most are.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct RouteKeys {
    #[serde(deserialize_with = "from_text")]
    pub(super) host: Option<HostPattern>,
    #[serde(deserialize_with = "from_text")]
    pub(super) path: Option<RoutePath>,
    #[serde(deserialize_with = "from_text")]
    pub(super) priority: Option<Count<0, 255>>,
    pub(super) files: Option<bool>,
    #[serde(deserialize_with = "from_text")]
    pub(super) redirect: Option<Target>,
    #[serde(deserialize_with = "from_text")]
    pub(super) status: Option<Status>,
    #[serde(deserialize_with = "list_from_text")]
    pub(super) backends: Option<Vec<BackendAddress>>,
    #[serde(deserialize_with = "from_text")]
    pub(super) balance: Option<Balance>,
    #[serde(deserialize_with = "from_text")]
    pub(super) limit: Option<CallLimit>,
    #[serde(deserialize_with = "from_text")]
    pub(super) order: Option<BackendOrder>,
    pub(super) cancels: Option<bool>,
    #[serde(deserialize_with = "from_text")]
    pub(super) longest_wait: Option<Span>,
    #[serde(deserialize_with = "from_text")]
    pub(super) most_waiting: Option<Count<1, 10_000_000>>,
    #[serde(deserialize_with = "from_text")]
    pub(super) dead_requests: Option<How>,
    #[serde(deserialize_with = "from_text")]
    pub(super) when: Option<When>,
    #[serde(deserialize_with = "from_text")]
    pub(super) half_close: Option<HalfClose>,
    #[serde(deserialize_with = "from_text")]
    pub(super) connect_timeout: Option<Span>,
    #[serde(deserialize_with = "from_text")]
    pub(super) first_byte_timeout: Option<Span>,
    #[serde(deserialize_with = "from_text")]
    pub(super) idle_timeout: Option<Span>,
    #[serde(deserialize_with = "from_text")]
    pub(super) total_timeout: Option<Span>,
    #[serde(deserialize_with = "from_text")]
    pub(super) keep_alive: Option<Span>,
    #[serde(deserialize_with = "from_text")]
    pub(super) retries: Option<Count<0, 10>>,
    pub(super) health: Option<HealthKeys>,
    #[serde(deserialize_with = "from_text")]
    pub(super) max_fails: Option<Count<0, 1000>>,
    #[serde(deserialize_with = "from_text")]
    pub(super) fail_timeout: Option<Span>,
    pub(super) strip_prefix: Option<bool>,
    #[serde(deserialize_with = "from_text")]
    pub(super) rewrite: Option<SentPath<false>>,
    #[serde(deserialize_with = "from_text")]
    pub(super) host_header: Option<HostHeader>,
    #[serde(deserialize_with = "from_text")]
    pub(super) forwarded: Option<Forwarded>,
    pub(super) trust_forwarded: Option<bool>,
    pub(super) request_headers: Option<Edits>,
    pub(super) response_headers: Option<Edits>,
    #[serde(deserialize_with = "from_text")]
    pub(super) buffer: Option<Size>,
    #[serde(deserialize_with = "from_text")]
    pub(super) overflow: Option<Overflow>,
    #[serde(deserialize_with = "from_text")]
    pub(super) max_spill: Option<Size>,
    #[serde(deserialize_with = "from_text")]
    pub(super) max_body: Option<Size>,
}

/// The keys of `[route.health]`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct HealthKeys {
    #[serde(deserialize_with = "from_text")]
    pub(super) path: Option<SentPath<true>>,
    #[serde(deserialize_with = "from_text")]
    pub(super) interval: Option<Span>,
    #[serde(deserialize_with = "from_text")]
    pub(super) timeout: Option<Span>,
    #[serde(deserialize_with = "from_text")]
    pub(super) healthy: Option<Count<1, 100>>,
    #[serde(deserialize_with = "from_text")]
    pub(super) unhealthy: Option<Count<1, 100>>,
}

/// The lines of a route.
#[derive(Debug)]
pub(super) struct Lines {
    /// Where it begins.
    pub(super) first: usize,
    /// Where its keys are.
    pub(super) keys: BTreeMap<String, usize>,
}

const NO_TABLES: &str = "write each route as a table that begins with [[route]]";

/// The keys that belong to a route, and how to say so.
pub(in crate::config) fn keys_of_routes() -> (&'static [&'static str], &'static str) {
    (fields::<RouteKeys>(), "it belongs to a [[route]]")
}

/// Reads all tables; `settings` are the keys that belong above them.
pub(in crate::config) fn read(
    text: Text<'_>,
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
    text: Text<'_>,
    table: Spanned<DeValue<'_>>,
    settings: &[&str],
) -> Result<FileRoute, ConfigError> {
    let span = table.span();
    let DeValue::Table(table) = table.into_inner() else {
        return Err(text.wrong(span.start, NO_TABLES));
    };
    let elsewhere = (settings, "it belongs above the first [[route]]");
    let keys = Keys { known: fields::<RouteKeys>(), place: " of a route", elsewhere };
    let mut table = keys.check(text, table)?;
    for (section, known, place) in [
        ("health", fields::<HealthKeys>(), " of `health`"),
        ("request_headers", fields::<EditKeys>(), " of `request_headers`"),
        ("response_headers", fields::<EditKeys>(), " of `response_headers`"),
    ] {
        let keys = Keys { known, place, elsewhere: (&[], "") };
        check_section(text, &mut table, section, keys)?;
    }
    let of_keys = table.keys().map(|key| (key.get_ref().to_string(), text.line(key.span().start)));
    let lines = Lines { first: text.line(span.start), keys: of_keys.collect() };
    let table = Spanned::new(span, DeValue::Table(table));
    let keys = RouteKeys::deserialize(ValueDeserializer::from(table))
        .map_err(|error| text.refused(&error))?;
    build(keys, &lines).map_err(|wrong| at_line(wrong.line(&lines), wrong.what))
}

/// Checks the keys of a table inside a route.
fn check_section(
    text: Text<'_>,
    table: &mut DeTable<'_>,
    section: &str,
    keys: Keys<'_>,
) -> Result<(), ConfigError> {
    let Some((key, value)) = table.remove_entry(section) else { return Ok(()) };
    let span = value.span();
    let value = match value.into_inner() {
        DeValue::Table(inner) => DeValue::Table(keys.check(text, inner)?),
        // What else it is, is for the reader of values to say.
        other => other,
    };
    table.insert(key, Spanned::new(span, value));
    Ok(())
}
