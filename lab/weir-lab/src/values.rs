//! The values of the flags of `weir-lab trace`, and how each is written. They know no defaults.

use std::str::FromStr;
use std::time::Duration;

use weir_server::config::Uplink;
use weir_workload::arrivals::LoadIs as Load;

/// Bits per second of a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rate(pub(crate) f64);

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Rate, String> {
        let rate = text.parse::<Uplink>()?.0;
        let rate = rate.ok_or("a load needs the rate of the link, such as 10mbit")?;
        Ok(Rate(rate.bits() as f64))
    }
}

/// Seconds, written as 150s or 2m30s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Seconds(pub(crate) f64);

impl FromStr for Seconds {
    type Err = String;

    fn from_str(text: &str) -> Result<Seconds, String> {
        humantime::parse_duration(text)
            .map(|time| Seconds(Duration::as_secs_f64(&time)))
            .map_err(|_| format!("\"{text}\" is not a time; write such as 150s, 30m or 500ms"))
    }
}

/// The bytes that load counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LoadIs {
    /// Heads, bodies, packets and connections
    Wire,
    /// Bodies
    File,
}

impl From<LoadIs> for Load {
    fn from(load: LoadIs) -> Load {
        match load {
            LoadIs::Wire => Load::Wire,
            LoadIs::File => Load::File,
        }
    }
}
