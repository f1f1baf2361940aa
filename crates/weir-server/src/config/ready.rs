//! The names of routes on which readiness depends (`ready_routes`). Read by the table of keys;
//! [`super::readiness`] finds the routes.

use std::fmt;
use std::str::FromStr;

use super::routes::RouteConfig;
use super::value::value;

/// A route as it is named: its path, after its host if it has one, such as `/app` or
/// `www.example.org/app`. Without a host, the routes of all hosts with this path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadyRoute {
    /// In lower case.
    host: Option<String>,
    /// As [`RouteConfig::path`].
    path: String,
}

impl ReadyRoute {
    /// Whether `route` is the one, or one of those.
    pub(super) fn names(&self, route: &RouteConfig) -> bool {
        (self.host.is_none() || self.host == route.host) && self.path == route.path
    }
}

impl FromStr for ReadyRoute {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let Some(slash) = text.find('/') else {
            return Err(format!(
                "\"{text}\" is not a route; write its path, after its host if it has one, such as /app \
                 or www.example.org/app"
            ));
        };
        let (host, path) = text.split_at(slash);
        let host = (!host.is_empty()).then(|| host.to_ascii_lowercase());
        let path = match path.trim_end_matches('/') {
            "" => "/",
            path => path,
        };
        Ok(ReadyRoute { host, path: path.to_owned() })
    }
}

impl fmt::Display for ReadyRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.host.as_deref().unwrap_or_default(), self.path)
    }
}

value!(ReadyRoute, "ROUTE", |route| -> ReadyRoute { route });
