//! The routing table: which route a request takes, by host and path. Used by [`super::Proxy`].

use std::borrow::Cow;
use std::collections::HashMap;

use super::normal_path::{InvalidPath, normalise, without_parameters};
use crate::config::{RouteConfig, ipv6_literal};

/// The longest host name, in bytes (RFC 1035, section 2.3.4).
const MAX_HOST_NAME: usize = 255;

/// The routes, indexed by host and prefix.
#[derive(Debug, Default)]
pub(crate) struct Routes {
    /// Those of one host, by its name.
    exact: HashMap<Box<str>, Prefixes>,
    /// Those of `*.example.org`, by `example.org`.
    wildcard: HashMap<Box<str>, Prefixes>,
    /// Those of every host.
    any: Prefixes,
}

impl Routes {
    /// Of two routes with the same host and path the first wins; the configuration refuses such.
    pub(crate) fn new(routes: &[RouteConfig]) -> Routes {
        let mut table = Routes::default();
        for (index, route) in routes.iter().enumerate() {
            let prefixes = match route.host.as_deref() {
                None => &mut table.any,
                Some(host) => match host.strip_prefix("*.") {
                    Some(suffix) => table.wildcard.entry(suffix.into()).or_default(),
                    None => table.exact.entry(host.into()).or_default(),
                },
            };
            prefixes.add(&route.path, index);
        }
        table
    }

    /// The index of the route for `path`, the path of a request target without its
    /// query, on `host`, the `Host` field or the authority of the target as it was sent.
    ///
    /// Routes of the very host come first, then those of wildcards, the longest first, then those
    /// without a host. In each of these groups the longest prefix wins; a group in which none fits
    /// leaves the request to the next. Paths are compared by segments, in their normal form.
    ///
    /// A path that would take another route without the parameters of its segments (`/admin;a`) is
    /// ambiguous: some backends read it with them, some without.
    pub(crate) fn find(
        &self,
        host: Option<&str>,
        path: &str,
    ) -> Result<Option<usize>, InvalidPath> {
        let path = normalise(path)?;
        let found = self.find_normal(host, &path);
        match without_parameters(&path) {
            Some(bare) if self.find_normal(host, &bare) != found => Err(InvalidPath::Ambiguous),
            _ => Ok(found),
        }
    }

    fn find_normal(&self, host: Option<&str>, path: &[u8]) -> Option<usize> {
        let by_host = || self.of_host(&bare_name(host?)?, path);
        by_host().or_else(|| self.any.find(path))
    }

    fn of_host(&self, name: &str, path: &[u8]) -> Option<usize> {
        let exact = self.exact.get(name).and_then(|prefixes| prefixes.find(path));
        let suffixes = || name.match_indices('.').filter_map(|(dot, _)| name.get(dot + 1..));
        let of_suffix = |suffix: &str| self.wildcard.get(suffix)?.find(path);
        exact.or_else(|| suffixes().find_map(of_suffix))
    }
}

/// The name in a `Host` field: lower case, without the port and the dot of the root. `None`: too
/// long to be one.
fn bare_name(host: &str) -> Option<Cow<'_, str>> {
    let end = match host.strip_prefix('[') {
        Some(literal) => literal.find(']').map(|end| end + 2),
        None => host.find(':'),
    };
    let name = host.get(..end.unwrap_or(host.len()))?;
    let name = name.strip_suffix('.').unwrap_or(name);
    if let Some(address) = ipv6_literal(name) {
        return Some(Cow::Owned(address));
    }
    (name.len() <= MAX_HOST_NAME).then(|| match name.bytes().any(|b| b.is_ascii_uppercase()) {
        true => Cow::Owned(name.to_ascii_lowercase()),
        false => Cow::Borrowed(name),
    })
}

/// The prefixes of one host, the longest first.
#[derive(Debug, Default)]
struct Prefixes(Vec<(Box<[u8]>, usize)>);

