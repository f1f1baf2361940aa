//! nginx, serving files or passing requests on.

mod access_log;
mod compression;

use std::fmt::Write as _;
use std::net::SocketAddrV4;
use std::path::Path;

use crate::certificate::Certificate;
use crate::error::Result;
use crate::options::{Compression, Content, Options, line};
use crate::program::Program;

pub use access_log::{AccessLog, LogFormat};
pub use compression::has_gzip_static;

/// What is nginx's alone. By default as nginx has it, with `sendfile`.
#[derive(Clone, Debug, Default)]
pub struct Nginx {
    /// How it reads files.
    pub reading: Reading,
    /// Descriptors of files that are kept open.
    pub file_cache: Option<FileCache>,
    /// Debian's table of content types; without it all files are `application/octet-stream`.
    pub mime_types: bool,
    /// All waiting connections are accepted at once.
    pub multi_accept: bool,
    /// Seconds without progress after which a response is given up.
    pub send_timeout: Option<u32>,
    /// How it passes requests on.
    pub proxy: Proxy,
    /// The backend that requests for `/upload` go to, where all others are answered with files.
    pub uploads: Option<SocketAddrV4>,
    /// What it compresses. It knows scripts by Debian's table of content types.
    pub compression: Compression,
    /// Its access log, if it has one.
    pub access_log: Option<AccessLog>,
}

/// How nginx reads files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reading {
    /// `sendfile`.
    #[default]
    Sendfile,
    /// Through two buffers of 128 KB.
    Copy,
    /// `sendfile` on threads, so that a read from disk stops one thread only.
    Threads,
}

/// Descriptors of files that are kept open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileCache {
    /// How many.
    pub files: usize,
    /// Seconds after which one that nobody asks for is closed.
    pub inactive: u32,
    /// Seconds after which one is compared with its name again.
    pub valid: u32,
    /// Files that are not there are remembered, too.
    pub errors: bool,
}

impl FileCache {
    /// As large as a limit of open files leaves room for beside so many connections; names are looked up
    /// again after 30 s.
    pub fn within(open_files: usize, connections: usize) -> FileCache {
        let files = open_files.saturating_sub(connections + 200).clamp(16, 100_000);
        FileCache { files, inactive: 60, valid: 30, errors: true }
    }
}

/// How nginx passes requests on. By default over a new HTTP/1.0 connection each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Proxy {
    /// HTTP/1.1 over up to 256 connections that are kept, for so many requests each.
    pub keep_alive: Option<KeepAlive>,
    /// Requests under way; 503 for more, since nginx has no queue of its own.
    pub most_requests: Option<u32>,
    /// The fields about the client that weir sends by default.
    pub forwarded_fields: bool,
}

/// How long connections to a backend are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeepAlive {
    /// For nginx's own number of requests.
    OwnRequests,
    /// For ever.
    AllRequests,
}

/// More requests than any connection carries.
pub const ALL_REQUESTS: u32 = 1_000_000_000;

/// What `worker_connections` must be for so many of clients: nginx closes idle connections when fewer
/// than a sixteenth are free.
pub fn worker_connections(clients: usize) -> usize {
    clients * 5 / 4 + 100
}

/// The program with its configuration written.
///
/// # Errors
///
/// When nginx is not installed, or the configuration cannot be written.
pub fn program(options: &Options<'_>, nginx: &Nginx) -> Result<Program> {
    let program = Program::installed("nginx", "-v")?;
    let file = options.write("nginx.conf", &configuration(options, nginx))?;
    let log = options.error_log.unwrap_or(Path::new("stderr"));
    Ok(program.arg("-c").arg(file).arg("-e").arg(log))
}

