//! The formats of traces by name, for the command line and for readers.

use std::fmt;
use std::str::FromStr;

/// The format of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Common or Combined Log Format, as Apache, nginx and `weir serve` write.
    Clf,
    /// Binary logs of the World Cup 1998 site: big-endian records of 20 bytes.
    Wc98,
    /// Plain CSV with the header `time,client,path,size`; a column `class` may follow.
    Csv,
    /// The EDGAR Log File Data Set of the U.S. SEC.
    Edgar,
    /// Download logs of the RStudio CRAN mirror.
    Cran,
    /// NASA's server of 1995 as a table between tabs.
    Nasa,
}

impl Format {
    /// The names that [`Format::from_str`] knows.
    pub const NAMES: [&'static str; 6] = ["clf", "wc98", "csv", "edgar", "cran", "nasa"];

    const ALL: [Format; 6] =
        [Format::Clf, Format::Wc98, Format::Csv, Format::Edgar, Format::Cran, Format::Nasa];

    /// Whether times are whole seconds.
    pub fn whole_seconds(self) -> bool {
        self != Format::Csv
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(name: &str) -> Result<Format, String> {
        let place = Format::NAMES.iter().position(|known| *known == name);
        place.map(|place| Format::ALL[place]).ok_or_else(|| {
            format!("\"{name}\" is not a format; write one of {}", Format::NAMES.join(", "))
        })
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::Clf => "clf",
            Format::Wc98 => "wc98",
            Format::Csv => "csv",
            Format::Edgar => "edgar",
            Format::Cran => "cran",
            Format::Nasa => "nasa",
        })
    }
}
