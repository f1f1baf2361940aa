//! The values of settings: rates, times, lists, and how each is written. It reads no file.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use ipnet::IpNet;
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use tracing::level_filters::LevelFilter;
use weir_sched::{BitRate, WireOverhead};

/// Reads a value that is written as text, or as a plain number or word, through its `FromStr`.
pub(super) fn from_text<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: fmt::Display>,
{
    deserializer.deserialize_any(TextVisitor(std::marker::PhantomData)).map(Some)
}

struct TextVisitor<T>(std::marker::PhantomData<T>);

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

    fn visit_f64<E: de::Error>(self, number: f64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }
}

/// Reads several values: an array of texts, or a single text.
pub(super) fn list_from_text<'de, D, T>(deserializer: D) -> Result<Option<Vec<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: fmt::Display>,
{
    deserializer.deserialize_any(ListVisitor(std::marker::PhantomData)).map(Some)
}

struct ListVisitor<T>(std::marker::PhantomData<T>);

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

/// The rate of the uplink, or `off`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uplink(pub Option<BitRate>);

/// The least rate that a single segment a second fits into.
const LEAST_RATE: f64 = 8_000.0;
/// More than any link has; a larger number is a slip.
const LARGEST_RATE: f64 = 1e13;

impl FromStr for Uplink {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let word = text.trim().to_ascii_lowercase();
        if word == "off" {
            return Ok(Uplink(None));
        }
        let wrong = || {
            format!("\"{text}\" is not a rate; write bits per second such as 300mbit, 1gbit or off")
        };
        let word = word.strip_suffix("/s").unwrap_or(&word);
        if let Some(prefix) = word.strip_suffix("bps") {
            return Err(format!(
                "\"{text}\" is not a rate: bps stands for bits with some and for bytes with \
                 others; write {prefix}bit if it is bits per second"
            ));
        }
        let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        let factor = match word[digits.len()..].trim() {
            "bit" => 1.0,
            "kbit" => 1e3,
            "mbit" => 1e6,
            "gbit" => 1e9,
            _ => return Err(wrong()),
        };
        let number: f64 = digits.trim().parse().map_err(|_| wrong())?;
        let rate = number * factor;
        if !rate.is_finite() || !(LEAST_RATE..=LARGEST_RATE).contains(&rate) {
            return Err(format!(
                "a rate of \"{text}\" cannot be paced; write 8kbit or more, or off"
            ));
        }
        Ok(Uplink(BitRate::new(rate as u64)))
    }
}

/// The share of the uplink that is used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace(pub f64);

impl Default for Pace {
    /// Leaves 1 % for what is not counted (ARP, other programs); less would not shorten the queue
    /// of the link any more (docs/design.md).
    fn default() -> Pace {
        Pace(0.99)
    }
}

impl FromStr for Pace {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim().parse() {
            Ok(share) if (0.5..=1.0).contains(&share) => Ok(Pace(share)),
            _ => Err(format!("\"{text}\" is not a share from 0.5 to 1")),
        }
    }
}

/// What a packet costs beside its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overhead(pub WireOverhead);

impl Default for Overhead {
    fn default() -> Overhead {
        Overhead(WireOverhead::ETHERNET)
    }
}

impl FromStr for Overhead {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "ethernet" => Ok(Overhead(WireOverhead::ETHERNET)),
            "pppoe" => Ok(Overhead(WireOverhead::PPPOE)),
            bytes => match bytes.parse() {
                Ok(overhead) if overhead <= 1000 => Ok(Overhead(WireOverhead { bytes: overhead })),
                _ => Err(format!("\"{text}\" is not ethernet, pppoe or a number of bytes to 1000")),
            },
        }
    }
}

/// A number of worker threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workers(pub usize);

impl FromStr for Workers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim().parse() {
            Ok(n) if (1..=256).contains(&n) => Ok(Workers(n)),
            _ => Err(format!("\"{text}\" is not a number of workers from 1 to 256")),
        }
    }
}

/// A whole number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Count<const LEAST: u32, const MOST: u32>(pub(super) u32);

impl<const LEAST: u32, const MOST: u32> FromStr for Count<LEAST, MOST> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim().parse() {
            Ok(number) if (LEAST..=MOST).contains(&number) => Ok(Count(number)),
            _ => Err(format!("\"{text}\" is not a whole number from {LEAST} to {MOST}")),
        }
    }
}

/// A network, or a single address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix(pub IpNet);

impl FromStr for Prefix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        text.parse()
            .or_else(|_| text.parse::<IpAddr>().map(IpNet::from))
            .map(Prefix)
            .map_err(|_| format!("\"{text}\" is not an address or a network such as 10.0.0.0/8"))
    }
}

/// A length of time, such as `500ms`, `30s` or `2m`; a plain number is seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span(pub Duration);

