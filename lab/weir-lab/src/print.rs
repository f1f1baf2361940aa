//! Results on standard output: JSON with the version and the seed beside the figures, text and
//! tables. Notes on standard error. Used by the commands.

use std::fmt::Write as _;
use std::io::{ErrorKind, Write};

use serde::Serialize;
use serde_json::{Map, Value};

use crate::failure::{Failure, failed};

/// Writes an object on one line: `version`, `seed` if numbers were drawn, then the fields of
/// `result`, whose names carry their units. That nobody reads it is no error.
///
/// # Errors
///
/// When a field is no number (a figure without a value must be left out, not written), or standard
/// output cannot be written.
pub(crate) fn json(seed: Option<u64>, result: &impl Serialize) -> Result<(), Failure> {
    let mut object = Map::new();
    object.insert("version".into(), env!("CARGO_PKG_VERSION").into());
    if let Some(seed) = seed {
        object.insert("seed".into(), seed.into());
    }
    object.extend(fields(result)?);
    print(&format!("{}\n", Value::Object(object)))
}

/// Writes text; that nobody reads it is no error.
///
/// # Errors
///
/// When standard output cannot be written.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    print_to(&mut std::io::stdout().lock(), text)
}

/// Writes text to standard error; that nobody can read it, as when its terminal has gone, is no error.
pub(crate) fn tell(text: &str) {
    let _ = std::io::stderr().write_all(text.as_bytes());
}

fn print_to(output: &mut impl Write, text: &str) -> Result<(), Failure> {
    match output.write_all(text.as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(failed(format!("standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes a result as JSON, or as text.
///
/// # Errors
///
/// As [`json`] has them, for text too: a figure without a value is not shown as one.
pub(crate) fn result(
    as_json: bool,
    seed: Option<u64>,
    result: &impl Serialize,
    text: impl FnOnce() -> String,
) -> Result<(), Failure> {
    if as_json {
        return json(seed, result);
    }
    check(result)?;
    print(&text())
}

/// Writes one row as an object, and several as an object of `rows`.
///
/// # Errors
///
/// As [`json`] has them.
pub(crate) fn json_rows(seed: u64, rows: &[impl Serialize]) -> Result<(), Failure> {
    match rows {
        [row] => json(Some(seed), row),
        rows => json(Some(seed), &serde_json::json!({ "rows": values(rows)? })),
    }
}

/// A number with its interval.
pub(crate) fn with_interval(mean: f64, ci95: Option<f64>) -> String {
    ci95.map_or_else(|| format!("{mean:.2}"), |ci95| format!("{mean:.2} ± {ci95:.2}"))
}

/// A number that not every case has.
pub(crate) fn optional(value: Option<f64>, unit: &str) -> String {
    value.map_or_else(|| "-".into(), |value| format!("{value:.2}{unit}"))
}

/// Columns: the first to the left, the others to the right.
pub(crate) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|c| c.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let width = *width;
            let _ = match column {
                0 => write!(line, "{cell:<width$}"),
                _ => write!(line, "  {cell:>width$}"),
            };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// For what is written as text: fails where [`json`] would.
///
/// # Errors
///
/// When a field is no number.
pub(crate) fn check(result: &impl Serialize) -> Result<(), Failure> {
    fields(result).map(drop)
}

fn values(rows: &[impl Serialize]) -> Result<Vec<Value>, Failure> {
    rows.iter().map(|row| Ok(Value::Object(fields(row)?))).collect()
}

/// The fields of a result, all of which have values.
fn fields(result: &impl Serialize) -> Result<Map<String, Value>, Failure> {
    let object = serde_json::to_value(result)
        .map_err(|error| failed(format!("the result cannot be written: {error}")))?;
    if let Some(name) = no_number(&object) {
        return Err(failed(format!("`{name}` has no value for these parameters")));
    }
    match object {
        Value::Object(fields) => Ok(fields),
        _ => Err(failed("the result has no fields; please report this")),
    }
}

/// The first field without a value: JSON writes what is no number as null.
fn no_number(value: &Value) -> Option<String> {
    match value {
        Value::Object(fields) => fields.iter().find_map(|(name, value)| match value {
            Value::Null => Some(name.clone()),
            value => no_number(value).map(|inner| format!("{name}.{inner}")),
        }),
        Value::Array(items) => items.iter().enumerate().find_map(|(index, value)| match value {
            Value::Null => Some(index.to_string()),
            value => no_number(value).map(|inner| format!("{index}.{inner}")),
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Nobody reads it, or it is full.
    struct Broken(ErrorKind);

    impl Write for Broken {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Err(self.0.into())
        }
    }

    #[test]
    fn a_closed_pipe_is_no_error_and_a_full_disk_is_one() {
        assert!(print_to(&mut Broken(ErrorKind::BrokenPipe), "{}\n").is_ok());
        let full = print_to(&mut Broken(ErrorKind::StorageFull), "{}\n");
        assert!(full.is_err_and(|error| error.message.contains("standard output")));
    }

    #[test]
    fn what_is_no_number_is_found_wherever_it_is() {
        assert_eq!(no_number(&json!({"a": 1, "b": [1.5, {"c": "x"}]})), None);
        assert_eq!(no_number(&json!({"a": 1, "b": [1, {"c": null}]})), Some("b.1.c".into()));
        assert_eq!(no_number(&json!({"a": f64::NAN})), Some("a".into()));
        assert!(check(&json!({"a": f64::INFINITY})).is_err_and(|e| e.message.contains("`a`")));
        assert!(check(&json!({"a": 1.0})).is_ok() && check(&json!(1.0)).is_err());
    }
}
