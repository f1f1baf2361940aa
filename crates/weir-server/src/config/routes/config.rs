//! What a route comes to. Made by the readers of the file and of `--proxy`; the server answers requests
//! by it.

use http::StatusCode;

use super::access::RouteAccess;
use super::table::ProxyConfig;
use crate::config::site::FilesConfig;

/// The priority of routes that name none.
pub(super) const PRIORITY: u8 = 100;

/// Which requests are answered how.
#[derive(Clone, Debug)]
pub struct RouteConfig {
    /// The host that is asked for: lower case, without a port; `*.example.org` stands for every name
    /// that ends in `.example.org`. `None`: every host.
    pub host: Option<String>,
    /// The path, and everything below it: decoded, beginning with a slash, and without one at its
    /// end unless it is `/`.
    pub path: String,
    /// Which calls go first where several routes share a backend's gate: least first. Default 100.
    pub priority: u8,
    /// Who may use it, and how often.
    pub access: RouteAccess,
    /// What becomes of the request.
    pub action: Action,
}

impl RouteConfig {
    /// What logs call it: its path, after its host if it has one.
    pub(crate) fn name(&self) -> String {
        format!("{}{}", self.host.as_deref().unwrap_or_default(), self.path)
    }

    /// Whether it serves files in a way of its own.
    pub(crate) fn has_site(&self) -> bool {
        matches!(self.action, Action::Directory(_))
    }

    /// Whether answers of its backends are compressed.
    pub(crate) fn compresses(&self) -> bool {
        matches!(&self.action, Action::Proxy(proxy) if proxy.compress)
    }
}

/// What becomes of the requests of a route.
#[derive(Clone, Debug)]
pub enum Action {
    /// They are answered with the files of the root, as the server serves them.
    Files,
    /// They are answered with files of a directory of the route's own, or with those of the root in a way
    /// of its own.
    Directory(Box<FilesConfig>),
    /// They are sent elsewhere.
    Redirect {
        /// The `Location`, in ASCII. If it ends in `/{rest}`, that stands for what follows the path
        /// of the route, with the query.
        to: String,
        /// 301, 302, 307 or 308. Default 308.
        status: StatusCode,
    },
    /// They are answered by backends.
    Proxy(Box<ProxyConfig>),
}
