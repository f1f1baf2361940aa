//! The server that a URL names: address (resolved), Host header, path. Used by the command and by
//! every demand.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

use url::{Host, Url};

use crate::failure::{Failure, failed, invalid_usage};

/// Who is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// Where connections go.
    pub(crate) server: SocketAddr,
    /// The Host header.
    pub(crate) host: String,
    /// Of an `https` URL, the name that the server's certificate must have.
    pub(crate) certificate_name: Option<String>,
    /// Path and query of the URL, beginning with `/`.
    pub(crate) path: String,
}

impl Target {
    /// What `text` names. `sources` are addresses that connections will come from: the server's
    /// address is taken from the same family.
    ///
    /// # Errors
    ///
    /// What is no URL, or neither `http` nor `https` (status 2); a name that does not resolve (status 1).
    pub(crate) fn of(
        text: &str,
        host: Option<&str>,
        sources: &[IpAddr],
    ) -> Result<Target, Failure> {
        let url = parse(text).map_err(invalid_usage)?;
        let visible = |name: &str| !name.is_empty() && name.bytes().all(|b| b.is_ascii_graphic());
        if let Some(name) = host.filter(|name| !visible(name)) {
            let message = format!("--host {name:?} is not a name such as example.org");
            return Err(invalid_usage(message));
        }
        let port = url.port_or_known_default().unwrap_or(80);
        let server = match url.host() {
            Some(Host::Ipv4(address)) => SocketAddr::new(address.into(), port),
            Some(Host::Ipv6(address)) => SocketAddr::new(address.into(), port),
            Some(Host::Domain(name)) => resolve(name, port, sources)?,
            None => return Err(invalid_usage(format!("{text:?} names no host"))),
        };
        let named = match url.port() {
            Some(port) => format!("{}:{port}", url.host_str().unwrap_or_default()),
            None => url.host_str().unwrap_or_default().to_owned(),
        };
        let mut path = url.path().to_owned();
        if let Some(query) = url.query() {
            path.push('?');
            path.push_str(query);
        }
        if let Some(other) = sources.iter().find(|source| source.is_ipv4() != server.is_ipv4()) {
            let message = format!(
                "a connection from {other} cannot reach {server}: give source addresses of the server's family"
            );
            return Err(invalid_usage(message));
        }
        let secure = url.scheme() == "https";
        let certificate_name =
            secure.then(|| without_port(host.or(url.host_str()).unwrap_or_default()).to_owned());
        Ok(Target { server, host: host.map_or(named, str::to_owned), certificate_name, path })
    }

    /// `http` or `https`.
    pub(crate) fn scheme(&self) -> &'static str {
        if self.certificate_name.is_some() { "https" } else { "http" }
    }

    /// The directory of the path, ending in `/`: where a workload's paths begin. A path that ends
    /// in a file's name is taken for a directory of that name.
    pub(crate) fn base(&self) -> String {
        let path = self.path.split('?').next().unwrap_or("/");
        format!("{}/", path.trim_end_matches('/'))
    }
}

fn parse(text: &str) -> Result<Url, String> {
    let example = "write such as http://127.0.0.1:8080/index.html";
    let url = Url::parse(text).map_err(|error| match text.contains("://") {
        true => format!("{text:?} is not a URL ({error}); {example}"),
        false => format!("{text:?} is not a URL: it has no http://; {example}"),
    })?;
    match url.scheme() {
        "http" | "https" => {}
        other if text.contains("://") => {
            return Err(format!("{text}: {other} is not spoken here; {example}"));
        }
        _ => return Err(format!("{text:?} is not a URL: it has no http://; {example}")),
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(format!(
            "{text}: a name and password are not sent from the URL; use --header 'Authorization: …'"
        ));
    }
    if url.port() == Some(0) {
        return Err(format!("{text}: nobody listens on port 0"));
    }
    Ok(url)
}

/// A host as the Host header has it, without its port.
fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    }
}

fn resolve(name: &str, port: u16, sources: &[IpAddr]) -> Result<SocketAddr, Failure> {
    let not_found = |why: String| {
        failed(format!(
            "cannot find the host {name}: {why}; give its address, and its name as --host"
        ))
    };
    let mut found = (name, port).to_socket_addrs().map_err(|error| not_found(error.to_string()))?;
    let family = |address: &SocketAddr| {
        sources.first().is_none_or(|source| source.is_ipv4() == address.is_ipv4())
    };
    found.find(family).ok_or_else(|| not_found("it has no address of the sources' family".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(text: &str) -> Result<Target, String> {
        Target::of(text, None, &[]).map_err(|failure| failure.message)
    }

    #[test]
    fn urls_name_server_host_and_path() {
        let t = target("http://127.0.0.1:8080/a/b.html?x=1#part").unwrap();
        assert_eq!(t.server, "127.0.0.1:8080".parse().unwrap());
        assert_eq!((t.host.as_str(), t.path.as_str()), ("127.0.0.1:8080", "/a/b.html?x=1"));
        assert_eq!(t.base(), "/a/b.html/");
        let t = target("http://[::1]").unwrap();
        assert_eq!(t.server, "[::1]:80".parse().unwrap());
        assert_eq!((t.host.as_str(), t.path.as_str(), t.base().as_str()), ("[::1]", "/", "/"));
        let t = Target::of("http://127.0.0.1/", Some("example.org"), &[]).unwrap();
        assert_eq!((t.host.as_str(), t.scheme()), ("example.org", "http"));
    }

    #[test]
    fn the_certificate_is_for_the_url_s_host_or_that_of_the_header() {
        let name = |text: &str, host| {
            let target = Target::of(text, host, &[]).unwrap();
            assert_eq!(target.scheme(), "https");
            (target.server.to_string(), target.certificate_name.unwrap())
        };
        let found = name("https://127.0.0.1/x", None);
        assert_eq!(found, ("127.0.0.1:443".into(), "127.0.0.1".into()));
        let found = name("https://[::1]:8443/", None);
        assert_eq!(found, ("[::1]:8443".into(), "[::1]".into()));
        assert_eq!(name("https://127.0.0.1/", Some("example.org:8443")).1, "example.org");
        assert_eq!(name("https://127.0.0.1/", Some("[::2]:1")).1, "[::2]");
        assert_eq!(target("http://127.0.0.1/").unwrap().certificate_name, None);
    }

    #[test]
    fn what_is_no_http_url_is_refused_with_what_to_write() {
        for (text, part) in [
            ("127.0.0.1:8080/x", "no http://"),
            ("localhost:8080", "no http://"),
            ("ftp://127.0.0.1/", "ftp is not spoken"),
            ("http://", "not a URL"),
            ("http://127.0.0.1:99999/", "port"),
            ("http://127.0.0.1:0/", "port 0"),
            ("http://a:b@127.0.0.1/", "--header"),
            ("", "no http://"),
        ] {
            let message = target(text).expect_err(text);
            assert!(message.contains(part), "{text}: {message}");
        }
    }

    #[test]
    fn sources_of_another_family_are_refused() {
        let other = "::1".parse().unwrap();
        let failure = Target::of("http://127.0.0.1/", None, &[other]).expect_err("cannot connect");
        assert!(failure.message.contains("::1"), "{}", failure.message);
    }
}
