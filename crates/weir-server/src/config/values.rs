//! Values of the server's keys beyond plain quantities: shares, timeouts, networks, logs. Read by the tables of keys; the server gets what they resolve to.

use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::LazyLock;
use std::time::Duration;

use ipnet::{IpNet, Ipv4Net};
use tracing::level_filters::LevelFilter;
use weir_sched::WireOverhead;
use weir_units::{Invalid, Share, TimeSpan, choice};

use super::value::{choice_value, value};

choice! {
    /// Where the round trip to a client comes from.
    pub enum SwiftRoundTrip, "a source of round trips", default Measured {
        /// From the kernel, which measures it.
        Measured = "measured",
        /// From the query of the request, such as `?rtt=50` for 50 ms; measured if there is none.
        Request = "request",
    }
}

choice_value!(SwiftRoundTrip);

/// The share of the uplink's rate that is used, 0.5 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace(pub f64);

impl FromStr for Pace {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        Share::parse_within(text, 0.5..=1.0).map(|share| Pace(share.fraction()))
    }
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

value! {
    Pace, "SHARE", |pace| -> f64 { pace.0 }
    fn detail() -> String {
        " from 0.5 to 1".to_owned()
    }
}

/// What a packet costs beside its payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overhead(pub WireOverhead);

impl FromStr for Overhead {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.trim() {
            "ethernet" => Ok(Overhead(WireOverhead::ETHERNET)),
            "pppoe" => Ok(Overhead(WireOverhead::PPPOE)),
            bytes => match bytes.parse() {
                Ok(overhead) if overhead <= 1000 => Ok(Overhead(WireOverhead { bytes: overhead })),
                _ => Err(format!(
                    "\"{text}\" is not what a packet costs; write ethernet, pppoe or a number of \
                     bytes up to 1000"
                )),
            },
        }
    }
}

impl fmt::Display for Overhead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            WireOverhead::ETHERNET => f.write_str("ethernet"),
            WireOverhead::PPPOE => f.write_str("pppoe"),
            WireOverhead { bytes: overhead } => overhead.fmt(f),
        }
    }
}

value! {
    Overhead, "KIND", |overhead| -> WireOverhead { overhead.0 }
    fn words() -> Vec<(&'static str, &'static str)> {
        vec![
            ("ethernet", "66 bytes: Ethernet, IPv4, TCP with timestamps"),
            ("pppoe", "74 bytes: the same inside PPPoE"),
            ("a number", "so many bytes, up to 1000"),
        ]
    }
}

/// A number of worker threads, 1 to 256.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workers(pub usize);

impl Workers {
    /// One for each core that the process had when this was asked first: the quota of a container may change,
    /// and a configuration that is read anew must not seem to want other workers then.
    pub(super) fn cores() -> Workers {
        static CORES: LazyLock<usize> =
            LazyLock::new(|| std::thread::available_parallelism().map_or(1, usize::from));
        Workers(*CORES)
    }
}

impl FromStr for Workers {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text.trim().parse() {
            Ok(n) if (1..=256).contains(&n) => Ok(Workers(n)),
            _ => Err(Invalid::new(text, "a number of workers from 1 to 256", "such as 4")),
        }
    }
}

impl fmt::Display for Workers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

value! {
    Workers, "N", |workers| -> usize { workers.0 }
    fn detail() -> String {
        " from 1 to 256".to_owned()
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
            .map(|network| Prefix(canonical(network)))
            .map_err(|_| format!("\"{text}\" is not an address or a network such as 10.0.0.0/8"))
    }
}

/// The network in IPv4, if it is of IPv4 addresses that are written in IPv6: clients at them are known by
/// their IPv4 address.
fn canonical(network: IpNet) -> IpNet {
    let IpNet::V6(mapped) = network else { return network };
    let length = mapped.prefix_len().checked_sub(MAPPED);
    let address = mapped.addr().to_ipv4_mapped();
    let of_ipv4 =
        address.zip(length).and_then(|(address, length)| Ipv4Net::new(address, length).ok());
    of_ipv4.map_or(network, IpNet::V4)
}

/// Bits that all IPv4 addresses have in common that are written in IPv6 (RFC 4291, section 2.5.5.2).
const MAPPED: u8 = 96;

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

value!(Prefix, "NETWORK", |prefix| -> Prefix { prefix });

/// A time above zero, such as `500ms`, `30s` or `2m`, and at most a day: longer than any connection
/// should wait. A plain number is seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeout(pub Duration);

const SHORTEST: TimeSpan = TimeSpan(Duration::from_nanos(1));
const LONGEST: TimeSpan = TimeSpan(Duration::from_secs(24 * 3600));

impl Timeout {
    pub(super) const fn seconds(seconds: u64) -> Timeout {
        Timeout(Duration::from_secs(seconds))
    }
}

impl FromStr for Timeout {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match TimeSpan::parse_within(text, SHORTEST..=LONGEST) {
            Ok(TimeSpan(span)) => Ok(Timeout(span)),
            Err(_) => {
                Err(format!("\"{text}\" is not a time above zero and up to a day, such as 30s"))
            }
        }
    }
}

