//! Makes a route of its keys: fills in defaults and refuses what makes no sense together.

use std::time::Duration;

use weir_sched::{BackendOrder, CallLimit};

use super::flag::{PRIORITY, check_backends};
use super::table::{HealthKeys, Lines, RouteKeys};
use super::{
    Action, BackendAddress, DeadRequests, HalfClose, HealthCheck, How, ProxyConfig, RouteConfig,
};
use crate::config::keys::fields;
use crate::config::values::{Size, Span};

/// A route as the file has it.
#[derive(Clone, Debug)]
pub struct FileRoute {
    pub(super) config: RouteConfig,
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

    /// Its backends, if it has any.
    pub(in crate::config) fn backends_mut(&mut self) -> Option<&mut Vec<BackendAddress>> {
        match &mut self.config.action {
            Action::Proxy(proxy) => Some(&mut proxy.backends),
            Action::Files | Action::Redirect { .. } => None,
        }
    }
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

/// Keys that every route may have.
const EVERY: [&str; 3] = ["host", "path", "priority"];

pub(super) fn build(mut keys: RouteKeys, lines: &Lines) -> Result<FileRoute, Wrong> {
    let path = keys.path.take().ok_or_else(|| {
        of_route("a route needs a `path`; write path = \"/\" for one of everything")
    })?;
    let (limit, order) = (keys.limit, keys.order);
    let (host, priority) = (keys.host.take(), keys.priority);
    let has_files = keys.files.unwrap_or(false);
    let action = match (keys.backends.take(), keys.redirect.take(), has_files) {
        (Some(backends), None, false) => {
            only(lines, "that has backends", |key| {
                !matches!(key, "files" | "redirect" | "status")
            })?;
            Action::Proxy(Box::new(proxy(backends, keys)?))
        }
        (None, Some(to), false) => {
            only(lines, "that redirects", |key| matches!(key, "redirect" | "status"))?;
            Action::Redirect { to: to.0, status: keys.status.unwrap_or_default().0 }
        }
        (None, None, true) => {
            only(lines, "of files", |key| key == "files")?;
            Action::Files
        }
        (None, None, false) => {
            return Err(of_route(
                "a route needs `backends`, such as backends = [\"http://127.0.0.1:9000\"], \
                 `redirect` or files = true",
            ));
        }
        _ => {
            return Err(of_route(
                "a route has either `backends`, or `redirect`, or files = true; make it two routes",
            ));
        }
    };
    let config = RouteConfig {
        host: host.map(|host| host.0),
        path: path.0,
        priority: priority.map_or(PRIORITY, |number| number.get() as u8),
        action,
    };
    Ok(FileRoute { config, limit, order, line: lines.first })
}

/// Refuses keys that a route of this kind has no use for.
fn only(lines: &Lines, kind: &str, has_use: impl Fn(&str) -> bool) -> Result<(), Wrong> {
    let mut known = fields::<RouteKeys>().iter().copied();
    let useless =
        |key: &&str| lines.keys.contains_key(*key) && !EVERY.contains(key) && !has_use(key);
    match known.find(useless) {
        Some(key) => {
            Err(of_key(key, format!("`{key}` means nothing for a route {kind}; remove it")))
        }
        None => Ok(()),
    }
}

fn proxy(backends: Vec<BackendAddress>, keys: RouteKeys) -> Result<ProxyConfig, Wrong> {
    check_backends(&backends).map_err(|what| of_key("backends", what))?;
    let mut proxy = ProxyConfig::to(backends);
    set(&mut proxy.balance, keys.balance);
    set(&mut proxy.cancels, keys.cancels);
    set(&mut proxy.gate.longest_wait, keys.longest_wait.map(time));
    set(&mut proxy.gate.most_waiting, keys.most_waiting.map(|number| number.get() as usize));
    proxy.dead_requests = DeadRequests {
        how: keys.dead_requests.unwrap_or_default(),
        when: keys.when.unwrap_or_default(),
    };
    set(&mut proxy.half_close, keys.half_close);
    if proxy.half_close != HalfClose::Gone && proxy.dead_requests.how != How::Event {
        return Err(of_key(
            "half_close",
            "only dead_requests = \"event\" can tell a client that has closed its side from one that \
             has left; remove `half_close` or `dead_requests`",
        ));
    }
    set(&mut proxy.connect_timeout, keys.connect_timeout.map(time));
    set(&mut proxy.first_byte_timeout, keys.first_byte_timeout.map(time));
    set(&mut proxy.idle_timeout, keys.idle_timeout.map(time));
    proxy.total_timeout = keys.total_timeout.map(time);
    set(&mut proxy.keep_alive, keys.keep_alive.map(time));
    set(&mut proxy.retries, keys.retries.map(|number| number.get()));
    proxy.health = keys.health.map(health).transpose()?;
    set(&mut proxy.passive.max_fails, keys.max_fails.map(|number| number.get()));
    set(&mut proxy.passive.fail_timeout, keys.fail_timeout.map(time));
    set(&mut proxy.strip_prefix, keys.strip_prefix);
    proxy.rewrite = keys.rewrite.map(|path| path.0);
    if proxy.strip_prefix && proxy.rewrite.is_some() {
        return Err(of_key(
            "strip_prefix",
            "`rewrite` takes the prefix off already; remove `strip_prefix`",
        ));
    }
    set(&mut proxy.host_header, keys.host_header);
    set(&mut proxy.forwarded, keys.forwarded);
    set(&mut proxy.trust_forwarded, keys.trust_forwarded);
    let for_requests = keys.request_headers.unwrap_or_default();
    for_requests.check_for_requests().map_err(|what| of_key("request_headers", what))?;
    proxy.request_headers = for_requests.0.into();
    proxy.response_headers = keys.response_headers.unwrap_or_default().0.into();
    set(&mut proxy.buffer, keys.buffer.map(|Size(bytes)| bytes));
    set(&mut proxy.overflow, keys.overflow);
    set(&mut proxy.max_spill, keys.max_spill.map(|Size(bytes)| bytes));
    proxy.max_body = keys.max_body.map(|Size(bytes)| bytes);
    Ok(proxy)
}

fn health(keys: HealthKeys) -> Result<HealthCheck, Wrong> {
    let interval = keys.interval.map_or(Duration::from_secs(5), time);
    let timeout = keys.timeout.map_or(interval.min(Duration::from_secs(2)), time);
    if timeout > interval {
        return Err(of_key(
            "health",
            "the `timeout` of `health` is longer than its `interval`; make it shorter, so that a \
             check ends before the next",
        ));
    }
    Ok(HealthCheck {
        path: keys.path.map_or_else(|| "/".to_owned(), |path| path.0),
        interval,
        timeout,
        healthy: keys.healthy.map_or(2, |number| number.get()),
        unhealthy: keys.unhealthy.map_or(3, |number| number.get()),
    })
}

/// Replaces a default by what was given.
fn set<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

fn time(Span(time): Span) -> Duration {
    time
}