/// Longer than any connection should wait.
const LONGEST_SPAN: Duration = Duration::from_secs(24 * 3600);

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let seconds = text.parse::<u32>().ok().map(|s| Duration::from_secs(s.into()));
        let span = seconds.or_else(|| humantime::parse_duration(text).ok());
        match span {
            Some(span) if !span.is_zero() && span <= LONGEST_SPAN => Ok(Span(span)),
            _ => Err(format!("\"{text}\" is not a time above zero and up to a day, such as 30s")),
        }
    }
}

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size(pub u64);

impl Default for Size {
    fn default() -> Size {
        Size(64_000_000)
    }
}

const SIZE_UNITS: [(&str, u64); 7] = [
    ("kib", 1 << 10),
    ("mib", 1 << 20),
    ("gib", 1 << 30),
    ("kb", 1_000),
    ("mb", 1_000_000),
    ("gb", 1_000_000_000),
    ("", 1),
];

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let lower = text.trim().to_ascii_lowercase();
        let read = SIZE_UNITS.iter().find_map(|(unit, factor)| {
            let number = lower.strip_suffix(unit)?.trim();
            number.parse::<u64>().ok()?.checked_mul(*factor)
        });
        read.map(Size).ok_or_else(|| {
            format!("\"{text}\" is not a size; write a whole number and kb, mb, gb, kib, mib or gib, such as 64mb")
        })
    }
}

/// What the server says of itself: this level and what is graver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogLevel(pub LevelFilter);

impl Default for LogLevel {
    fn default() -> LogLevel {
        LogLevel(LevelFilter::INFO)
    }
}

impl FromStr for LogLevel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "error" => Ok(LogLevel(LevelFilter::ERROR)),
            "warn" => Ok(LogLevel(LevelFilter::WARN)),
            "info" => Ok(LogLevel(LevelFilter::INFO)),
            "debug" => Ok(LogLevel(LevelFilter::DEBUG)),
            "trace" => Ok(LogLevel(LevelFilter::TRACE)),
            _ => Err(format!("\"{text}\" is not a level; write error, warn, info, debug or trace")),
        }
    }
}

/// Where requests are logged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AccessLog {
    /// Nowhere.
    Off,
    /// To standard error, beside the server's own messages.
    #[default]
    Stderr,
    /// To standard output.
    Stdout,
    /// To the end of a file.
    File(PathBuf),
}

impl FromStr for AccessLog {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "off" => Ok(AccessLog::Off),
            "stderr" => Ok(AccessLog::Stderr),
            "stdout" => Ok(AccessLog::Stdout),
            "" => Err("an access log needs a name: off, stderr, stdout or a file".to_owned()),
            file => Ok(AccessLog::File(file.into())),
        }
    }
}

impl fmt::Display for AccessLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AccessLog::Off => f.write_str("off"),
            AccessLog::Stderr => f.write_str("stderr"),
            AccessLog::Stdout => f.write_str("stdout"),
            AccessLog::File(path) => path.display().fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rates_are_read_as_links_are_named() {
        let bits = |text: &str| text.parse::<Uplink>().map(|u| u.0.map(BitRate::bits));
        assert_eq!(bits("300mbit"), Ok(Some(300_000_000)));
        assert_eq!(bits("1.5gbit"), Ok(Some(1_500_000_000)));
        assert_eq!(bits("10 Mbit/s"), Ok(Some(10_000_000)));
        assert_eq!(bits("off"), Ok(None));
        for wrong in
            ["0", "0mbit", "1bit", "10", "10mbps", "-3mbit", "nanmbit", "infgbit", "", "mbit"]
        {
            assert!(bits(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes_are_read_with_their_units() {
        let size = |text: &str| text.parse::<Size>().map(|size| size.0);
        assert_eq!(size("64mb"), Ok(64_000_000));
        assert_eq!(size(" 1 GiB "), Ok(1 << 30));
        assert_eq!(size("0"), Ok(0));
        for wrong in ["", "mb", "-1", "1.5gb", "1tb", "99999999999999gb"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_and_networks() {
        assert_eq!("500ms".parse(), Ok(Span(Duration::from_millis(500))));
        assert_eq!("75".parse(), Ok(Span(Duration::from_secs(75))));
        assert!("0s".parse::<Span>().is_err());
        assert!("::1".parse::<Prefix>().is_ok());
        assert!("10.0.0.0/33".parse::<Prefix>().is_err());
    }

    proptest! {
        #[test]
        fn a_rate_that_is_read_prints_and_reads_the_same(bits in 8_000u64..1_000_000_000_000) {
            let rate = BitRate::new(bits).unwrap();
            prop_assert_eq!(rate.to_string().parse(), Ok(Uplink(Some(rate))));
        }
    }
}