impl fmt::Display for Timeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        TimeSpan(self.0).fmt(f)
    }
}

value!(Timeout, "TIME", |timeout| -> Duration { timeout.0 });

/// The least severe of the server's messages that are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogLevel(pub LevelFilter);

const LEVELS: [(&str, LevelFilter); 5] = [
    ("error", LevelFilter::ERROR),
    ("warn", LevelFilter::WARN),
    ("info", LevelFilter::INFO),
    ("debug", LevelFilter::DEBUG),
    ("trace", LevelFilter::TRACE),
];

impl FromStr for LogLevel {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let found = LEVELS.iter().find(|(name, _)| *name == text);
        found.map(|(_, level)| LogLevel(*level)).ok_or_else(|| {
            let names = LEVELS.map(|(name, _)| name);
            Invalid::new(text, "a level of messages", weir_units::one_of(&names))
        })
    }
}

impl fmt::Display for LogLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

value! {
    LogLevel, "LEVEL", |level| -> LogLevel { level }
    fn words() -> Vec<(&'static str, &'static str)> {
        LEVELS.iter().map(|(name, _)| (*name, "")).collect()
    }
}

/// Where requests are logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccessLog {
    /// Nowhere.
    Off,
    /// To standard error, beside the server's own messages.
    Stderr,
    /// To standard output.
    Stdout,
    /// To systemd's journal, which listens on this socket.
    Journal(PathBuf),
    /// To the end of a file.
    File(PathBuf),
}

/// The socket of systemd's journal (systemd-journald.service(8)).
const JOURNAL: &str = "/run/systemd/journal/socket";

impl FromStr for AccessLog {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.strip_prefix("journal:")) {
            ("off", _) => Ok(AccessLog::Off),
            ("stderr", _) => Ok(AccessLog::Stderr),
            ("stdout", _) => Ok(AccessLog::Stdout),
            ("journal", _) => Ok(AccessLog::Journal(JOURNAL.into())),
            ("", _) => Err("an access log needs a name; write off, stderr, stdout, journal or a \
                            file"
                .to_owned()),
            (_, Some("")) => Err(format!(
                "the path of the journal's socket is missing; write journal for {JOURNAL}, or \
                 journal:/run/systemd/journal.NAME/socket"
            )),
            (_, Some(socket)) => Ok(AccessLog::Journal(socket.into())),
            (file, None) => Ok(AccessLog::File(file.into())),
        }
    }
}

impl fmt::Display for AccessLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AccessLog::Off => f.write_str("off"),
            AccessLog::Stderr => f.write_str("stderr"),
            AccessLog::Stdout => f.write_str("stdout"),
            AccessLog::Journal(socket) if socket == Path::new(JOURNAL) => f.write_str("journal"),
            AccessLog::Journal(socket) => write!(f, "journal:{}", socket.display()),
            AccessLog::File(path) => path.display().fmt(f),
        }
    }
}

value! {
    AccessLog, "TARGET", |log| -> AccessLog { log }
    fn words() -> Vec<(&'static str, &'static str)> {
        ["off", "stderr", "stdout", "journal", "a file"].map(|word| (word, "")).into()
    }

    fn move_beside(&mut self, directory: &Path) {
        if let AccessLog::File(path) | AccessLog::Journal(path) = self {
            *path = directory.join(&*path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_networks() {
        assert_eq!("500ms".parse(), Ok(Timeout(Duration::from_millis(500))));
        assert_eq!("75".parse(), Ok(Timeout::seconds(75)));
        assert!("0s".parse::<Timeout>().is_err());
        assert!("2d".parse::<Timeout>().is_err());
        assert!("::1".parse::<Prefix>().is_ok());
        assert!("10.0.0.0/33".parse::<Prefix>().is_err());
        for (written, meant) in [
            ("::ffff:10.0.0.0/104", "10.0.0.0/8"),
            ("::ffff:10.1.2.3", "10.1.2.3/32"),
            ("::ffff:0:0/96", "0.0.0.0/0"),
            ("::ffff:0:0/95", "::ffff:0.0.0.0/95"),
            ("::/0", "::/0"),
            ("::10.0.0.0/104", "::a00:0/104"),
        ] {
            assert_eq!(written.parse::<Prefix>().unwrap().to_string(), meant, "{written}");
        }
    }

    #[test]
    fn targets_of_the_access_log() {
        for text in ["off", "stderr", "stdout", "journal", "journal:/run/j/socket", "/a/journal"] {
            assert_eq!(text.parse::<AccessLog>().unwrap().to_string(), text);
        }
        assert_eq!("journal".parse(), Ok(AccessLog::Journal(JOURNAL.into())));
        assert_eq!("./journal".parse(), Ok(AccessLog::File("./journal".into())));
        assert!("".parse::<AccessLog>().unwrap_err().contains("write off, stderr"));
        assert!("journal:".parse::<AccessLog>().unwrap_err().contains("socket is missing"));
    }
}
