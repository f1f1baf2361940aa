//! The values of settings: rates, times, lists, and how each is written. It reads no file.

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use ipnet::IpNet;
use serde::de::Deserializer;
use tracing::level_filters::LevelFilter;
use weir_sched::{BitRate, Framing};
use weir_units::{Invalid, Share, TimeSpan, text};

pub use weir_units::Size;

/// Reads a setting through its `FromStr`.
pub(super) fn from_text<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: fmt::Display>,
{
    text::from_text(deserializer).map(Some)
}

/// Reads a setting of several values: an array of texts, or a single text.
pub(super) fn list_from_text<'de, D, T>(deserializer: D) -> Result<Option<Vec<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: fmt::Display>,
{
    text::list_from_text(deserializer).map(Some)
}

/// The rate of the uplink, or `off`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uplink(pub Option<BitRate>);

/// The least rate in bit/s that a single segment a second fits into.
const LEAST_RATE: u64 = 8_000;

impl FromStr for Uplink {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim().eq_ignore_ascii_case("off") {
            return Ok(Uplink(None));
        }
        let rate: BitRate = text.parse().map_err(|wrong| format!("{wrong}, or off"))?;
        if rate.bits() < LEAST_RATE {
            return Err(format!(
                "a rate of \"{text}\" cannot be paced; write 8kbit or more, or off"
            ));
        }
        Ok(Uplink(Some(rate)))
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
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Share::parse_within(text, 0.5..=1.0).map(|share| Pace(share.fraction()))
    }
}

/// What a packet costs beside its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overhead(pub Framing);

impl Default for Overhead {
    fn default() -> Overhead {
        Overhead(Framing::ETHERNET)
    }
}

impl FromStr for Overhead {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "ethernet" => Ok(Overhead(Framing::ETHERNET)),
            "pppoe" => Ok(Overhead(Framing::PPPOE)),
            bytes => match bytes.parse() {
                Ok(overhead) if overhead <= 1000 => Ok(Overhead(Framing { overhead })),
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

/// A length of time above zero, such as `500ms`, `30s` or `2m`; a plain number is seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span(pub Duration);

/// The least time that is above zero.
const SHORTEST_SPAN: TimeSpan = TimeSpan(Duration::from_nanos(1));
/// Longer than any connection should wait.
const LONGEST_SPAN: TimeSpan = TimeSpan(Duration::from_secs(24 * 3600));

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match TimeSpan::parse_within(text, SHORTEST_SPAN..=LONGEST_SPAN) {
            Ok(TimeSpan(span)) => Ok(Span(span)),
            Err(_) => {
                Err(format!("\"{text}\" is not a time above zero and up to a day, such as 30s"))
            }
        }
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

    #[test]
    fn rates_are_read_as_links_are_named() {
        let bits = |text: &str| text.parse::<Uplink>().map(|u| u.0.map(BitRate::bits));
        assert_eq!(bits("300mbit"), Ok(Some(300_000_000)));
        assert_eq!(bits("1.5gbit"), Ok(Some(1_500_000_000)));
        assert_eq!(bits("10 Mbit/s"), Ok(Some(10_000_000)));
        assert_eq!(bits("off"), Ok(None));
        for (wrong, message) in [
            ("0mbit", "\"0mbit\" is not a rate of a link from 1bit to 10tbit; write such as"),
            ("7kbit", "a rate of \"7kbit\" cannot be paced; write 8kbit or more, or off"),
            ("10mbps", "\"10mbps\" is not a rate: bps stands for"),
            ("", "\"\" is not a rate of a link; write bits per second"),
        ] {
            let error = bits(wrong).unwrap_err();
            assert!(error.starts_with(message) && error.ends_with(", or off"), "{error}");
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
}
