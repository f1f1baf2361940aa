//! The peers' configurations, as someone who knows each server would tune it for
//! static files on one core, or nginx for passing requests on. Text only; nothing is started here.

use std::net::SocketAddrV4;
use std::path::Path;

/// What the configurations depend on.
pub(crate) struct Needs<'a> {
    pub(crate) root: &'a Path,
    /// For temporary files.
    pub(crate) home: &'a Path,
    pub(crate) port: u16,
    /// Open files the server may have.
    pub(crate) files: usize,
    /// Connections it must hold.
    pub(crate) connections: usize,
    /// User and group of nginx's worker; the others are started as the user.
    pub(crate) user: &'a str,
}

/// How nginx reads files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reads {
    Sendfile,
    Copy,
    /// sendfile on threads, so that a read from disk stops one thread only.
    Threads,
}

/// Where nginx has its answers from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Files(Reads),
    /// Over connections that are kept, with the fields about the client that weir sends by default.
    Backend(SocketAddrV4),
}

/// Files nginx may keep open: what the limit leaves beside connections.
fn cached_files(needs: &Needs<'_>) -> usize {
    needs.files.saturating_sub(needs.connections + 200).clamp(16, 100_000)
}

pub(crate) fn nginx(needs: &Needs<'_>, content: Content) -> String {
    let Needs { root, home, port, user, .. } = needs;
    let (root, home) = (root.display(), home.display());
    let (content, location) = match content {
        Content::Files(reads) => {
            let reading = match reads {
                Reads::Sendfile => "sendfile on;\n    tcp_nopush on;",
                Reads::Copy => "sendfile off;\n    output_buffers 2 128k;",
                Reads::Threads => "sendfile on;\n    tcp_nopush on;\n    aio threads;",
            };
            (reading.to_owned(), "")
        }
        Content::Backend(address) => (
            format!(
                "upstream backend {{
        server {address};
        keepalive 256;
        keepalive_requests 1000000000;
    }}"
            ),
            "
        location / {
            proxy_pass http://backend;
            proxy_http_version 1.1;
            proxy_set_header Connection \"\";
            proxy_set_header Host $http_host;
            proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
            proxy_set_header X-Forwarded-Proto $scheme;
            proxy_set_header X-Forwarded-Host $http_host;
        }",
        ),
    };
    // Paths for the modules that insist on a place for temporary files.
    let mut places = String::new();
    for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"] {
        places.push_str(&format!("    {kind}_temp_path {home}/{kind};\n"));
    }
    format!(
        "daemon off;
user {user};
pid {home}/nginx.pid;
worker_processes 1;
worker_rlimit_nofile {files};
error_log stderr crit;
events {{
    worker_connections {connections};
    multi_accept on;
}}
http {{
    include /etc/nginx/mime.types;
    default_type application/octet-stream;
    access_log off;
    {content}
    tcp_nodelay on;
    keepalive_timeout 600s;
    keepalive_requests 1000000000;
    open_file_cache max={cached} inactive=60s;
    open_file_cache_valid 30s;
    open_file_cache_errors on;
{places}    server {{
        listen 127.0.0.1:{port} backlog=16384;
        root {root};{location}
    }}
}}
",
        files = needs.files,
        // nginx closes idle connections when fewer than a sixteenth are free.
        connections = needs.connections * 5 / 4 + 100,
        cached = cached_files(needs),
    )
}

pub(crate) fn lighttpd(needs: &Needs<'_>) -> String {
    let Needs { root, port, files, .. } = needs;
    // 65535 is the most it counts requests to.
    format!(
        "server.document-root = \"{root}\"
server.bind = \"127.0.0.1\"
server.port = {port}
server.event-handler = \"linux-sysepoll\"
server.network-backend = \"sendfile\"
server.max-keep-alive-requests = 65535
server.max-keep-alive-idle = 600
server.max-fds = {files}
server.max-connections = {connections}
server.listen-backlog = 16384
server.stat-cache-engine = \"simple\"
mimetype.assign = ( \"\" => \"application/octet-stream\" )
",
        root = root.display(),
        connections = needs.connections + 100,
    )
}

pub(crate) fn h2o(needs: &Needs<'_>, as_root: bool) -> String {
    // Started as root it would become nobody by itself.
    let user = if as_root { "user: root\n" } else { "" };
    format!(
        "{user}num-threads: 1
max-connections: {connections}
http1-request-timeout: 600
listen:
  host: 127.0.0.1
  port: {port}
hosts:
  default:
    paths:
      /:
        file.dir: {root}
",
        connections = needs.connections + 100,
        port = needs.port,
        root = needs.root.display(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nginx_never_caches_more_files_than_may_be_open() {
        let path = Path::new("/x");
        let mut needs =
            Needs { root: path, home: path, port: 80, files: 20_000, connections: 4096, user: "a" };
        assert_eq!(cached_files(&needs), 15_704);
        needs.connections = 20_000;
        assert_eq!(cached_files(&needs), 16);
        let written = |reads| nginx(&needs, Content::Files(reads));
        assert!(written(Reads::Copy).contains("sendfile off;"));
        assert!(written(Reads::Threads).contains("aio threads;"));
    }
}
