//! Environment variables in the texts of the file: `${NAME}`, `${NAME:-default}`, and `$$` for a dollar.
//! Used by the reader of the file, before it looks at values.

use std::borrow::Cow;
use std::env::VarError;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::ConfigError;
use super::keys::Source;

/// The value of a variable; `None`: it is not set.
pub(super) type Lookup<'a> = &'a dyn Fn(&str) -> Result<Option<String>, String>;

/// What is wrong, and at which byte of the file.
type Wrong = (usize, String);

/// A variable of this process.
///
/// # Errors
///
/// It is not text.
pub(super) fn of_process(name: &str) -> Result<Option<String>, String> {
    match std::env::var(name) {
        Ok(value) => Ok(Some(value)),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(_)) => {
            Err(format!("the environment variable {name} is not in UTF-8; set it to a text"))
        }
    }
}

/// Puts variables into all texts of `table`, those of inner tables and arrays included. Keys stay as they
/// are.
///
/// # Errors
///
/// The first text of the file that names a variable which is not set and has no default, or none at all.
pub(super) fn expand(
    source: Source<'_>,
    table: &mut DeTable<'_>,
    variable: Lookup<'_>,
) -> Result<(), ConfigError> {
    let mut wrong = Vec::new();
    expand_table(table, variable, &mut wrong);
    match wrong.into_iter().min() {
        Some((offset, why)) => Err(source.wrong(offset, why)),
        None => Ok(()),
    }
}

fn expand_table(table: &mut DeTable<'_>, variable: Lookup<'_>, wrong: &mut Vec<Wrong>) {
    for (_, value) in table.iter_mut() {
        expand_value(value, variable, wrong);
    }
}

fn expand_value(value: &mut Spanned<DeValue<'_>>, variable: Lookup<'_>, wrong: &mut Vec<Wrong>) {
    let start = value.span().start;
    match value.get_mut() {
        DeValue::String(text) => match expanded(text, variable) {
            Ok(Some(with)) => *text = Cow::Owned(with),
            Ok(None) => {}
            Err(why) => wrong.push((start, why)),
        },
        DeValue::Array(items) => {
            items.iter_mut().for_each(|item| expand_value(item, variable, wrong));
        }
        DeValue::Table(table) => expand_table(table, variable, wrong),
        _ => {}
    }
}

/// `text` with its variables; `None`: it names none. A dollar before anything but a brace or another dollar
/// stands for itself.
fn expanded(text: &str, variable: Lookup<'_>) -> Result<Option<String>, String> {
    if !text.contains('$') {
        return Ok(None);
    }
    let (mut with, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, behind)) = rest.split_once('$') {
        with.push_str(before);
        rest = match (behind.strip_prefix('$'), behind.strip_prefix('{')) {
            (Some(behind), _) => {
                with.push('$');
                behind
            }
            (None, Some(inner)) => {
                let (inside, behind) = inner.split_once('}').ok_or_else(|| {
                    format!("\"${{{inner}\" has no brace at its end; write ${{NAME}}, or $$ for a dollar")
                })?;
                with.push_str(&value(inside, variable)?);
                behind
            }
            (None, None) => {
                with.push('$');
                behind
            }
        };
    }
    with.push_str(rest);
    Ok(Some(with))
}

/// What `inside` stands for, which was between braces. As in a shell, a default stands for what is empty,
/// too.
fn value(inside: &str, variable: Lookup<'_>) -> Result<String, String> {
    let (name, default) = match inside.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inside, None),
    };
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    if !is_name || name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
        return Err(format!(
            "\"${{{inside}}}\" names no environment variable; write ${{NAME}} or ${{NAME:-default}}, or \
             $$ for a dollar"
        ));
    }
    match (variable(name)?, default) {
        (Some(value), None) => Ok(value),
        (Some(value), Some(_)) if !value.is_empty() => Ok(value),
        (_, Some(default)) => Ok(default.to_owned()),
        (None, None) => Err(format!(
            "the environment variable {name} is not set; set it where weir is started, or write a \
             default: ${{{name}:-default}}"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn variables(name: &str) -> Result<Option<String>, String> {
        match name {
            "A" => Ok(Some("one".to_owned())),
            "_b2" => Ok(Some("${A}".to_owned())),
            "EMPTY" => Ok(Some(String::new())),
            "BYTES" => Err("not text".to_owned()),
            _ => Ok(None),
        }
    }

    fn with(text: &str) -> Result<String, String> {
        expanded(text, &variables).map(|with| with.unwrap_or_else(|| text.to_owned()))
    }

    #[test]
    fn variables_stand_in_texts_and_a_dollar_is_doubled() {
        for (text, expected) in [
            ("", ""),
            ("plain", "plain"),
            ("${A}", "one"),
            ("/${A}/${A}!", "/one/one!"),
            // What a variable says is not looked through again.
            ("${_b2}", "${A}"),
            ("${EMPTY}", ""),
            ("${EMPTY:-full}", "full"),
            ("${A:-full}", "one"),
            ("${NONE:-}", ""),
            ("${NONE:-a:-b}", "a:-b"),
            ("$$", "$"),
            ("$${A}", "${A}"),
            ("5$ and $A", "5$ and $A"),
            ("$$${A}$", "$one$"),
        ] {
            assert_eq!(with(text).as_deref(), Ok(expected), "{text}");
        }
        for (text, why) in [
            ("${NONE}", "the environment variable NONE is not set"),
            ("a ${A", "has no brace at its end"),
            ("${}", "names no environment variable"),
            ("${A-B}", "\"${A-B}\" names no environment variable"),
            ("${1}", "names no environment variable"),
            ("${:-x}", "names no environment variable"),
            ("${BYTES}", "not text"),
        ] {
            let wrong = with(text).unwrap_err();
            assert!(wrong.contains(why), "{text}: {wrong}");
        }
    }

    #[test]
    fn the_first_in_the_file_is_named_wherever_it_stands() {
        let text = "z = \"${A}\"\ny = [1, [\"${A}\", \"${NONE}\"]]\na = \"${NONE}\"\n\
                    [[route]]\npath = \"/${A}\"\nedits = { set = { \"X\" = \"${_b2}\" } }\n";
        let source = Source(text);
        let mut table = DeTable::parse(text).unwrap();
        let wrong = expand(source, table.get_mut(), &variables).unwrap_err().to_string();
        assert!(wrong.starts_with("2: the environment variable NONE is not set"), "{wrong}");
        let good = text.replace("NONE", "A");
        let mut table = DeTable::parse(&good).unwrap();
        expand(Source(&good), table.get_mut(), &variables).unwrap();
        let shown = format!("{table:?}");
        assert!(shown.contains("/one") && shown.contains("${A}"), "{shown}");
        assert!(!shown.contains("_b2"), "{shown}");
    }

    proptest! {
        #[test]
        fn nothing_that_is_written_panics(text in "[$}{A:é-]{0,12}") {
            let _ = with(&text);
        }

        #[test]
        fn a_text_with_doubled_dollars_is_the_text(text in "[$}{A:é -]{0,12}") {
            prop_assert_eq!(with(&text.replace('$', "$$")), Ok(text));
        }
    }
}
