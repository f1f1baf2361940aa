//! nginx's configuration as a proxy.

use std::process::Command;

use super::{BACKLOG, FEW, Place, program};
use crate::error::Result;

/// With its defaults, or as an expert sets it: HTTP/1.1 and keep-alive to the application, and 503 for
/// whoever finds a second's worth of requests under way, since nginx has no queue of its own.
pub(super) fn command(place: &Place<'_>, expert: bool) -> Result<Command> {
    let mut command = program("nginx", "-v")?;
    let file = place.file("nginx.conf", &text(place, expert))?;
    command.arg("-c").arg(file).arg("-e").arg(place.log());
    Ok(command)
}

pub(super) fn text(place: &Place<'_>, expert: bool) -> String {
    let Place { front, application, .. } = place;
    let (here, log) = (place.directory.display(), place.log());
    let log = log.display();
    let (zone, upstream, location) = match expert {
        false => (String::new(), String::new(), String::new()),
        true => (
            "    limit_conn_zone $server_name zone=all:1m;\n    limit_conn_status 503;\n    \
             limit_conn_log_level info;\n"
                .to_owned(),
            "        keepalive 256;\n".to_owned(),
            format!(
                "            limit_conn all {FEW};\n            proxy_http_version 1.1;\n            \
                 proxy_set_header Connection \"\";\n"
            ),
        ),
    };
    format!(
        "# Made by weir-lab.
user root;
daemon off;
worker_processes 1;
pid {here}/nginx.pid;
error_log {log} crit;
events {{ worker_connections 16384; }}
http {{
    access_log off;
    client_body_temp_path {here}/nginx-body;
    proxy_temp_path {here}/nginx-proxy;
    fastcgi_temp_path {here}/nginx-fastcgi;
    uwsgi_temp_path {here}/nginx-uwsgi;
    scgi_temp_path {here}/nginx-scgi;
{zone}    upstream application {{
        server {application};
{upstream}    }}
    server {{
        listen {front} backlog={BACKLOG};
        location / {{
{location}            proxy_pass http://application;
        }}
    }}
}}
"
    )
}
