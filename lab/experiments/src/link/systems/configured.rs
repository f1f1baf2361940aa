//! Servers with configuration files: the least that serves a directory well, without access logs,
//! with sendfile and the cell's listen backlog.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{KEEP_ALIVE, Place, first};
use crate::command::must_exist;
use crate::error::{Error, Result};

/// Processes of Apache prefork, as Schroeder 2003, section 3.2.
const PREFORK: u32 = 350;
const MODULES: &str = "/usr/lib/apache2/modules";

/// Write the configuration and make the command.
pub(super) fn command(system: &str, place: &Place<'_>) -> Result<Command> {
    let (program, version, file, text) = match system {
        "nginx" => ("nginx", "-v", "nginx.conf", nginx(place)),
        "apache-prefork" | "apache-event" => {
            readable_by_all(place.root)?;
            ("apache2", "-v", "apache.conf", apache(place, system == "apache-prefork"))
        }
        "lighttpd" => ("lighttpd", "-v", "lighttpd.conf", lighttpd(place)),
        "h2o" => ("h2o", "--version", "h2o.conf", h2o(place)),
        "caddy" => ("caddy", "version", "Caddyfile", caddy(place)),
        _ => {
            return Err(Error(format!(
                "no system {system}: use weir:POLICY, nginx, apache-prefork, apache-event, \
                 lighttpd, h2o, caddy or command:PROGRAM …"
            )));
        }
    };
    must_exist(program, version)?;
    let file = place.directory.join(file);
    fs::write(&file, text).map_err(|e| Error::file("write", &file, &e))?;
    let mut command = first(Path::new(program));
    match program {
        "nginx" => command.arg("-c").arg(&file).arg("-e").arg(log(place)),
        "apache2" => command.arg("-f").arg(&file).args(["-k", "start", "-DFOREGROUND"]),
        "lighttpd" => command.arg("-D").arg("-f").arg(&file),
        "h2o" => command.arg("-c").arg(&file),
        _ => command.args(["run", "--adapter", "caddyfile", "--config"]).arg(&file),
    };
    for variable in ["HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"] {
        command.env(variable, place.directory);
    }
    Ok(command)
}

fn log(place: &Place<'_>) -> std::path::PathBuf {
    place.directory.join("server-error.log")
}

/// Apache does not run as root, so others must be able to get to the documents.
fn readable_by_all(root: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    for directory in root.ancestors().filter(|path| !path.as_os_str().is_empty()) {
        let found = fs::metadata(directory).map_err(|e| Error::file("read", directory, &e))?;
        if found.permissions().mode() & 0o001 == 0 {
            return Err(Error(format!(
                "Apache serves as user www-data, who may not enter {}: choose another output \
                 directory, or chmod o+x it",
                directory.display()
            )));
        }
    }
    Ok(())
}

fn nginx(place: &Place<'_>) -> String {
    let (here, root) = (place.directory.display(), place.root.display());
    let Place { address, backlog, .. } = place;
    let log = log(place);
    let log = log.display();
    format!(
        "# Made by weir-lab.
user root;
daemon off;
worker_processes 1;
pid {here}/nginx.pid;
error_log {log};
events {{ worker_connections 16384; }}
http {{
    access_log off;
    sendfile on;
    tcp_nopush on;
    tcp_nodelay on;
    keepalive_timeout {KEEP_ALIVE}s;
    send_timeout 300s;
    open_file_cache max=2000 inactive=600s;
    open_file_cache_valid 600s;
    default_type application/octet-stream;
    client_body_temp_path {here}/nginx-body;
    proxy_temp_path {here}/nginx-proxy;
    fastcgi_temp_path {here}/nginx-fastcgi;
    uwsgi_temp_path {here}/nginx-uwsgi;
    scgi_temp_path {here}/nginx-scgi;
    server {{
        listen {address} backlog={backlog};
        root {root};
    }}
}}
"
    )
}

/// Prefork has all its processes from the start. Event is as Debian configures it.
fn apache(place: &Place<'_>, prefork: bool) -> String {
    let (here, root) = (place.directory.display(), place.root.display());
    let Place { address, backlog, .. } = place;
    let log = log(place);
    let log = log.display();
    let (name, processes) = match prefork {
        true => (
            "prefork",
            format!(
                "ServerLimit {PREFORK}\nMaxRequestWorkers {PREFORK}\nStartServers {PREFORK}\n\
                 MinSpareServers 1\nMaxSpareServers {PREFORK}"
            ),
        ),
        false => (
            "event",
            "StartServers 2\nThreadsPerChild 25\nServerLimit 16\nMaxRequestWorkers 400".to_owned(),
        ),
    };
    format!(
        "# Made by weir-lab.
LoadModule mpm_{name}_module {MODULES}/mod_mpm_{name}.so
LoadModule authz_core_module {MODULES}/mod_authz_core.so
ServerRoot {here}
DefaultRuntimeDir {here}
PidFile {here}/apache.pid
ErrorLog {log}
ServerName lab
User www-data
Group www-data
Listen {address}
ListenBacklog {backlog}
{processes}
MaxConnectionsPerChild 0
KeepAlive On
KeepAliveTimeout {KEEP_ALIVE}
MaxKeepAliveRequests 0
Timeout 300
EnableSendfile On
HostnameLookups Off
DocumentRoot {root}
<Directory {root}>
    Options None
    AllowOverride None
    Require all granted
</Directory>
"
    )
}

fn lighttpd(place: &Place<'_>) -> String {
    let Place { address, backlog, root, .. } = place;
    let log = log(place);
    format!(
        "# Made by weir-lab.
server.document-root = \"{root}\"
server.bind = \"{ip}\"
server.port = {port}
server.errorlog = \"{log}\"
server.network-backend = \"sendfile\"
server.listen-backlog = {backlog}
server.max-connections = 8192
server.max-fds = 16384
server.max-keep-alive-idle = {KEEP_ALIVE}
server.max-write-idle = 360
mimetype.assign = (\"\" => \"application/octet-stream\")
",
        root = root.display(),
        ip = address.ip(),
        port = address.port(),
        log = log.display(),
    )
}

/// Its backlog is the most that the kernel allows, which is the cell's.
fn h2o(place: &Place<'_>) -> String {
    let (here, root) = (place.directory.display(), place.root.display());
    let (ip, port) = (place.address.ip(), place.address.port());
    let log = log(place);
    let log = log.display();
    format!(
        "# Made by weir-lab.
user: root
num-threads: 1
max-connections: 8192
http1-request-timeout: {KEEP_ALIVE}
pid-file: {here}/h2o.pid
error-log: {log}
hosts:
  \"*\":
    listen:
      host: {ip}
      port: {port}
    paths:
      \"/\":
        file.dir: {root}
"
    )
}

/// Its backlog is the most that the kernel allows, which is the cell's.
fn caddy(place: &Place<'_>) -> String {
    let (ip, port) = (place.address.ip(), place.address.port());
    let root = place.root.display();
    format!(
        "# Made by weir-lab.
{{
\tadmin off
\tauto_https off
\tgrace_period 1s
\tservers {{
\t\ttimeouts {{
\t\t\tidle {KEEP_ALIVE}s
\t\t}}
\t}}
}}
http://:{port} {{
\tbind {ip}
\troot * {root}
\tfile_server
}}
"
    )
}
