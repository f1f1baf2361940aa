//! What leads around a restriction of a route, of which the operator is told at the start: other paths of the
//! same file, and hosts whose own routes come first. Used by `resolve.rs`.

use std::collections::BTreeSet;
use std::path::Path;

use weir_http::message::coding::Coding;

use super::routes::{Action, RouteConfig};
use super::settings::Config;
use super::site::FilesConfig;

impl Config {
    /// What is to be said of each route that not everybody may use.
    pub(super) fn ways_around(&self) -> Vec<String> {
        let restricted = || self.routes.iter().filter(|route| route.access.is_restricted());
        let names = restricted().flat_map(|route| self.other_names(route));
        names.chain(restricted().filter_map(|route| self.open_hosts(route))).collect()
    }

    /// Of a route for a file whose content has other paths, too: routes go by the path of the request.
    fn other_names(&self, route: &RouteConfig) -> Vec<String> {
        let files = match &route.action {
            Action::Files => &self.files,
            Action::Directory(files) => files,
            Action::Redirect { .. } | Action::Proxy(_) => return Vec::new(),
        };
        let path = &route.path;
        let second = files.pages.other_path(path).map(|other| {
            format!(
                "not everybody may use the route for \"{path}\", but that file is also served as \
                 \"{other}\", which is for the route of that path to say: restrict that, too, or \
                 move the file below a directory with a route of its own"
            )
        });
        let copies = self.open_copies(route, files);
        let copies = (!copies.is_empty()).then(|| {
            format!(
                "not everybody may use the route for \"{path}\", but compressed copies of that \
                 file, which may lie beside it for `precompressed`, are also served as \"{}\", \
                 which is for the routes of those paths to say: restrict those, too, or move the \
                 file below a directory with a route of its own",
                copies.join("\", \"")
            )
        });
        second.into_iter().chain(copies).collect()
    }

    /// The paths of the compressed copies that may lie beside the file that `route` is for, but for those
    /// that are restricted themselves; none if it is for a directory, as far as its path tells.
    fn open_copies(&self, route: &RouteConfig, files: &FilesConfig) -> Vec<String> {
        let last = route.path.rsplit('/').next().unwrap_or_default();
        let is_copied = last.rsplit_once('.').is_some_and(|(_, extension)| {
            Coding::ALL.iter().all(|coding| coding.extension() != extension)
        });
        // What is below a prefix that is taken off is a directory.
        if !self.compression.precompressed || !is_copied || files.strips.is_some() {
            return Vec::new();
        }
        let is_open = |copy: &String| {
            let mut same = self.routes.iter().filter(|other| other.host == route.host);
            !same.any(|other| other.path == *copy && other.access.is_restricted())
        };
        let copies = Coding::ALL.map(|coding| format!("{}.{}", route.path, coding.extension()));
        copies.into_iter().filter(is_open).collect()
    }

    /// Of a route whose content other hosts have by a route that does not restrict it so: the host that a
    /// request names decides first, and the client chooses that.
    fn open_hosts(&self, route: &RouteConfig) -> Option<String> {
        let hosts: BTreeSet<Option<&str>> =
            self.routes.iter().map(|other| other.host.as_deref()).collect();
        let own = route.host.as_deref();
        let taken = hosts.into_iter().filter(|host| *host != own).filter_map(|host| {
            let of_host = self.routes.iter().filter(|other| other.host.as_deref() == host);
            let fitting = of_host.filter(|other| is_below(&route.path, &other.path));
            let taking = fitting.max_by_key(|other| other.path.len())?;
            // That a host that is named has a route for the very same path is meant.
            let is_meant = taking.path == route.path && is_within(host, own);
            let is_open = !is_meant
                && has_content_of(route, taking)
                && !taking.access.restricts_as(&route.access);
            let of = host.map_or("without a host".to_owned(), |host| format!("of \"{host}\""));
            is_open.then(|| format!("\"{}\" {of}", taking.path))
        });
        let taken: Vec<String> = taken.collect();
        (!taken.is_empty()).then(|| {
            format!(
                "not everybody may use the route for \"{}\"{}, but requests for that path also get to \
                 the same place by the route for {}, which does not restrict it so: the host that a \
                 client names decides first, however long the paths; if the path is to be restricted \
                 there, too, give it a route there",
                route.path,
                own.map_or(String::new(), |host| format!(" of \"{host}\"")),
                taken.join(", for "),
            )
        })
    }
}

/// Whether requests for the path of `route` get the same by `other`.
fn has_content_of(route: &RouteConfig, other: &RouteConfig) -> bool {
    if let (Action::Proxy(one), Action::Proxy(two)) = (&route.action, &other.action) {
        return one.backends.iter().any(|backend| two.backends.contains(backend));
    }
    let files = directory(&route.action);
    files.is_some() && files == directory(&other.action)
}

/// Which directory files are from, `None` for that of the server, and what is taken off their paths.
fn directory(action: &Action) -> Option<(Option<&Path>, Option<&str>)> {
    match action {
        Action::Files => Some((None, None)),
        Action::Directory(files) => Some((files.root.as_deref(), files.strips.as_deref())),
        Action::Redirect { .. } | Action::Proxy(_) => None,
    }
}

