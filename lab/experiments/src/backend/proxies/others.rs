//! Proxies that are run with their defaults alone.

use std::process::Command;

use super::{BACKLOG, Place, program};
use crate::error::Result;

const MODULES: &str = "/usr/lib/apache2/modules";

/// Its backlog is the most that the kernel allows.
pub(super) fn caddy(place: &Place<'_>) -> Result<Command> {
    let Place { front, application, directory, .. } = place;
    let mut command = program("caddy", "version")?;
    let text = format!(
        "# Made by weir-lab.
{{
\tadmin off
\tauto_https off
\tgrace_period 1s
}}
http://:{port} {{
\tbind {ip}
\treverse_proxy {application}
}}
",
        port = front.port(),
        ip = front.ip(),
    );
    let file = place.file("Caddyfile", &text)?;
    command.args(["run", "--adapter", "caddyfile", "--config"]).arg(file);
    for variable in ["HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"] {
        command.env(variable, directory);
    }
    // One worker, as the others have.
    command.env("GOMAXPROCS", "1");
    Ok(command)
}

/// The event module with the numbers of Apache's own default: 400 requests at once.
pub(super) fn apache(place: &Place<'_>) -> Result<Command> {
    let Place { front, application, .. } = place;
    let mut command = program("apache2", "-v")?;
    let (here, log) = (place.directory.display(), place.log());
    let log = log.display();
    let text = format!(
        "# Made by weir-lab.
LoadModule mpm_event_module {MODULES}/mod_mpm_event.so
LoadModule authz_core_module {MODULES}/mod_authz_core.so
LoadModule proxy_module {MODULES}/mod_proxy.so
LoadModule proxy_http_module {MODULES}/mod_proxy_http.so
ServerRoot {here}
DefaultRuntimeDir {here}
PidFile {here}/apache.pid
ErrorLog {log}
LogLevel crit
ServerName lab
User www-data
Group www-data
Listen {front}
ListenBacklog {BACKLOG}
HostnameLookups Off
ProxyPass \"/\" \"http://{application}/\"
"
    );
    let file = place.file("apache.conf", &text)?;
    command.arg("-f").arg(file).args(["-k", "start", "-DFOREGROUND"]);
    Ok(command)
}

/// Room for all connections; it has one process by default.
pub(super) fn lighttpd(place: &Place<'_>) -> Result<Command> {
    let Place { front, application, .. } = place;
    let mut command = program("lighttpd", "-v")?;
    let text = format!(
        "# Made by weir-lab.
server.modules = (\"mod_proxy\")
server.document-root = \"{here}\"
server.bind = \"{ip}\"
server.port = {port}
server.errorlog = \"{log}\"
server.listen-backlog = {BACKLOG}
server.max-connections = 8192
server.max-fds = 16384
proxy.server = (\"\" => ((\"host\" => \"{host}\", \"port\" => {to})))
",
        here = place.directory.display(),
        log = place.log().display(),
        ip = front.ip(),
        port = front.port(),
        host = application.ip(),
        to = application.port(),
    );
    let file = place.file("lighttpd.conf", &text)?;
    command.arg("-D").arg("-f").arg(file);
    Ok(command)
}

/// Its backlog is the most that the kernel allows.
pub(super) fn h2o(place: &Place<'_>) -> Result<Command> {
    let Place { front, application, .. } = place;
    let mut command = program("h2o", "--version")?;
    let text = format!(
        "# Made by weir-lab.
user: root
num-threads: 1
max-connections: 8192
pid-file: {here}/h2o.pid
error-log: {log}
hosts:
  \"*\":
    listen:
      host: {ip}
      port: {port}
    paths:
      \"/\":
        proxy.reverse.url: \"http://{application}/\"
",
        here = place.directory.display(),
        log = place.log().display(),
        ip = front.ip(),
        port = front.port(),
    );
    let file = place.file("h2o.conf", &text)?;
    command.arg("-c").arg(file);
    Ok(command)
}

/// The application forbids to keep answers, and every path is another, so it caches nothing.
pub(super) fn varnish(place: &Place<'_>) -> Result<Command> {
    let Place { front, application, .. } = place;
    let mut command = program("varnishd", "-V")?;
    command.args(["-F", "-j", "none", "-s", "malloc,64m"]);
    command.arg("-a").arg(front.to_string()).arg("-b").arg(application.to_string());
    command.arg("-n").arg(place.directory.join("varnish"));
    command.arg("-p").arg(format!("listen_depth={BACKLOG}"));
    Ok(command)
}
