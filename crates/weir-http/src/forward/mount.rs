//! The place below which clients see an application that knows itself at the root: the path that was taken
//! off its requests is told to it, and put before the paths of its answers. Used by the proxy of
//! `weir-server` for routes with `strip_prefix` and behind proxies that have taken off a path.

use http::{HeaderMap, HeaderName, HeaderValue, header};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};

use super::edits::FieldEdits;

/// The field by which applications are told (Traefik, Spring and others).
const PREFIX: HeaderName = HeaderName::from_static("x-forwarded-prefix");

/// Characters that a path has only encoded (RFC 3986, section 3.3).
const NOT_IN_PATH: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// The path that is taken off, encoded, with a slash at its beginning and none at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount(String);

/// What this application is called elsewhere.
#[derive(Debug, Clone, Copy, Default)]
pub struct MountNames<'a> {
    /// The host that whoever sent the request named: the client, or a proxy in front.
    pub client: Option<&'a str>,
    /// The host that the client named, if a proxy in front says so.
    pub told: Option<&'a str>,
    /// The host that the backend was told.
    pub backend: Option<&'a str>,
    /// The path that proxies in front have taken off before.
    pub outer: Option<&'a str>,
}

impl Mount {
    /// `path`: that of the route, decoded. `None` for `/`, where nothing is taken off.
    pub fn new(path: &str) -> Option<Mount> {
        let path = path.trim_end_matches('/');
        let encoded = utf8_percent_encode(path, NOT_IN_PATH).to_string();
        encoded.starts_with('/').then_some(Mount(encoded))
    }

    /// Puts the prefix before the paths in `Location`, `Content-Location` and the `Path` of cookies that
    /// are of this application. What begins with the prefix already, or with all that it was told of,
    /// stays: the application knows.
    pub fn restore(&self, fields: &mut HeaderMap, names: &MountNames<'_>) {
        for name in [header::LOCATION, header::CONTENT_LOCATION] {
            if let header::Entry::Occupied(mut place) = fields.entry(name) {
                change(place.iter_mut(), |value| self.location(value, names));
            }
        }
        if let header::Entry::Occupied(mut place) = fields.entry(header::SET_COOKIE) {
            change(place.iter_mut(), |value| self.cookie(value, names));
        }
    }

    /// A URI reference (RFC 9110, section 10.2.2); `None`: it stays as it is.
    fn location(&self, value: &[u8], names: &MountNames<'_>) -> Option<Vec<u8>> {
        let text = std::str::from_utf8(value).ok()?;
        let (start, rest) = match scheme_and_rest(text) {
            Some((scheme, rest)) => {
                let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
                let (authority, path) = rest.split_at(end);
                let is_at =
                    |host: Option<&str>| host.is_some_and(|it| is_host(scheme, authority, it));
                if is_at(names.client) || is_at(names.told) {
                    (text.strip_suffix(path)?, path)
                } else if is_at(names.backend) {
                    // A name that clients may not know: the path alone leads there.
                    ("", path)
                } else {
                    return None;
                }
            }
            // `//host/path` names a host; what does not begin with a slash is relative to the request.
            None if text.starts_with('/') && !text.starts_with("//") => ("", text),
            None => return None,
        };
        match self.below(rest, names) {
            Some(path) => Some([start, &path].concat().into_bytes()),
            None if start.is_empty() && rest.len() < text.len() => Some(rest.as_bytes().to_vec()),
            None => None,
        }
    }

    /// The path below the prefix, with its query; `None`: it is there already.
    fn below(&self, path: &str, names: &MountNames<'_>) -> Option<String> {
        let outer = names.outer.unwrap_or_default().trim_end_matches('/');
        let is_below = |before: &str| {
            let rest = path.strip_prefix(before).and_then(|rest| rest.strip_prefix(&*self.0));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?', '#']))
        };
        (!is_below("") && !is_below(outer)).then(|| [self.0.as_str(), path].concat())
    }

