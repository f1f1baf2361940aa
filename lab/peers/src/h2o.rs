//! h2o, serving files or passing requests on.

use crate::error::Result;
use crate::options::{Compression, Content, Options, line};
use crate::program::Program;

/// The program with its configuration written. It compresses nothing.
///
/// # Errors
///
/// When h2o is not installed, or the configuration cannot be written.
pub fn program(options: &Options<'_>) -> Result<Program> {
    program_compressing(options, Compression::Off)
}

/// The same, told what to compress; the level is its own.
///
/// # Errors
///
/// As [`program`].
pub fn program_compressing(options: &Options<'_>, compression: Compression) -> Result<Program> {
    let program = Program::installed("h2o", "--version")?;
    let file = options.write("h2o.conf", &configuration(options, compression))?;
    Ok(program.arg("-c").arg(file))
}

/// The configuration. Its backlog is the most that the kernel allows. Started as root it becomes
/// `nobody` unless [`Options::user`] says otherwise.
pub fn configuration(options: &Options<'_>, compression: Compression) -> String {
    let Options { listen, connections, .. } = options;
    let user = line("user: ", options.user, "");
    let idle = line("http1-request-timeout: ", options.idle_timeout, "");
    let log = line("error-log: ", options.error_log.map(|log| log.display()), "");
    let compress = match compression {
        Compression::Off => "",
        Compression::OnTheFly(_) => "compress: ON\n",
        Compression::Siblings => "file.send-compressed: ON\n",
    };
    // Keys in a process of their own (neverbleed) would be another server than the others.
    let tls = options.tls.map_or(String::new(), |tls| {
        format!(
            "
      ssl:
        certificate-file: {}
        key-file: {}
        ocsp-update-interval: 0
        neverbleed: OFF",
            tls.chain.display(),
            tls.key.display(),
        )
    });
    let content = match options.content {
        Content::Files(root) => format!("file.dir: {}", root.display()),
        Content::Proxy(backend) => format!("proxy.reverse.url: \"http://{backend}/\""),
    };
    format!(
        "# Made by the lab.
{user}num-threads: 1
max-connections: {connections}
{idle}{log}{compress}hosts:
  \"*\":
    listen:
      host: {ip}
      port: {port}{tls}
    paths:
      \"/\":
        {content}
",
        ip = listen.ip(),
        port = listen.port(),
    )
}
