//! Makes a route of its keys: fills in defaults and refuses what is invalid together. Used by the reader
//! of the file.

use std::collections::BTreeMap;
use std::path::Path;

use weir_sched::{BackendOrder, CallLimit};

use super::access::RouteAccessKeys;
use super::backend_tls;
use super::choices::{DisconnectDetection, HalfClosed};
use super::config::{Action, RouteConfig};
use super::flag::check_backends;
use super::health::HealthCheck;
use super::own_files::OwnFiles;
use super::table::{ProxyConfig, ProxyKeys, RouteKeys};
use crate::config::client_width::ClientWidth;
use crate::config::error::ConfigError;
use crate::config::key::Table as _;
use crate::config::keys::at_line;
use crate::config::site::FileKeys;
use crate::config::value::Value;

/// A route as the file has it.
#[derive(Clone, Debug)]
pub struct FileRoute {
    /// Of a route of files before the keys of the server are known: one of the server's files.
    pub(super) config: RouteConfig,
    /// What a route of files says itself, if it says anything.
    pub(super) files: Option<OwnFiles>,
    /// If the route says so itself.
    pub(super) limit: Option<CallLimit>,
    /// If the route says so itself.
    pub(super) order: Option<BackendOrder>,
    /// Where it begins in the file.
    pub(super) line: usize,
}

impl FileRoute {
    /// Whether it is for this host and path.
    pub(in crate::config) fn is_for(&self, host: Option<&str>, path: &str) -> bool {
        self.config.host.as_deref() == host && self.config.path == path
    }

    /// Whether it is one of files of the server's directory.
    pub(super) fn needs_root(&self) -> bool {
        let has_own = self.files.as_ref().is_some_and(OwnFiles::has_root);
        matches!(self.config.action, Action::Files) && !has_own
    }

    /// What it comes to, where `above` says how files are served if the route does not.
    ///
    /// # Errors
    ///
    /// What both say makes no sense together.
    pub(super) fn with_files(self, above: &FileKeys) -> Result<RouteConfig, ConfigError> {
        let Some(own) = self.files else { return Ok(self.config) };
        let site = own.site(above).map_err(|what| at_line(self.line, what))?;
        Ok(RouteConfig { action: Action::Directory(Box::new(site)), ..self.config })
    }

    /// Takes the sockets of its backends, its files and its directory to be named relative to `directory`.
    pub(in crate::config) fn move_beside(&mut self, directory: &Path) {
        self.config.access.move_beside(directory);
        if let Action::Proxy(proxy) = &mut self.config.action {
            proxy.backends.move_beside(directory);
            let files =
                [&mut proxy.backend_ca, &mut proxy.backend_certificate, &mut proxy.backend_key];
            files.into_iter().flatten().for_each(|file| file.move_beside(directory));
        }
        if let Some(files) = &mut self.files {
            files.move_beside(directory);
        }
    }
}

/// Where a route stands in the file.
#[derive(Debug)]
pub(super) struct Lines {
    /// The line in which it begins.
    pub(super) first: usize,
    /// The lines of its keys.
    pub(super) keys: BTreeMap<String, usize>,
}

/// What is wrong with a route.
#[derive(Debug)]
pub(super) struct Wrong {
    /// The key that is to blame.
    key: Option<&'static str>,
    /// What is wrong and what to do.
    pub(super) what: String,
}

impl Wrong {
    /// The line to look at.
    pub(super) fn line(&self, lines: &Lines) -> usize {
        self.key.and_then(|key| lines.keys.get(key)).copied().unwrap_or(lines.first)
    }
}

fn of_key(key: &'static str, what: impl Into<String>) -> Wrong {
    Wrong { key: Some(key), what: what.into() }
}

fn of_route(what: impl Into<String>) -> Wrong {
    Wrong { key: None, what: what.into() }
}

/// Keys that every route may have, beside those of [`RouteAccessKeys`].
const EVERY: [&str; 3] = ["host", "path", "priority"];

/// Keys that a route of files may have beside those about files.
const OF_FILES: [&str; 3] = ["files", "root", STRIP_PREFIX];

const STRIP_PREFIX: &str = "strip_prefix";

