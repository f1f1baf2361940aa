//! Apache, serving files or passing requests on. It does not serve as root: its workers are Debian's
//! user `www-data`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::error::{Error, Result};
use crate::options::{Content, Options, line};
use crate::program::Program;

const MODULES: &str = "/usr/lib/apache2/modules";

/// How it does several things at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workers {
    /// So many processes from the start, a connection each.
    Prefork(u32),
    /// Threads, with the numbers of Debian's configuration, which are those of its defaults: 400
    /// requests at once.
    Event,
}

/// The program with its configuration written.
///
/// # Errors
///
/// When Apache is not installed, the configuration cannot be written, or `www-data` cannot get to the
/// files.
pub fn program(options: &Options<'_>, workers: Workers) -> Result<Program> {
    if let Content::Files(root) = options.content {
        readable_by_all(root)?;
    }
    let program = Program::installed("apache2", "-v")?;
    let file = options.write("apache.conf", &configuration(options, workers))?;
    Ok(program.arg("-f").arg(file).args(["-k", "start", "-DFOREGROUND"]))
}

fn readable_by_all(root: &Path) -> Result<()> {
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

/// The configuration.
pub fn configuration(options: &Options<'_>, workers: Workers) -> String {
    let Options { listen, backlog, .. } = options;
    let here = options.directory.display();
    let log = line("ErrorLog ", options.error_log.map(|log| log.display()), "");
    let level = if options.critical_only { "LogLevel crit\n" } else { "" };
    let idle = line("KeepAliveTimeout ", options.idle_timeout, "");
    let name = match workers {
        Workers::Prefork(_) => "prefork",
        Workers::Event => "event",
    };
    let (modules, content) = match options.content {
        Content::Files(root) => (String::new(), files(root, workers)),
        Content::Proxy(backend) => (
            format!(
                "LoadModule proxy_module {MODULES}/mod_proxy.so
LoadModule proxy_http_module {MODULES}/mod_proxy_http.so
"
            ),
            format!("ProxyPass \"/\" \"http://{backend}/\"\n"),
        ),
    };
    format!(
        "# Made by the lab.
LoadModule mpm_{name}_module {MODULES}/mod_mpm_{name}.so
LoadModule authz_core_module {MODULES}/mod_authz_core.so
{modules}ServerRoot {here}
DefaultRuntimeDir {here}
PidFile {here}/apache.pid
{log}{level}ServerName lab
User www-data
Group www-data
Listen {listen}
ListenBacklog {backlog}
HostnameLookups Off
{idle}{content}"
    )
}

fn files(root: &Path, workers: Workers) -> String {
    let root = root.display();
    let processes = match workers {
        Workers::Prefork(processes) => format!(
            "ServerLimit {processes}
MaxRequestWorkers {processes}
StartServers {processes}
MinSpareServers 1
MaxSpareServers {processes}"
        ),
        Workers::Event => "StartServers 2
ThreadsPerChild 25
ServerLimit 16
MaxRequestWorkers 400"
            .to_owned(),
    };
    format!(
        "{processes}
MaxConnectionsPerChild 0
KeepAlive On
MaxKeepAliveRequests 0
Timeout 300
EnableSendfile On
DocumentRoot {root}
<Directory {root}>
    Options None
    AllowOverride None
    Require all granted
</Directory>
"
    )
}