    /// A `Set-Cookie` (RFC 6265, section 5.2); `None`: it stays as it is. Without a `Path` browsers take
    /// the directory of the request. `__Host-` demands the path `/`, or browsers refuse the cookie.
    fn cookie(&self, value: &[u8], names: &MountNames<'_>) -> Option<Vec<u8>> {
        const HOST: &[u8] = b"__Host-";
        let is_of_host = value.trim_ascii_start().get(..HOST.len());
        if is_of_host.is_some_and(|start| start.eq_ignore_ascii_case(HOST)) {
            return None;
        }
        let mut is_changed = false;
        let mut parts = value.split(|byte| *byte == b';');
        let mut out = parts.next()?.to_vec();
        for part in parts {
            out.push(b';');
            match self.attribute(part, names) {
                Some(changed) => {
                    is_changed = true;
                    out.extend(changed);
                }
                None => out.extend_from_slice(part),
            }
        }
        is_changed.then_some(out)
    }

    /// An attribute of a cookie, if it is a path to be changed.
    fn attribute(&self, part: &[u8], names: &MountNames<'_>) -> Option<Vec<u8>> {
        let equals = part.iter().position(|byte| *byte == b'=')?;
        let (name, value) = (part.get(..equals)?, part.get(equals + 1..)?);
        let path = std::str::from_utf8(value.trim_ascii()).ok()?;
        if !name.trim_ascii().eq_ignore_ascii_case(b"path") || !path.starts_with('/') {
            return None;
        }
        // The whole application: with a slash at its end the prefix itself would not be in it.
        let path = if path == "/" { self.0.clone() } else { self.below(path, names)? };
        Some([name, b"=", path.as_bytes()].concat())
    }
}

/// Tells the backend below which path clients see it, unless `edits` set or remove the field: `outer`, what
/// proxies in front have taken off, and then what `mount` takes off.
pub fn tell_prefix(
    fields: &mut HeaderMap,
    outer: Option<&str>,
    mount: Option<&Mount>,
    edits: &FieldEdits,
) {
    if edits.changes(&PREFIX) {
        return;
    }
    let whole = match (outer.filter(|outer| outer.starts_with('/')), mount) {
        (None, None) => return,
        (Some(outer), None) => outer.to_owned(),
        (outer, Some(Mount(path))) => {
            [outer.unwrap_or_default().trim_end_matches('/'), path.as_str()].concat()
        }
    };
    if let Ok(value) = HeaderValue::try_from(whole) {
        fields.insert(PREFIX, value);
    }
}

/// Replaces the values that `new` has something else for.
fn change<'v>(
    values: impl Iterator<Item = &'v mut HeaderValue>,
    new: impl Fn(&[u8]) -> Option<Vec<u8>>,
) {
    for value in values {
        if let Some(Ok(changed)) =
            new(value.as_bytes()).map(|bytes| HeaderValue::from_bytes(&bytes))
        {
            *value = changed;
        }
    }
}

/// The scheme of an absolute URL of HTTP in lower case, and what follows `://`.
fn scheme_and_rest(text: &str) -> Option<(&'static str, &str)> {
    let (scheme, rest) = text.split_once("://")?;
    let known = ["http", "https"].into_iter().find(|known| scheme.eq_ignore_ascii_case(known))?;
    Some((known, rest))
}