/// The route that `keys`, `of_access`, `of_proxy` and `of_files` describe; its keys are in `lines`.
pub(super) fn build(
    keys: &RouteKeys,
    of_access: &RouteAccessKeys,
    of_proxy: &ProxyKeys,
    of_files: FileKeys,
    lines: &Lines,
) -> Result<FileRoute, Wrong> {
    of_access.check().map_err(|(key, what)| of_key(key, what))?;
    let matching = keys.resolve();
    let path = matching.path.ok_or_else(|| {
        of_route("a route needs a `path`; write path = \"/\" for one of everything")
    })?;
    let is_of_files = matching.files || matching.root.is_some();
    let mut files = None;
    let action = match (&of_proxy.backends, matching.redirect, is_of_files) {
        (Some(_), None, false) => {
            only(lines, "that has backends", ProxyKeys::NAMES)?;
            Action::Proxy(Box::new(proxy(of_proxy)?))
        }
        (None, Some(to), false) => {
            only(lines, "that redirects", &["redirect", "status"])?;
            Action::Redirect { to, status: matching.status }
        }
        (None, None, true) => {
            only(lines, "of files", &[&OF_FILES[..], &FileKeys::names()[..]].concat())?;
            let strips = of_proxy.strip_prefix.unwrap_or_default();
            files = OwnFiles::of(&path, matching.root, strips, of_files);
            Action::Files
        }
        (None, None, false) => {
            return Err(of_route(
                "a route needs `backends`, such as backends = [\"http://127.0.0.1:9000\"], \
                 `redirect`, `root` or files = true",
            ));
        }
        _ => {
            return Err(of_route(
                "a route has either `backends`, or `redirect`, or files (`root` or files = true); make \
                 it two routes",
            ));
        }
    };
    let access = of_access.resolve(ClientWidth::default());
    let config = RouteConfig {
        host: matching.host,
        path,
        priority: matching.priority as u8,
        access,
        action,
    };
    let (limit, order) = (of_proxy.backend_limit, of_proxy.backend_order);
    Ok(FileRoute { config, files, limit, order, line: lines.first })
}

/// Refuses keys that a route of this kind has no use for.
fn only(lines: &Lines, kind: &str, useful: &[&str]) -> Result<(), Wrong> {
    let all = [RouteKeys::NAMES, ProxyKeys::NAMES, &FileKeys::names()[..]].concat();
    let useless =
        |key: &&str| lines.keys.contains_key(*key) && !EVERY.contains(key) && !useful.contains(key);
    match all.into_iter().find(useless) {
        Some(key) => {
            Err(of_key(key, format!("`{key}` has no effect on a route {kind}; remove it")))
        }
        None => Ok(()),
    }
}

fn proxy(keys: &ProxyKeys) -> Result<ProxyConfig, Wrong> {
    let proxy = keys.resolve();
    check_backends(&proxy.backends).map_err(|what| of_key("backends", what))?;
    if let Some(weights) = &keys.weights {
        weights.check(proxy.backends.len()).map_err(|what| of_key("weights", what))?;
    }
    if proxy.half_closed != HalfClosed::Gone
        && proxy.disconnect_detection != DisconnectDetection::Event
    {
        return Err(of_key(
            "half_closed",
            "only disconnect_detection = \"event\" can tell a client that has closed its side from \
             one that has left; remove `half_closed` or `disconnect_detection`",
        ));
    }
    backend_tls::check(&proxy).map_err(|(key, what)| of_key(key, what))?;
    if let Some(health) = &proxy.health {
        check_health(health)?;
    }
    if proxy.strip_prefix && proxy.rewrite.is_some() {
        return Err(of_key(
            STRIP_PREFIX,
            "`rewrite` takes the prefix off already; remove `strip_prefix`",
        ));
    }
    if let Some(edits) = &keys.request_headers {
        edits.check_for_requests().map_err(|what| of_key("request_headers", what))?;
    }
    Ok(proxy)
}

fn check_health(health: &HealthCheck) -> Result<(), Wrong> {
    if health.timeout > health.interval {
        return Err(of_key(
            "health",
            "the `timeout` of `health` is longer than its `interval`; make it shorter, so that a \
             check ends before the next",
        ));
    }
    Ok(())
}
