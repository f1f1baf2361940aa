//! The place below which clients see an application that knows itself at the root: the path that was taken
//! off its requests is told to it, and put before the paths of its answers. Used by the proxy of
//! `weir-server` for routes with `strip_prefix`.

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

/// The hosts that mean this application.
#[derive(Debug, Clone, Copy, Default)]
pub struct MountHosts<'a> {
    /// As the client named it.
    pub client: Option<&'a str>,
    /// As the backend was told.
    pub backend: Option<&'a str>,
}

impl Mount {
    /// `path`: that of the route, decoded. `None` for `/`, where nothing is taken off.
    pub fn new(path: &str) -> Option<Mount> {
        let path = path.trim_end_matches('/');
        let encoded = utf8_percent_encode(path, NOT_IN_PATH).to_string();
        encoded.starts_with('/').then_some(Mount(encoded))
    }

    /// Tells the backend, unless `edits` set or remove the field. What a trusted proxy has said of a
    /// prefix of its own comes first.
    pub fn tell(&self, fields: &mut HeaderMap, edits: &FieldEdits) {
        if edits.changes(&PREFIX) {
            return;
        }
        let outer = fields.get(&PREFIX).and_then(|value| value.to_str().ok());
        let outer = outer.filter(|outer| outer.starts_with('/')).unwrap_or_default();
        let whole = [outer.trim_end_matches('/'), &self.0].concat();
        if let Ok(value) = HeaderValue::try_from(whole) {
            fields.insert(PREFIX, value);
        }
    }

    /// Puts the prefix before the paths in `Location`, `Content-Location` and the `Path` of cookies that
    /// are of this application. What begins with the prefix already stays: the application knows.
    pub fn restore(&self, fields: &mut HeaderMap, hosts: &MountHosts<'_>) {
        for name in [header::LOCATION, header::CONTENT_LOCATION] {
            if let header::Entry::Occupied(mut place) = fields.entry(name) {
                change(place.iter_mut(), |value| self.location(value, hosts));
            }
        }
        if let header::Entry::Occupied(mut place) = fields.entry(header::SET_COOKIE) {
            change(place.iter_mut(), |value| self.cookie(value));
        }
    }

    /// A URI reference (RFC 9110, section 10.2.2); `None`: it stays as it is.
    fn location(&self, value: &[u8], hosts: &MountHosts<'_>) -> Option<Vec<u8>> {
        let text = std::str::from_utf8(value).ok()?;
        let (start, rest) = match scheme_and_rest(text) {
            Some((scheme, rest)) => {
                let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
                let (authority, path) = rest.split_at(end);
                let names =
                    |host: Option<&str>| host.is_some_and(|it| is_host(scheme, authority, it));
                if names(hosts.client) {
                    (text.strip_suffix(path)?, path)
                } else if names(hosts.backend) {
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
        match self.below(rest) {
            Some(path) => Some([start, &path].concat().into_bytes()),
            None if start.is_empty() && rest.len() < text.len() => Some(rest.as_bytes().to_vec()),
            None => None,
        }
    }

    /// The path below the prefix, with its query; `None`: it is there already.
    fn below(&self, path: &str) -> Option<String> {
        let after = path.strip_prefix(self.0.as_str());
        let is_below =
            after.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?', '#']));
        (!is_below).then(|| [self.0.as_str(), path].concat())
    }

    /// A `Set-Cookie` (RFC 6265, section 5.2); `None`: it stays as it is. Without a `Path` browsers take
    /// the directory of the request. `__Host-` demands the path `/`, or browsers refuse the cookie.
    fn cookie(&self, value: &[u8]) -> Option<Vec<u8>> {
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
            match self.attribute(part) {
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
    fn attribute(&self, part: &[u8]) -> Option<Vec<u8>> {
        let equals = part.iter().position(|byte| *byte == b'=')?;
        let (name, value) = (part.get(..equals)?, part.get(equals + 1..)?);
        let path = std::str::from_utf8(value.trim_ascii()).ok()?;
        if !name.trim_ascii().eq_ignore_ascii_case(b"path") || !path.starts_with('/') {
            return None;
        }
        // The whole application: with a slash at its end the prefix itself would not be in it.
        let path = if path == "/" { self.0.clone() } else { self.below(path)? };
        Some([name, b"=", path.as_bytes()].concat())
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

    const HOSTS: MountHosts<'_> =
        MountHosts { client: Some("www.example.org"), backend: Some("app:9000") };

    fn mount() -> Mount {
        Mount::new("/app").unwrap()
    }

    fn restored(name: HeaderName, value: &str) -> String {
        let mut fields = HeaderMap::new();
        fields.insert(&name, HeaderValue::from_str(value).unwrap());
        mount().restore(&mut fields, &HOSTS);
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
        mount().restore(&mut fields, &HOSTS);
        let all: Vec<_> = fields.get_all(header::SET_COOKIE).iter().collect();
        assert_eq!(all, ["a=1; Path=/app", "b=2", "c=3; Path=/app/c"]);
    }

    #[test]
    fn the_backend_is_told_unless_the_route_says_otherwise() {
        let told = |outer: Option<&'static str>, edits: &FieldEdits| {
            let mut fields = HeaderMap::new();
            fields.extend(outer.map(|outer| (PREFIX, HeaderValue::from_static(outer))));
            Mount::new("/a b/").unwrap().tell(&mut fields, edits);
            fields.get(PREFIX).map(|value| value.to_str().unwrap().to_owned())
        };
        let none = FieldEdits::default();
        assert_eq!(told(None, &none).as_deref(), Some("/a%20b"));
        assert_eq!(told(Some("/outer/"), &none).as_deref(), Some("/outer/a%20b"));
        assert_eq!(told(Some("nonsense"), &none).as_deref(), Some("/a%20b"));
        let edits = FieldEdits { remove: vec![PREFIX], ..FieldEdits::default() };
        assert_eq!(told(None, &edits), None);
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
                mount().restore(&mut fields, &HOSTS);
            }
        }
    }
}
