//! The servers that can be measured, by name. How each is configured and
//! started is not known here.

use std::fmt::{self, Display};
use std::str::FromStr;

use crate::Result;
use crate::configuration::Reads;

/// What can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum System {
    Weir,
    Nginx(Reads),
    Lighttpd,
    H2o,
}

impl FromStr for System {
    type Err = String;

    fn from_str(name: &str) -> Result<System> {
        Ok(match name {
            "weir" => System::Weir,
            "nginx" | "nginx-sendfile" => System::Nginx(Reads::Sendfile),
            "nginx-copy" => System::Nginx(Reads::Copy),
            "nginx-aio" => System::Nginx(Reads::Threads),
            "lighttpd" => System::Lighttpd,
            "h2o" => System::H2o,
            _ => {
                let known = "weir, nginx-sendfile, nginx-copy, nginx-aio, lighttpd, h2o";
                return Err(format!("no system {name:?}: choose from {known}"));
            }
        })
    }
}

impl Display for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            System::Weir => "weir",
            System::Nginx(Reads::Sendfile) => "nginx-sendfile",
            System::Nginx(Reads::Copy) => "nginx-copy",
            System::Nginx(Reads::Threads) => "nginx-aio",
            System::Lighttpd => "lighttpd",
            System::H2o => "h2o",
        })
    }
}
