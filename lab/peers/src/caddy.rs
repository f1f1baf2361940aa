//! Caddy, serving files or passing requests on.

use crate::error::Result;
use crate::options::{Content, Options};
use crate::program::Program;

/// The program with its configuration written.
///
/// # Errors
///
/// When Caddy is not installed, or the configuration cannot be written.
pub fn program(options: &Options<'_>) -> Result<Program> {
    let program = Program::installed("caddy", "version")?;
    let file = options.write("Caddyfile", &configuration(options))?;
    let mut program = program.args(["run", "--adapter", "caddyfile", "--config"]).arg(file);
    for variable in ["HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"] {
        program = program.env(variable, options.directory);
    }
    Ok(program)
}

/// The configuration. Its backlog is the most that the kernel allows, and it writes to its standard
/// error.
pub fn configuration(options: &Options<'_>) -> String {
    let (ip, port) = (options.listen.ip(), options.listen.port());
    let idle = options.idle_timeout.map_or(String::new(), |seconds| {
        format!("\tservers {{\n\t\ttimeouts {{\n\t\t\tidle {seconds}s\n\t\t}}\n\t}}\n")
    });
    let (scheme, tls) = match options.tls {
        None => ("http", String::new()),
        Some(tls) => (
            "https",
            format!(
                "\ttls {} {} {{\n\t\tprotocols tls1.3\n\t\tcurves x25519\n\t\talpn http/1.1\n\t}}\n",
                tls.chain.display(),
                tls.key.display(),
            ),
        ),
    };
    let content = match options.content {
        Content::Files(root) => format!("\troot * {}\n\tfile_server\n", root.display()),
        Content::Proxy(backend) => format!("\treverse_proxy {backend}\n"),
    };
    format!(
        "# Made by the lab.
{{
\tadmin off
\tauto_https off
\tgrace_period 1s
{idle}}}
{scheme}://:{port} {{
\tbind {ip}
{tls}{content}}}
"
    )
}
