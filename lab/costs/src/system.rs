//! The systems under test: how each is started on its core, when it is ready,
//! and how it is stopped. Knows nothing of what is measured.

use std::ffi::OsString;
use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::configuration::{self, Content, Needs};
use crate::options::Common;
use crate::peer::System;
use crate::{Result, directory, interrupt, machine, process, tool};

/// What a server is to the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// It has the files.
    Files,
    /// The same for proxies, on the clients' core.
    Backend,
    /// It passes all requests on to this backend.
    Proxy(SocketAddrV4),
}

/// What a server is started with.
pub(crate) struct Setup<'a> {
    pub(crate) common: &'a Common,
    pub(crate) part: Part,
    /// The files it serves.
    pub(crate) root: &'a Path,
    /// Connections it must hold, and files it may have open.
    pub(crate) connections: usize,
    pub(crate) files: usize,
    /// The file that puts a process into a memory group.
    pub(crate) group: Option<&'a Path>,
}

/// A running server; stopped when dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) system: System,
    pub(crate) address: SocketAddrV4,
}

impl Server {
    /// Start it, and return once it accepts connections.
    pub(crate) fn start(system: System, setup: &Setup<'_>) -> Result<Server> {
        let home = match setup.part {
            Part::Backend => "backend.run".to_owned(),
            Part::Files | Part::Proxy(_) => format!("{system}.run"),
        };
        let home = setup.common.out.join(home);
        directory::open(&home)?;
        let address = free_address()?;
        let words = command_line(system, setup, &home, address.port())?;
        let log = home.join("log");
        let unwritable = |e| format!("cannot write {}: {e}", log.display());
        let stdout = File::create(&log).map_err(unwritable)?;
        let stderr = stdout.try_clone().map_err(unwritable)?;
        let child = Command::new(&words[0])
            .args(&words[1..])
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(stderr)
            .spawn()
            .map_err(|e| tool::missing(&words[0].to_string_lossy(), &e))?;
        let mut server = Server { child, system, address };
        server.ready(&log)?;
        Ok(server)
    }

    fn ready(&mut self, log: &Path) -> Result<()> {
        let end = Instant::now() + Duration::from_secs(15);
        while TcpStream::connect(self.address).is_err() {
            interrupt::sleep(Duration::from_millis(20))?;
            let status = self.child.try_wait().map_err(|e| format!("{}: {e}", self.system))?;
            if status.is_some() || Instant::now() > end {
                let said = fs::read_to_string(log).unwrap_or_default();
                let system = self.system;
                return Err(format!("{system} does not accept connections; it said: {said}"));
            }
        }
        Ok(())
    }

    /// All its processes.
    pub(crate) fn pids(&self) -> Vec<u32> {
        process::family(self.child.id())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let family = self.pids();
        let tell = |pid: u32, signal| {
            if let Some(pid) = Pid::from_raw(pid as i32) {
                let _ = kill_process(pid, signal);
            }
        };
        tell(self.child.id(), Signal::TERM);
        // Requests under way are of no interest any more.
        for _ in 0..40 {
            if let Ok(Some(_)) = self.child.try_wait() {
                return;
            }
            std::thread::sleep(Duration::from_millis(25));
        }
        family.into_iter().for_each(|pid| tell(pid, Signal::KILL));
        let _ = self.child.wait();
    }
}

/// An address nobody listens at.
fn free_address() -> Result<SocketAddrV4> {
    let any = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|l| l.local_addr());
    let port = any.map_err(|e| format!("no free port on loopback: {e}"))?.port();
    Ok(SocketAddrV4::new(Ipv4Addr::LOCALHOST, port))
}

