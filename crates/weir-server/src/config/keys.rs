//! Keys as they stand in the configuration file: their lines, which are known, and what an unknown one
//! was probably meant to be. Used by the readers of the file and of its routes.

use std::borrow::Cow;
use std::fmt;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::ConfigError;
use super::key::Key;

/// The text of the file, to tell lines by.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source<'a>(pub(super) &'a str);

impl Source<'_> {
    /// The line of the byte at `offset`, from 1.
    pub(super) fn line(self, offset: usize) -> usize {
        let before = self.0.as_bytes().get(..offset).unwrap_or(self.0.as_bytes());
        before.iter().filter(|byte| **byte == b'\n').count() + 1
    }

    /// What is wrong at `offset`.
    pub(super) fn wrong(self, offset: usize, what: impl fmt::Display) -> ConfigError {
        at_line(self.line(offset), what)
    }

    /// An error of the parser, which knows where it is.
    pub(super) fn refused(self, error: &toml::de::Error) -> ConfigError {
        self.wrong(error.span().map_or(0, |span| span.start), error.message())
    }
}

/// What is wrong in a line.
pub(super) fn at_line(line: usize, what: impl fmt::Display) -> ConfigError {
    ConfigError::new(format!("{line}: {what}"))
}

/// The keys called `names`, and the others.
pub(super) fn apart<'i>(table: DeTable<'i>, names: &[&str]) -> (DeTable<'i>, DeTable<'i>) {
    table.into_iter().partition(|(key, _)| names.contains(&&**key.get_ref()))
}

/// Checks the keys of the table that is the value of `key`, if that has keys.
pub(super) fn check_section(
    text: Source<'_>,
    table: &mut DeTable<'_>,
    key: &Key,
) -> Result<(), ConfigError> {
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

/// The keys that `table` may have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Keys<'a> {
    /// Their names.
    pub(super) known: &'a [&'a str],
    /// Where in the file, as it follows a name: empty, or such as ` of a route`.
    pub(super) place: &'a str,
    /// Names that belong elsewhere, and where.
    pub(super) elsewhere: (&'a [&'a str], &'a str),
}

impl Keys<'_> {
    /// The table with its keys as they are named in the code: with `_` for `-`.
    ///
    /// # Errors
    ///
    /// The first key in the file that is unknown, or that is written twice in different ways.
    pub(super) fn check<'i>(
        self,
        text: Source<'_>,
        table: DeTable<'i>,
    ) -> Result<DeTable<'i>, ConfigError> {
        let mut entries: Vec<_> = table.into_iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        let mut checked = DeTable::new();
        for (key, value) in entries {
            let (span, written) = (key.span(), key.into_inner());
            let name = written.replace('-', "_");
            if !self.known.contains(&name.as_str()) {
                return Err(text.wrong(span.start, self.unknown(&written, &name)));
            }
            if checked.contains_key(name.as_str()) {
                return Err(text.wrong(span.start, format!("`{name}` is written twice")));
            }
            checked.insert(Spanned::new(span, Cow::Owned(name)), value);
        }
        Ok(checked)
    }

    fn unknown(self, written: &str, name: &str) -> String {
        let (others, where_to) = self.elsewhere;
        let place = self.place;
        if others.contains(&name) {
            return format!("`{written}` is not a key{place}; {where_to}");
        }
        match self.nearest(name) {
            Some(near) => format!("unknown key `{written}`{place}; did you mean `{near}`?"),
            None => {
                let known = self.known.join(", ");
                format!("unknown key `{written}`{place}; the keys are {known}")
            }
        }
    }

    fn nearest(&self, name: &str) -> Option<&str> {
        let closeness = |key: &&&str| (strsim::jaro_winkler(name, key) * 1000.0) as u32;
        let near = self.known.iter().max_by_key(closeness)?;
        (closeness(&near) > 700).then_some(*near)
    }
}