impl Prefixes {
    /// `path` without its last slash is looked for, so that `/` is found everywhere.
    fn add(&mut self, path: &str, index: usize) {
        let prefix = path.trim_end_matches('/').as_bytes();
        let place = self.0.partition_point(|(other, _)| other.len() >= prefix.len());
        self.0.insert(place, (prefix.into(), index));
    }

    /// Goes through them in order: a comparison mostly ends at its first bytes, and the cost does
    /// not depend on how many segments a client puts into a path.
    fn find(&self, path: &[u8]) -> Option<usize> {
        let fits = |prefix: &[u8]| {
            let rest = path.strip_prefix(prefix);
            rest.is_some_and(|rest| matches!(rest.first(), None | Some(b'/')))
        };
        self.0.iter().find(|(prefix, _)| fits(prefix)).map(|(_, index)| *index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Action, RouteAccess};
    use proptest::prelude::*;
    use proptest::sample::{Index, select};

    fn route(host: Option<&str>, path: &str) -> RouteConfig {
        let (host, path) = (host.map(str::to_owned), path.to_owned());
        let access = RouteAccess::default();
        RouteConfig { host, path, priority: 100, access, action: Action::Files }
    }

    fn table(routes: &[(&str, &str)]) -> Routes {
        let routes: Vec<RouteConfig> = routes
            .iter()
            .map(|(host, path)| route((!host.is_empty()).then_some(host), path))
            .collect();
        Routes::new(&routes)
    }

    #[test]
    fn prefixes_end_at_segments_and_the_longest_wins() {
        let routes = table(&[("", "/"), ("", "/api"), ("", "/api/v2"), ("", "/a b")]);
        for (path, index) in [
            ("/", 0),
            ("/x", 0),
            ("/apix", 0),
            ("/API", 0),
            ("*", 0),
            ("/api", 1),
            ("/api/", 1),
            ("/api/x", 1),
            ("/api/v20", 1),
            ("/api/v2", 2),
            ("/api/v2/x", 2),
            ("/api//v2", 2),
            ("/x/../api/./v2", 2),
            ("/%61pi%2fv2", 2),
            ("/api/v2/..", 1),
            ("/a%20b/c", 3),
        ] {
            assert_eq!(routes.find(None, path), Ok(Some(index)), "{path}");
        }
        assert_eq!(routes.find(None, "/api/../.."), Err(InvalidPath::AboveRoot));
        assert_eq!(routes.find(None, "/api/%00"), Err(InvalidPath::Nul));
        // Parameters decide nothing, or nobody knows what they decide.
        assert_eq!(routes.find(None, "/api/v2/x;y=1/;z"), Ok(Some(2)));
        for path in ["/api;x", "/;x/api/y", "/api/v2;/x", "/api/;/v2", "/api%3bx"] {
            assert_eq!(routes.find(None, path), Err(InvalidPath::Ambiguous), "{path}");
        }
        assert_eq!(table(&[("", "/api")]).find(None, "/"), Ok(None));
        assert_eq!(table(&[]).find(Some("a"), "/"), Ok(None));
    }

    #[test]
    fn hosts_come_before_wildcards_and_those_before_the_rest() {
        let routes = table(&[
            ("", "/"),
            ("*.example.org", "/"),
            ("*.b.example.org", "/"),
            ("a.b.example.org", "/x"),
            ("[::1]", "/"),
        ]);
        for (host, path, index) in [
            (None, "/", 0),
            (Some("example.org"), "/", 0),
            (Some("badexample.org"), "/", 0),
            (Some("c.example.org"), "/", 1),
            (Some("c.EXAMPLE.org:8080"), "/", 1),
            (Some("c.example.org."), "/", 1),
            (Some("b.example.org"), "/", 1),
            (Some("c.d.b.example.org"), "/", 2),
            (Some("a.b.example.org"), "/x", 3),
            (Some("a.b.example.org"), "/y", 2),
            (Some("[::1]:80"), "/", 4),
            (Some("[::1]"), "/", 4),
            (Some("[::2]"), "/", 0),
            (Some("[::1"), "/", 0),
            (Some(""), "/", 0),
            (Some("."), "/", 0),
        ] {
            assert_eq!(routes.find(host, path), Ok(Some(index)), "{host:?} {path}");
        }
        let endless = format!("{}.example.org", "a.".repeat(10_000));
        assert_eq!(routes.find(Some(&endless), "/"), Ok(Some(0)));
    }

    /// The rules as they are written down, on lists of segments.
    fn naive(routes: &[RouteConfig], host: Option<&str>, segments: &[&str]) -> Option<usize> {
        let rank = |route: &RouteConfig| {
            let host_rank = match (route.host.as_deref(), host) {
                (None, _) => 0,
                (Some(wanted), Some(host)) if wanted == host => usize::MAX,
                (Some(wanted), Some(host)) => {
                    let suffix = wanted.strip_prefix('*')?;
                    host.ends_with(suffix).then_some(suffix.len())?
                }
                (Some(_), None) => return None,
            };
            let prefix: Vec<&str> = route.path.split('/').filter(|s| !s.is_empty()).collect();
            segments.starts_with(&prefix).then_some((host_rank, prefix.len()))
        };
        let ranked = routes.iter().enumerate().filter_map(|(i, route)| Some((rank(route)?, i)));
        // The first of equals.
        ranked.max_by_key(|(rank, i)| (*rank, std::cmp::Reverse(*i))).map(|(_, i)| i)
    }

    /// Ways to write a path of `segments`, chosen by `dice`: each means the same.
    fn spelled(segments: &[&str], dice: &[Index]) -> String {
        let mut dice = dice.iter().cycle();
        let mut choose = |ways: usize| dice.next().map_or(0, |index| index.index(ways));
        let mut path = String::new();
        for segment in segments {
            path.push_str(
                ["/", "//", "/./", "/x/../", "/%2e/", "/a%2f..%2F", "/x/y/%2E./.%2e/"][choose(7)],
            );
            for letter in segment.chars() {
                match choose(3) {
                    0 => path.push_str(&format!("%{:02x}", u32::from(letter))),
                    _ => path.push(letter),
                }
            }
        }
        path + ["/", "//", "/.", "/x/..", "/%2e"][choose(5)]
    }

    fn hosts() -> impl Strategy<Value = Option<&'static str>> {
        prop::option::weighted(0.8, select(vec!["a.b.c", "b.c", "c", "z.c", "z.b.c"]))
    }

