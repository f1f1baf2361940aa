//! Apache, serving files or passing requests on. It does not serve as root: its workers are Debian's
//! user `www-data`.

mod module;

use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::options::{Content, Options, line};
use crate::program::Program;

pub use module::{Build, build};

const MODULES: &str = "/usr/lib/apache2/modules";

/// How it does several things at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Workers {
    /// So many processes from the start, a connection each.
    Prefork(u32),
    /// Threads, a connection each, with the numbers of [`Workers::Event`].
    Worker,
    /// Threads, with the numbers of Debian's configuration, which are those of its defaults: 400
    /// requests at once.
    Event,
}

/// How it comes to its files.
#[derive(Clone, Copy, Debug, Default)]
pub enum Opening<'a> {
    /// It finds and opens each by itself, at each request.
    #[default]
    Itself,
    /// It opens these at its start, by `mod_file_cache`; [`files_below`] has all of a root. It needs a
    /// descriptor for each, and does not notice when one is replaced.
    FileCache(&'a [PathBuf]),
    /// It has them opened by `weir-lab opener`.
    Opener {
        /// The module, as [`build`] makes it.
        module: &'a Path,
        /// The opener's socket.
        socket: &'a Path,
        /// When it asks.
        asking: Asking,
    },
}

/// When the module asks `weir-lab opener` for a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Asking {
    /// Where Apache would wait for the disk: something that it needs is not in memory.
    #[default]
    WhereItBlocks,
    /// For each request, as Ruan and Pai's Flashpache does.
    Always,
}

/// The program with its configuration written. It opens files by itself.
///
/// # Errors
///
/// When Apache is not installed, the configuration cannot be written, or `www-data` cannot get to the
/// files.
pub fn program(options: &Options<'_>, workers: Workers) -> Result<Program> {
    program_opening(options, workers, Opening::Itself)
}

/// The same, told how to come to its files.
///
/// # Errors
///
/// As [`program`].
pub fn program_opening(
    options: &Options<'_>,
    workers: Workers,
    opening: Opening<'_>,
) -> Result<Program> {
    options.in_clear_text("Apache")?;
    if let Content::Files(root) = options.content {
        readable_by_all(root)?;
    }
    let program = Program::installed("apache2", "-v")?;
    let file = options.write("apache.conf", &configuration(options, workers, opening))?;
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

/// All files below a directory, for [`Opening::FileCache`].
///
/// # Errors
///
/// When a directory cannot be read.
pub fn files_below(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut directories = vec![directory.to_owned()];
    let mut files = Vec::new();
    while let Some(directory) = directories.pop() {
        let why = |error: std::io::Error| Error::file("read", &directory, &error);
        for entry in fs::read_dir(&directory).map_err(why)? {
            let entry = entry.map_err(why)?;
            let kind = entry.file_type().map_err(why)?;
            if kind.is_dir() {
                directories.push(entry.path());
            } else if kind.is_file() {
                files.push(entry.path());
            }
        }
    }
    files.sort();
    Ok(files)
}

/// The configuration.
pub fn configuration(options: &Options<'_>, workers: Workers, opening: Opening<'_>) -> String {
    let Options { listen, backlog, .. } = options;
    let here = options.directory.display();
    let log = line("ErrorLog ", options.error_log.map(|log| log.display()), "");
    let level = if options.critical_only { "LogLevel crit\n" } else { "" };
    let idle = line("KeepAliveTimeout ", options.idle_timeout, "");
    let name = match workers {
        Workers::Prefork(_) => "prefork",
        Workers::Worker => "worker",
        Workers::Event => "event",
    };
    let opening = opening_lines(opening);
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
{modules}{opening}ServerRoot {here}
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
        Workers::Worker | Workers::Event => "StartServers 2
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

fn opening_lines(opening: Opening<'_>) -> String {
    match opening {
        Opening::Itself => String::new(),
        Opening::FileCache(files) => {
            let load = format!("LoadModule file_cache_module {MODULES}/mod_file_cache.so\n");
            files.iter().fold(load, |mut lines, file| {
                let _ = writeln!(lines, "CacheFile \"{}\"", file.display());
                lines
            })
        }
        Opening::Opener { module, socket, asking } => {
            let always = match asking {
                Asking::WhereItBlocks => "",
                Asking::Always => "WeirOpenerAlways On\n",
            };
            format!(
                "LoadModule weir_opener_module \"{}\"
WeirOpenerSocket \"{}\"
{always}",
                module.display(),
                socket.display()
            )
        }
    }
}
