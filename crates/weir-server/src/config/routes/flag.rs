//! `--proxy PATH=URL[,URL]`: a route with nothing but backends. Used by the table of the server's keys,
//! and made a route in [`super::assemble`].

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use super::address::BackendAddress;
use super::path::RoutePath;
use crate::config::value::value;

/// A route of every host to backends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyFlag {
    /// As the key `path` of a route.
    pub path: String,
    /// At least one.
    pub backends: Vec<BackendAddress>,
}

impl FromStr for ProxyFlag {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some((path, backends)) = text.split_once('=') else {
            return Err(format!(
                "\"{text}\" is not a path and its backends; write it such as \
                 /=http://127.0.0.1:9000"
            ));
        };
        let RoutePath(path) = path.trim().parse()?;
        let backends = backends.split(',').map(str::parse).collect::<Result<Vec<_>, _>>()?;
        check_backends(&backends)?;
        Ok(ProxyFlag { path, backends })
    }
}

impl fmt::Display for ProxyFlag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let backends: Vec<String> = self.backends.iter().map(ToString::to_string).collect();
        write!(f, "{}={}", self.path, backends.join(","))
    }
}

value! {
    ProxyFlag, "PATH=URL[,URL]", |flag| -> ProxyFlag { flag }
    fn move_beside(&mut self, directory: &Path) {
        self.backends.move_beside(directory);
    }
}

/// Refuses a list of backends that is empty, or names one twice.
pub(super) fn check_backends(backends: &[BackendAddress]) -> Result<(), String> {
    if backends.is_empty() {
        return Err("a route to backends needs one at least, such as http://127.0.0.1:9000".into());
    }
    for (place, backend) in backends.iter().enumerate() {
        if backends.iter().take(place).any(|other| other == backend) {
            return Err(format!("the backend {backend} is named twice"));
        }
    }
    Ok(())
}