/// The configuration.
pub fn configuration(options: &Options<'_>, nginx: &Nginx) -> String {
    let Options { listen, backlog, connections, tls, .. } = options;
    let here = options.directory.display();
    let log = options.error_log.map_or("stderr".into(), |log| log.display().to_string());
    let level = if options.critical_only { " crit" } else { "" };
    let files = line("worker_rlimit_nofile ", options.open_files, ";");
    let accept = if nginx.multi_accept { " multi_accept on;" } else { "" };
    let user = options.user.unwrap_or("root");
    let (ssl, tls) = tls.map_or_else(Default::default, tls_lines);
    let access_log = access_log::lines(nginx.access_log.as_ref());
    let mut http = compression::lines(nginx.compression);
    http += &line("    keepalive_timeout ", options.idle_timeout, "s;");
    http += &line("    keepalive_requests ", options.requests_per_connection, ";");
    http += &line("    send_timeout ", nginx.send_timeout, "s;");
    // Every module insists on a place for temporary files.
    for kind in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"] {
        let _ = writeln!(http, "    {kind}_temp_path {here}/nginx-{kind};");
    }
    let server = match options.content {
        Content::Files(root) => {
            http += &reading(nginx);
            let mut server = format!("        root {};\n", root.display());
            if let Some(backend) = nginx.uploads {
                http += &upstream(backend, &nginx.proxy);
                server += &location("/upload", &nginx.proxy);
            }
            server
        }
        Content::Proxy(backend) => {
            http += &upstream(backend, &nginx.proxy);
            location("/", &nginx.proxy)
        }
    };
    format!(
        "# Made by the lab.
user {user};
daemon off;
worker_processes 1;
pid {here}/nginx.pid;
{files}error_log {log}{level};
events {{ worker_connections {connections};{accept} }}
http {{
{access_log}    tcp_nodelay on;
{http}    server {{
        listen {listen}{ssl} backlog={backlog};
{tls}{server}    }}
}}
"
    )
}

/// The word that `listen` has more, and the lines of a server with TLS.
fn tls_lines(certificate: &Certificate) -> (&'static str, String) {
    let text = format!(
        "        ssl_certificate {};
        ssl_certificate_key {};
        ssl_protocols TLSv1.3;
        ssl_ecdh_curve X25519;
        ssl_conf_command Ciphersuites TLS_AES_128_GCM_SHA256;
        ssl_session_tickets on;
",
        certificate.chain.display(),
        certificate.key.display(),
    );
    (" ssl", text)
}

fn reading(nginx: &Nginx) -> String {
    let mut text = String::from("    default_type application/octet-stream;\n");
    if nginx.mime_types {
        text += "    include /etc/nginx/mime.types;\n";
    }
    text += match nginx.reading {
        Reading::Sendfile => "    sendfile on;\n    tcp_nopush on;\n",
        Reading::Copy => "    sendfile off;\n    output_buffers 2 128k;\n",
        Reading::Threads => "    sendfile on;\n    tcp_nopush on;\n    aio threads;\n",
    };
    if let Some(FileCache { files, inactive, valid, errors }) = nginx.file_cache {
        let _ = writeln!(text, "    open_file_cache max={files} inactive={inactive}s;");
        let _ = writeln!(text, "    open_file_cache_valid {valid}s;");
        text += if errors { "    open_file_cache_errors on;\n" } else { "" };
    }
    text
}

fn upstream(backend: SocketAddrV4, proxy: &Proxy) -> String {
    let mut text = String::new();
    if proxy.most_requests.is_some() {
        text += "    limit_conn_zone $server_name zone=all:1m;\n    limit_conn_status 503;\n";
        text += "    limit_conn_log_level info;\n";
    }
    let _ = writeln!(text, "    upstream backend {{\n        server {backend};");
    text += match proxy.keep_alive {
        None => "",
        Some(KeepAlive::OwnRequests) => "        keepalive 256;\n",
        Some(KeepAlive::AllRequests) => {
            "        keepalive 256;\n        keepalive_requests 1000000000;\n"
        }
    };
    text + "    }\n"
}

fn location(path: &str, proxy: &Proxy) -> String {
    let mut text = format!("        location {path} {{\n");
    text += &line("            limit_conn all ", proxy.most_requests, ";");
    if proxy.keep_alive.is_some() {
        text += "            proxy_http_version 1.1;\n";
        text += "            proxy_set_header Connection \"\";\n";
    }
    if proxy.forwarded_fields {
        text += "            proxy_set_header Host $http_host;\n";
        text += "            proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;\n";
        text += "            proxy_set_header X-Forwarded-Proto $scheme;\n";
        text += "            proxy_set_header X-Forwarded-Host $http_host;\n";
    }
    text + "            proxy_pass http://backend;\n        }\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn never_more_files_are_cached_than_may_be_open() {
        assert_eq!(FileCache::within(20_000, 4096).files, 15_704);
        assert_eq!(FileCache::within(20_000, 20_000).files, 16);
    }
}