/// Whether both name the same host and port; a port that the scheme has anyway need not be there.
fn is_host(scheme: &str, authority: &str, host: &str) -> bool {
    let usual = if scheme == "https" { ":443" } else { ":80" };
    let bare = |name: &str| name.strip_suffix(usual).unwrap_or(name).to_ascii_lowercase();
    bare(authority) == bare(host)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NAMES: MountNames<'_> = MountNames {
        client: Some("www.example.org"),
        told: None,
        backend: Some("app:9000"),
        outer: None,
    };

    fn mount() -> Mount {
        Mount::new("/app").unwrap()
    }

    fn restored(name: HeaderName, value: &str) -> String {
        restored_to(&NAMES, name, value)
    }

    fn restored_to(names: &MountNames<'_>, name: HeaderName, value: &str) -> String {
        let mut fields = HeaderMap::new();
        fields.insert(&name, HeaderValue::from_str(value).unwrap());
        mount().restore(&mut fields, names);
        fields[&name].to_str().unwrap().to_owned()
    }

    #[test]
    fn locations_lead_below_the_prefix() {
        for (value, expected) in [
            ("/", "/app/"),
            ("/login?next=/x#top", "/app/login?next=/x#top"),
            ("http://www.example.org/x", "http://www.example.org/app/x"),
            ("HTTPS://WWW.example.org:443/x", "HTTPS://WWW.example.org:443/app/x"),
            ("http://www.example.org:80", "http://www.example.org:80/app"),
            ("http://www.example.org?x", "http://www.example.org/app?x"),
            ("http://app:9000/x", "/app/x"),
            ("http://app:9000/app/x", "/app/x"),
            ("http://app:9000", "/app"),
            // These are there, or lead elsewhere.
            ("/app", "/app"),
            ("/app/x", "/app/x"),
            ("/app?x", "/app?x"),
            ("http://www.example.org/app/x", "http://www.example.org/app/x"),
            ("/apples", "/app/apples"),
            ("x/y", "x/y"),
            ("../x", "../x"),
            ("?x", "?x"),
            ("//www.example.org/x", "//www.example.org/x"),
            ("http://other.example/x", "http://other.example/x"),
            ("http://www.example.org:8080/x", "http://www.example.org:8080/x"),
            ("http://evil@www.example.org/x", "http://evil@www.example.org/x"),
            ("mailto:a@b", "mailto:a@b"),
        ] {
            assert_eq!(restored(header::LOCATION, value), expected, "{value}");
            assert_eq!(restored(header::CONTENT_LOCATION, value), expected, "{value}");
        }
        assert_eq!(restored(header::LINK, "/x"), "/x");
    }

    #[test]
    fn cookies_are_for_the_prefix() {
        for (value, expected) in [
            ("a=b; Path=/", "a=b; Path=/app"),
            ("a=b;path=/x/;Secure", "a=b;path=/app/x/;Secure"),
            ("a=b; HttpOnly; PATH = /x ; Max-Age=5", "a=b; HttpOnly; PATH =/app/x; Max-Age=5"),
            ("path=/; Path=/", "path=/; Path=/app"),
            ("a=b; Path=/app", "a=b; Path=/app"),
            ("a=b; Path=/app/x", "a=b; Path=/app/x"),
            ("a=b", "a=b"),
            ("a=b; Path=", "a=b; Path="),
            ("a=b; Path=x", "a=b; Path=x"),
            ("a=b; Path", "a=b; Path"),
            ("__Host-a=b; Path=/; Secure", "__Host-a=b; Path=/; Secure"),
            ("__Secure-a=b; Path=/; Secure", "__Secure-a=b; Path=/app; Secure"),
        ] {
            assert_eq!(restored(header::SET_COOKIE, value), expected, "{value}");
        }
        let mut fields = HeaderMap::new();
        for value in ["a=1; Path=/", "b=2", "c=3; Path=/c"] {
            fields.append(header::SET_COOKIE, HeaderValue::from_static(value));
        }
        mount().restore(&mut fields, &NAMES);
        let all: Vec<_> = fields.get_all(header::SET_COOKIE).iter().collect();
        assert_eq!(all, ["a=1; Path=/app", "b=2", "c=3; Path=/app/c"]);
    }

    #[test]
    fn what_a_proxy_in_front_puts_before_is_left_to_it() {
        let names = MountNames { told: Some("a.example"), outer: Some("/outer/"), ..NAMES };
        for (value, expected) in [
            ("/x", "/app/x"),
            ("/app/x", "/app/x"),
            ("/outer/app/x", "/outer/app/x"),
            ("/outer/app", "/outer/app"),
            ("/outer/apples", "/app/outer/apples"),
            ("/outer/x", "/app/outer/x"),
            ("http://a.example/x", "http://a.example/app/x"),
            ("http://a.example/outer/app/x", "http://a.example/outer/app/x"),
            ("http://www.example.org/x", "http://www.example.org/app/x"),
            ("http://app:9000/outer/app/x", "/outer/app/x"),
        ] {
            assert_eq!(restored_to(&names, header::LOCATION, value), expected, "{value}");
        }
        let cookie = "a=b; Path=/outer/app/x";
        assert_eq!(restored_to(&names, header::SET_COOKIE, cookie), cookie);
        // Where nobody says so, it is a path like any other.
        assert_eq!(restored(header::LOCATION, "/outer/app/x"), "/app/outer/app/x");
        assert_eq!(restored(header::LOCATION, "http://a.example/x"), "http://a.example/x");
    }

    #[test]
    fn the_backend_is_told_unless_the_route_says_otherwise() {
        let mount = Mount::new("/a b/").unwrap();
        let told = |outer: Option<&str>, mount: Option<&Mount>, edits: &FieldEdits| {
            let mut fields = HeaderMap::new();
            tell_prefix(&mut fields, outer, mount, edits);
            fields.get(PREFIX).map(|value| value.to_str().unwrap().to_owned())
        };
        let none = FieldEdits::default();
        for (outer, mounted, alone) in [
            (None, "/a%20b", None),
            (Some("/outer/"), "/outer/a%20b", Some("/outer/")),
            (Some("nonsense"), "/a%20b", None),
        ] {
            assert_eq!(told(outer, Some(&mount), &none).as_deref(), Some(mounted));
            assert_eq!(told(outer, None, &none).as_deref(), alone);
        }
        let edits = FieldEdits { remove: vec![PREFIX], ..FieldEdits::default() };
        assert_eq!(told(Some("/outer"), Some(&mount), &edits), None);
        assert_eq!((Mount::new("/"), Mount::new("")), (None, None));
    }

    proptest! {
        /// What the application meant is found again by taking the prefix off.
        #[test]
        fn the_prefix_comes_before_what_was_meant(path in "/([a-c%./?#]|app){0,8}") {
            prop_assume!(!path.starts_with("//"));
            let value = restored(header::LOCATION, &path);
            let rest = value.strip_prefix("/app").expect("it is below");
            prop_assert!(rest == path || value == path, "{path}: {value}");
            prop_assert_eq!(restored(header::LOCATION, &value), value);
        }

        /// Nothing of a cookie changes but its path, and twice is as once.
        #[test]
        fn the_rest_of_a_cookie_stays(value in "[a-z_]{1,3}=[a-z\"=]{0,3}(; ?([Pp]ath|Secure|x)=?[/a-z ]{0,4}){0,4}") {
            let once = restored(header::SET_COOKIE, &value);
            prop_assert_eq!(restored(header::SET_COOKIE, &once), once.clone());
            let others = |text: &str| {
                let is_path = |part: &&str| part.trim_start().to_ascii_lowercase().starts_with("path");
                text.split(';').skip(1).filter(|part| !is_path(part)).map(str::to_owned).collect::<Vec<_>>()
            };
            prop_assert_eq!(others(&once), others(&value));
            prop_assert_eq!(once.split(';').next(), value.split(';').next());
        }

        #[test]
        fn nothing_panics(value in "\\PC{0,20}|(http|://|app:9000|/|;|=|path|\\?){0,9}") {
            if let Ok(value) = HeaderValue::from_str(&value) {
                let mut fields = HeaderMap::new();
                for name in [header::LOCATION, header::SET_COOKIE] {
                    fields.insert(name, value.clone());
                }
                mount().restore(&mut fields, &NAMES);
            }
        }
    }
}
