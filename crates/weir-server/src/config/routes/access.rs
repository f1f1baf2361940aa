//! The table of a route's keys about who may use it and how often, which every kind of route may have.
//! Read with the other keys of routes; `access` goes by it.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use weir_units::RequestRate;

use crate::config::access::Burst;
use crate::config::client_width::ClientWidth;
use crate::config::table::settings;
use crate::config::tls::FilePath;
use crate::config::value::{Value, value};
use crate::config::values::Prefix;

settings! {
    /// The keys of a route that say who may use it.
    pub(super) struct RouteAccessKeys;

    /// Who may use a route, and how often.
    pub struct RouteAccess {
        /// How much of an address tells clients apart for limits.
        pub client_width: ClientWidth,
    }

    "Access to a route" {
        /// Networks of clients that may use the route
        ///
        /// If there are any, all others are answered with 403. The server's own `allow` and `deny` hold
        /// beside it.
        allow: Vec<Prefix> = Vec::new(),
        else "everybody",
        example ["192.168.0.0/16", "2001:db8::/32"];

        /// Networks of clients that may not use the route
        ///
        /// They are answered with 403. Of `deny` and `allow` the smaller network wins, and of equal ones
        /// `deny`.
        deny: Vec<Prefix> = Vec::new(),
        else "nobody",
        example ["192.0.2.0/24"];

        /// File with the users and the passwords that the route asks for (RFC 7617)
        ///
        /// `htpasswd -B` makes it: lines of a user, a colon and a hash of bcrypt. A changed file takes
        /// effect within two seconds; one that cannot be used is named, and the users before stay. Serve
        /// such a route over TLS: passwords are sent as they are. Routes of the request's host come before
        /// those without a `host`: give each host that has routes of its own one with the password, too.
        basic_auth: FilePath,
        else "the route asks for no password",
        example "/etc/weir/passwords";

        /// What browsers say the password is for
        basic_auth_realm: Realm = Realm::default(),
        needs "basic_auth",
        example "Staff";

        /// Most requests of each client for this route
        ///
        /// More are answered with 429 and `Retry-After`. They count for the server's own
        /// `limit_requests`, too.
        limit_requests: RequestRate,
        else "no limit",
        example "5/m";

        /// Most requests at once of a client that has not asked for a while
        limit_burst: Burst,
        else "as many as `limit_requests` lets through in a second, and 1 at least",
        needs "limit_requests",
        example 10;
    }
}

impl Default for RouteAccess {
    /// Everybody may use the route as often as wanted.
    fn default() -> RouteAccess {
        RouteAccessKeys::default().resolve(ClientWidth::default())
    }
}

impl RouteAccess {
    /// Whether not everybody may use the route.
    pub(in crate::config) fn is_restricted(&self) -> bool {
        self.basic_auth.is_some() || !self.allow.is_empty() || !self.deny.is_empty()
    }

    /// Whether it has all the kinds of restriction that `other` has.
    pub(in crate::config) fn restricts_as(&self, other: &RouteAccess) -> bool {
        let networks = |access: &RouteAccess| !access.allow.is_empty() || !access.deny.is_empty();
        (self.basic_auth.is_some() || other.basic_auth.is_none())
            && (networks(self) || !networks(other))
    }

    /// Takes relative paths to be relative to `directory`.
    pub(super) fn move_beside(&mut self, directory: &Path) {
        if let Some(file) = &mut self.basic_auth {
            Value::move_beside(file, directory);
        }
    }
}

impl RouteAccessKeys {
    /// The first key that has no effect, and why.
    pub(super) fn check(&self) -> Result<(), (&'static str, String)> {
        let pairs = [
            (
                "basic_auth_realm",
                self.basic_auth_realm.is_some(),
                "basic_auth",
                self.basic_auth.is_some(),
            ),
            (
                "limit_burst",
                self.limit_burst.is_some(),
                "limit_requests",
                self.limit_requests.is_some(),
            ),
        ];
        match pairs.into_iter().find(|(_, is_given, _, has_other)| *is_given && !has_other) {
            Some((key, _, other, _)) => {
                Err((key, format!("`{key}` has no effect without `{other}`; write that, too")))
            }
            None => Ok(()),
        }
    }
}

/// What a password is for, as browsers show it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Realm(String);

impl Default for Realm {
    fn default() -> Realm {
        Realm("Restricted".to_owned())
    }
}

impl FromStr for Realm {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_printable = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
        match is_printable && !text.trim().is_empty() {
            true => Ok(Realm(text.to_owned())),
            false => Err(format!(
                "\"{}\" is not what browsers can show everywhere; write a few words in ASCII",
                text.escape_default()
            )),
        }
    }
}

impl fmt::Display for Realm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

value!(Realm, "TEXT", |realm| -> String { realm.0 });
