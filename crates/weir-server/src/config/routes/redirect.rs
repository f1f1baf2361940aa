//! Where redirects lead to, and with which status. Used by the table of routes' keys.

use std::fmt;
use std::str::FromStr;

use http::StatusCode;

use super::host::split_port;
use crate::config::value::value;

/// What stands for the rest of the path.
const REST: &str = "{rest}";

/// A location: a path of this host or a URL, perhaps with `{rest}` as its last segment. What comes
/// from the client stands behind a slash of a path, so it cannot name the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target(pub(super) String);

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| Err(format!("cannot redirect to \"{text}\": {why}"));
        let fixed = text.strip_suffix(REST).unwrap_or(text);
        if fixed.contains(['{', '}']) {
            return wrong("only {rest} may stand in braces, and only at the end");
        }
        if !fixed.bytes().all(|byte| byte.is_ascii_graphic()) {
            return wrong("write it as it is to be sent, percent-encoded");
        }
        let lower = fixed.to_ascii_lowercase();
        let after_scheme =
            ["http://", "https://"].iter().find_map(|scheme| lower.strip_prefix(scheme));
        let path = match after_scheme {
            Some(rest) => {
                let (authority, path) =
                    rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
                if split_port(authority).is_none() {
                    return wrong("that names no host; write such as https://www.example.org/");
                }
                path
            }
            None if lower.starts_with("//") || !lower.starts_with('/') => {
                return wrong("write a path that begins with one slash, or a URL of http or https");
            }
            None => lower.as_str(),
        };
        let ends_in_slash = path.ends_with('/') && !path.contains(['?', '#']);
        if fixed.len() < text.len() && !ends_in_slash {
            return wrong("{rest} stands for segments of the path; write a slash before it");
        }
        Ok(Target(text.to_owned()))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

value!(Target, "URL", |target| -> String { target.0 });

/// The status of a redirect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Status(pub(super) StatusCode);

impl Default for Status {
    /// For ever, and with the same method.
    fn default() -> Status {
        Status(StatusCode::PERMANENT_REDIRECT)
    }
}

impl FromStr for Status {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let status = match text {
            "301" => StatusCode::MOVED_PERMANENTLY,
            "302" => StatusCode::FOUND,
            "307" => StatusCode::TEMPORARY_REDIRECT,
            "308" => StatusCode::PERMANENT_REDIRECT,
            _ => {
                return Err(format!(
                    "\"{text}\" is not the status of a redirect; write 301, 302, 307 or 308"
                ));
            }
        };
        Ok(Status(status))
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.as_u16().fmt(f)
    }
}

value!(Status, "STATUS", |status| -> StatusCode { status.0 });
