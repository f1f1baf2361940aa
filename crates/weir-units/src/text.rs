//! Values of configuration files that are read as flags are: through `FromStr`, from a text or a
//! plain number. Used with `#[serde(deserialize_with = ...)]`; the types of this crate are
//! `Deserialize` by the same rule.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use serde::de::{self, Deserialize, Deserializer, SeqAccess, Visitor};

use crate::{BitRate, Count, Percent, Positive, RequestRate, Share, Size, TimeSpan};

/// Reads a value that is written as text, or as a plain number.
///
/// # Errors
///
/// What `FromStr` refuses, in its words.
pub fn from_text<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: fmt::Display>,
{
    deserializer.deserialize_any(TextVisitor(PhantomData))
}

/// Reads several values: an array of texts and numbers, or a single one.
///
/// # Errors
///
/// What `FromStr` refuses, in its words.
pub fn list_from_text<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: fmt::Display>,
{
    deserializer.deserialize_any(ListVisitor(PhantomData))
}

struct TextVisitor<T>(PhantomData<T>);

impl<T: FromStr<Err: fmt::Display>> Visitor<'_> for TextVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text or a number")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }
}

struct ListVisitor<T>(PhantomData<T>);

impl<'de, T: FromStr<Err: fmt::Display>> Visitor<'de> for ListVisitor<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("text or an array of texts")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Vec<T>, E> {
        text.parse().map(|one| vec![one]).map_err(E::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<T>, A::Error> {
        let mut all = Vec::new();
        while let Some(text) = items.next_element::<String>()? {
            all.push(text.parse().map_err(de::Error::custom)?);
        }
        Ok(all)
    }
}

macro_rules! read_from_text {
    ($($kind:ty),+) => {
        $(impl<'de> Deserialize<'de> for $kind {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                from_text(deserializer)
            }
        })+
    };
}

read_from_text!(BitRate, RequestRate, Share, Percent, Positive, Size, TimeSpan);

impl<'de, const LEAST: u32, const MOST: u32> Deserialize<'de> for Count<LEAST, MOST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    struct File {
        rate: BitRate,
        size: Size,
        share: Share,
        #[serde(deserialize_with = "list_from_text")]
        times: Vec<TimeSpan>,
    }

    #[test]
    fn a_file_is_read_as_flags_are() {
        let text = "rate = \"10mbit\"\nsize = 512\nshare = 0.5\ntimes = [\"1s\", \"2ms\"]";
        let file: File = toml::from_str(text).unwrap();
        assert_eq!((file.rate.bits(), file.size, file.times.len()), (10_000_000, Size(512), 2));
        assert_eq!(file.share.fraction(), 0.5);
        let wrong = text.replace("512", "\"5 apples\"");
        let error = toml::from_str::<File>(&wrong).unwrap_err().to_string();
        assert!(error.contains("\"5 apples\" is not a size; write a whole number"), "{error}");
        let one = text.replace("[\"1s\", \"2ms\"]", "\"1s\"");
        assert_eq!(toml::from_str::<File>(&one).unwrap().times.len(), 1);
    }
}