    fn patterns() -> impl Strategy<Value = Option<&'static str>> {
        prop::option::weighted(0.6, select(vec!["a.b.c", "b.c", "*.c", "*.b.c", "c"]))
    }

    fn segments() -> impl Strategy<Value = Vec<&'static str>> {
        prop::collection::vec(select(vec!["a", "ab", "b", "a.b", ".b"]), 0..4)
    }

    proptest! {
        #[test]
        fn finds_what_the_rules_say_however_it_is_written(
            routes in prop::collection::vec((patterns(), segments(), any::<bool>()), 0..12),
            host in hosts(),
            path in segments(),
            dice in prop::collection::vec(any::<Index>(), 1..30),
        ) {
            let routes: Vec<RouteConfig> = routes
                .iter()
                .map(|(host, segments, slash)| {
                    let slash = if *slash || segments.is_empty() { "/" } else { "" };
                    let path: String = segments.iter().map(|s| format!("/{s}")).collect();
                    route(*host, &(path + slash))
                })
                .collect();
            let expected = naive(&routes, host, &path);
            let table = Routes::new(&routes);
            let plain = format!("/{}", path.join("/"));
            prop_assert_eq!(table.find(host, &plain), Ok(expected));
            let spelled = spelled(&path, &dice);
            prop_assert_eq!(table.find(host, &spelled), Ok(expected), "{}", spelled);
            if let Some(host) = host {
                let shouted = format!("{}.:8080", host.to_uppercase());
                prop_assert_eq!(table.find(Some(&shouted), &plain), Ok(expected));
            }
        }

        #[test]
        fn nothing_a_client_writes_panics(host in ".{0,12}", path in "/?.{0,20}") {
            let routes = table(&[("", "/a"), ("*.b", "/")]);
            let _ = routes.find(Some(&host), &path);
        }
    }
}
