//! lighttpd, serving files with `sendfile` or passing requests on.

use crate::error::Result;
use crate::options::{Content, Options, line};
use crate::program::Program;

/// The most requests of a connection that it counts to.
pub const MOST_REQUESTS: u32 = 65_535;

/// The program with its configuration written.
///
/// # Errors
///
/// When lighttpd is not installed, or the configuration cannot be written.
pub fn program(options: &Options<'_>) -> Result<Program> {
    options.in_clear_text("lighttpd")?;
    let program = Program::installed("lighttpd", "-v")?;
    let file = options.write("lighttpd.conf", &configuration(options))?;
    Ok(program.arg("-D").arg("-f").arg(file))
}

/// The configuration. Event handler, stat cache and the longest wait for a client that does not read
/// are its own defaults.
pub fn configuration(options: &Options<'_>) -> String {
    let Options { listen, backlog, connections, requests_per_connection, .. } = options;
    let content = match options.content {
        Content::Files(root) => format!(
            "server.document-root = \"{}\"
server.event-handler = \"linux-sysepoll\"
server.network-backend = \"sendfile\"
server.stat-cache-engine = \"simple\"
server.max-write-idle = 360
mimetype.assign = (\"\" => \"application/octet-stream\")
",
            root.display()
        ),
        Content::Proxy(backend) => format!(
            "server.modules = (\"mod_proxy\")
server.document-root = \"{here}\"
proxy.server = (\"\" => ((\"host\" => \"{host}\", \"port\" => {port})))
",
            here = options.directory.display(),
            host = backend.ip(),
            port = backend.port(),
        ),
    };
    let log = options.error_log.map(|log| log.display());
    let log = line("server.errorlog = \"", log, "\"");
    let files = line("server.max-fds = ", options.open_files, "");
    let idle = line("server.max-keep-alive-idle = ", options.idle_timeout, "");
    let requests = line("server.max-keep-alive-requests = ", *requests_per_connection, "");
    format!(
        "# Made by the lab.
server.bind = \"{ip}\"
server.port = {port}
server.listen-backlog = {backlog}
server.max-connections = {connections}
{log}{files}{idle}{requests}{content}",
        ip = listen.ip(),
        port = listen.port(),
    )
}