/// Whether all requests for `host` would take routes for `outer` if `host` had none; `None` is every host.
fn is_within(host: Option<&str>, outer: Option<&str>) -> bool {
    let (Some(host), Some(outer)) = (host, outer) else { return host.is_some() };
    let name = host.strip_prefix("*.").unwrap_or(host);
    let rest = outer.strip_prefix("*.").and_then(|suffix| name.strip_suffix(suffix));
    rest.is_some_and(|rest| rest.ends_with('.'))
}

/// Whether a path is `outer` or below it.
fn is_below(path: &str, outer: &str) -> bool {
    let rest = path.strip_prefix(outer.trim_end_matches('/'));
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of the route for `path`, which is the first of these.
    fn told(path: &str, route: &str, others: &[&str]) -> Vec<String> {
        let routes = [&[route], others].concat();
        let routes = routes.iter().map(|route| format!("[[route]]\n{route}\n"));
        let text = format!("root = \"/\"\n{}", routes.collect::<String>());
        let config = Config::from_settings(crate::config::parse(&text).unwrap()).unwrap();
        let of_path = |warning: &String| warning.contains(&format!("the route for \"{path}\""));
        config.ways_around().into_iter().filter(of_path).collect()
    }

    const NETWORK: &str = "allow = [\"10.0.0.0/8\"]";

    #[test]
    fn a_host_that_leads_around_a_restriction_is_named() {
        let staff = format!("path = \"/staff\"\nfiles = true\n{NETWORK}");
        let www = |rest: &str| format!("host = \"www.example.org\"\n{rest}");
        for open in ["files = true", "files = true\nbasic_auth = \"users\""] {
            let warnings = told("/staff", &staff, &[&www(&format!("path = \"/\"\n{open}"))]);
            assert!(warnings.len() == 1, "{warnings:?}");
            assert!(
                warnings[0].contains("the route for \"/\" of \"www.example.org\","),
                "{warnings:?}"
            );
        }
        let open = www("path = \"/\"\nfiles = true");
        // Another path, the very same one, one that is restricted, and other content.
        for others in [
            &[&*www("path = \"/sta\"\nfiles = true")][..],
            &[&open, &www("path = \"/staff\"\nfiles = true")],
            &[&www(&format!("path = \"/\"\nfiles = true\n{NETWORK}"))],
            &[&www("path = \"/\"\nroot = \"/srv\"")],
            &[&www("path = \"/\"\nredirect = \"https://example.org\"")],
            &[&www("path = \"/\"\nbackends = [\"http://127.0.0.1:1\"]")],
        ] {
            assert_eq!(told("/staff", &staff, others), [""; 0], "{others:?}");
        }
    }

    #[test]
    fn clients_who_name_another_host_are_thought_of() {
        let staff =
            format!("host = \"www.example.org\"\npath = \"/staff\"\nfiles = true\n{NETWORK}");
        let warnings = told("/staff", &staff, &[]);
        assert!(warnings.len() == 1, "{warnings:?}");
        assert!(warnings[0].contains("the route for \"/\" without a host, which"), "{warnings:?}");
        let everywhere = format!("path = \"/staff\"\nfiles = true\n{NETWORK}");
        assert_eq!(told("/staff", &staff, &[&everywhere]), [""; 0]);
        // Backends, of which one is enough.
        let behind = |host: &str, rest: &str| {
            format!("{host}backends = [\"http://127.0.0.1:1\", \"http://127.0.0.1:{rest}")
        };
        let app = behind("host = \"a.example\"\npath = \"/app\"\n", &format!("2\"]\n{NETWORK}"));
        let other = behind("host = \"b.example\"\npath = \"/\"\n", "3\"]");
        let warnings = told("/app", &app, &[&other]);
        assert!(warnings.len() == 1 && warnings[0].contains("of \"b.example\""), "{warnings:?}");
    }

    #[test]
    fn routes_of_a_wildcard_are_before_those_of_every_host_and_behind_those_of_a_name() {
        for (host, outer, is) in [
            (Some("a.example.org"), None, true),
            (Some("*.example.org"), None, true),
            (Some("a.example.org"), Some("*.example.org"), true),
            (Some("*.a.example.org"), Some("*.example.org"), true),
            (Some("*.example.org"), Some("*.example.org"), false),
            (Some("example.org"), Some("*.example.org"), false),
            (Some("aexample.org"), Some("*.example.org"), false),
            (Some("a.example.org"), Some("b.example.org"), false),
            (None, Some("b.example.org"), false),
        ] {
            assert_eq!(is_within(host, outer), is, "{host:?} {outer:?}");
        }
        for (path, outer, is) in [
            ("/a/b", "/a", true),
            ("/a", "/a", true),
            ("/a", "/", true),
            ("/ab", "/a", false),
            ("/a", "/a/b", false),
        ] {
            assert_eq!(is_below(path, outer), is, "{path} {outer}");
        }
    }
}
