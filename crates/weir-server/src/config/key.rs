//! What is known of one key of the configuration: its name, its help, its default. Made by
//! [`super::table`], read by the flags, the file and the documentation.

use std::path::Path;

use weir_units::one_of;

/// What is known of one key.
#[derive(Clone, Debug)]
pub struct Key {
    /// As it is written in the file; the flag has `-` for `_`.
    pub(crate) name: &'static str,
    /// The section of the documentation.
    pub(crate) group: &'static str,
    /// What it does: a sentence without a full stop, then paragraphs.
    pub(crate) doc: &'static str,
    /// What stands for its value, such as `TIME`.
    pub(crate) value: &'static str,
    /// What the documentation says after that, such as bounds.
    pub(crate) detail: String,
    /// Words that may be written, with what each means.
    pub(crate) words: Vec<(&'static str, &'static str)>,
    /// What it is if nobody says.
    pub(crate) default: Option<String>,
    /// What happens if nobody says, where there is no value for that.
    pub(crate) absent: Option<&'static str>,
    /// Without which other key it has no effect.
    pub(crate) needs: Option<&'static str>,
    /// A value as it is written in the file.
    pub(crate) example: &'static str,
    /// The keys of a table that is its value.
    pub(crate) keys: Vec<Key>,
}

impl Key {
    /// The sentence, and the paragraphs after it.
    pub(crate) fn sentence_and_paragraphs(&self) -> (String, Vec<String>) {
        let mut paragraphs = self.doc.split("\n\n").map(|paragraph| {
            let lines = paragraph.lines().map(str::trim).filter(|line| !line.is_empty());
            lines.collect::<Vec<_>>().join(" ")
        });
        let sentence = paragraphs.next().unwrap_or_default();
        (sentence, paragraphs.filter(|paragraph| !paragraph.is_empty()).collect())
    }

    /// The default, or what happens without one.
    pub(crate) fn otherwise(&self) -> Option<&str> {
        self.absent.or(self.default.as_deref())
    }

    /// The help of the flag: the sentence, the words and the default.
    pub(crate) fn help(&self) -> String {
        let (mut help, _) = self.sentence_and_paragraphs();
        let are_explained = self.words.iter().any(|(_, meaning)| !meaning.is_empty());
        if !self.words.is_empty() && !are_explained {
            let words: Vec<&str> = self.words.iter().map(|(word, _)| *word).collect();
            help = format!("{help}: {}", one_of(&words));
        }
        if let Some(otherwise) = self.otherwise() {
            help = format!("{help} [default: {otherwise}]");
        }
        if are_explained {
            help.push(':');
            for (word, meaning) in &self.words {
                help = format!("{help}\n- {word}: {}", meaning.trim_end_matches('.'));
            }
        }
        help
    }
}

/// What the server works with of one table. The macro `settings!` implements it.
pub(super) trait Resolved {
    /// The names of the keys whose values differ in `other`, in the order of the table.
    fn differing(&self, other: &Self) -> Vec<&'static str>;
}

/// The keys of one table, as they were given. The macro `settings!` implements it.
pub(super) trait Table: Sized {
    /// The names of the keys, in the order of the table.
    const NAMES: &'static [&'static str];

    /// All that is known of the key `name`.
    fn key(name: &str) -> Option<Key>;

    /// The help of the flag for the key `name`.
    fn help(name: &str) -> String {
        Self::key(name).map(|key| key.help()).unwrap_or_default()
    }

    /// All that is known of the keys, in the order of the table.
    fn keys() -> Vec<Key> {
        Self::NAMES.iter().filter_map(|name| Self::key(name)).collect()
    }

    /// The names of the keys that were given.
    fn given(&self) -> Vec<&'static str>;

    /// These where they say something, else those of `below`.
    fn over(self, below: Self) -> Self;

    /// Takes relative paths to be relative to `directory`.
    fn move_beside(&mut self, directory: &Path);
}