/// The whole command: group, core, user, program.
fn command_line(
    system: System,
    setup: &Setup<'_>,
    home: &Path,
    port: u16,
) -> Result<Vec<OsString>> {
    let mut words: Vec<OsString> = Vec::new();
    if let Some(group) = setup.group {
        // The shell joins the group, then becomes the rest of the command.
        words.extend(["sh", "-c", "echo $$ >\"$0\" && exec \"$@\""].map(OsString::from));
        words.push(group.into());
    }
    let core = match setup.part {
        Part::Backend => machine::CLIENT_CORE,
        Part::Files | Part::Proxy(_) => machine::SERVER_CORE,
    };
    words.extend(["taskset", "-c", core, "setpriv"].map(OsString::from));
    // Should this program be killed, the servers end with it.
    words.extend(["--pdeathsig", "TERM"].map(OsString::from));
    let user = setup.common.as_user.as_deref();
    if let Some(user) = user
        && !matches!(system, System::Nginx(_))
    {
        words.extend(["--reuid", user, "--regid", &group_of(user)?].map(OsString::from));
        words.push("--clear-groups".into());
    }
    let worker = match user {
        Some(user) => format!("{user} {}", group_of(user)?),
        None => "root".into(),
    };
    let needs = Needs {
        root: setup.root,
        home,
        port,
        files: setup.files,
        connections: setup.connections,
        user: &worker,
    };
    let write = |text: String| {
        let file = home.join("conf");
        let done = fs::write(&file, text).map(|()| file.clone());
        done.map_err(|e| format!("cannot write {}: {e}", file.display()))
    };
    match (system, setup.part) {
        (System::Weir, _) => words.extend(weir(setup, port)?),
        (System::Nginx(reads), part) => {
            let content = match part {
                Part::Proxy(backend) => Content::Backend(backend),
                Part::Files | Part::Backend => Content::Files(reads),
            };
            words.extend(["nginx", "-e", "stderr", "-c"].map(OsString::from));
            words.push(write(configuration::nginx(&needs, content))?.into());
        }
        (other, Part::Proxy(_)) => {
            return Err(format!("{other} is measured with files only: --systems weir,nginx"));
        }
        (System::Lighttpd, _) => {
            words.extend(["lighttpd", "-D", "-f"].map(OsString::from));
            words.push(write(configuration::lighttpd(&needs))?.into());
        }
        (System::H2o, _) => {
            words.extend(["h2o", "-c"].map(OsString::from));
            words.push(write(configuration::h2o(&needs, user.is_none()))?.into());
        }
    }
    Ok(words)
}

/// The name of a user's group.
fn group_of(user: &str) -> Result<String> {
    tool::output("id", &["-gn", user]).map(|name| name.trim().to_owned())
}

fn weir(setup: &Setup<'_>, port: u16) -> Result<Vec<OsString>> {
    let binary = weir_binary(setup.common)?;
    let admin = free_address()?;
    let mut words: Vec<OsString> = vec![binary.into(), "serve".into()];
    match setup.part {
        Part::Files | Part::Backend => words.push(setup.root.into()),
        Part::Proxy(backend) => {
            words.extend(["--proxy".into(), format!("/=http://{backend}").into()]);
        }
    }
    let listen = format!("127.0.0.1:{port}");
    let fixed = ["--listen", &listen, "--workers", "1", "--access-log", "off", "--log", "warn"];
    words.extend(fixed.map(OsString::from));
    words.extend(["--idle-timeout", "600s", "--admin"].map(OsString::from));
    words.push(admin.to_string().into());
    words.extend(setup.common.weir_options.split_ascii_whitespace().map(OsString::from));
    Ok(words)
}

fn weir_binary(common: &Common) -> Result<PathBuf> {
    let path = match &common.weir {
        Some(path) => path.clone(),
        None => std::env::current_exe()
            .map_err(|e| format!("cannot tell where this program is: {e}; use --weir"))?
            .with_file_name("weir"),
    };
    // Absolute, since a server may change its directory.
    path.canonicalize()
        .map_err(|e| format!("{}: {e}; build weir, or say where it is: --weir", path.display()))
}

#[cfg(test)]
mod tests {
    use super::System;

    #[test]
    fn systems_are_named_as_they_are_written() {
        for name in ["weir", "nginx-sendfile", "nginx-copy", "nginx-aio", "lighttpd", "h2o"] {
            assert_eq!(name.parse::<System>().unwrap().to_string(), name);
        }
        assert!("apache".parse::<System>().is_err());
    }
}
