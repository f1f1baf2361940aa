//! How the server's own messages are written: as lines of text, or each as an object of JSON with time,
//! level and message. Used by [`super::messages`], and by a log that tells how many messages it has lost.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};

use tracing::Level;

use super::date::Date;
use super::json::Object;
use crate::config::MessageFormat;
use crate::sys::clock;

/// Messages are objects of JSON.
static AS_JSON: AtomicBool = AtomicBool::new(false);

/// From now on messages are written so.
pub(super) fn write_as(format: MessageFormat) {
    AS_JSON.store(format == MessageFormat::Json, Ordering::Relaxed);
}

/// Whether messages are objects of JSON.
pub(super) fn is_json() -> bool {
    AS_JSON.load(Ordering::Relaxed)
}

/// A text that is a message as it stands, with its line end.
pub(super) fn verbatim(level: Level, text: impl fmt::Display) -> String {
    match is_json() {
        true => json(level, &text.to_string(), &[]),
        false => format!("{text}\n"),
    }
}

/// A message of the program `weir` about what it does, with its line end.
pub(super) fn told(level: Level, text: impl fmt::Display) -> String {
    match is_json() {
        true => json(level, &text.to_string(), &[]),
        false if level == Level::WARN => format!("weir: warning: {text}\n"),
        false => format!("weir: {text}\n"),
    }
}

/// A message as an object of JSON, with its line end. `fields`: more of its values, by names of letters,
/// digits and underscores.
pub(super) fn json(level: Level, message: &str, fields: &[(&str, String)]) -> String {
    let mut line = String::with_capacity(96 + message.len());
    let mut object = Object::begin(&mut line);
    object.date("time", &Date::at(clock::since_1970()));
    object.text("level", &level.as_str().to_ascii_lowercase());
    object.text("message", message);
    for (name, value) in fields {
        object.text(name, value);
    }
    object.end();
    line.push('\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In JSON the whole process would say everything else so, too: that is tested with the program.
    #[test]
    fn text_says_who_speaks_and_json_of_what_level() {
        assert_eq!(told(Level::WARN, "look"), "weir: warning: look\n");
        assert_eq!(told(Level::ERROR, "no"), "weir: no\n");
        assert_eq!(verbatim(Level::INFO, "as it is"), "as it is\n");
        let line = json(Level::WARN, "two\nlines", &[("tag", "7".to_owned())]);
        let read: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(read["level"], "warn");
        assert_eq!((&read["message"], &read["tag"]), (&"two\nlines".into(), &"7".into()));
        assert!(line.ends_with("}\n") && line.matches('\n').count() == 1, "{line}");
    }
}
