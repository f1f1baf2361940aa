//! The service manager (systemd), as far as there is one: the sockets that it has opened for this process
//! (sd_listen_fds(3)), and what it is told (sd_notify(3)): ready, reloading, stopping, alive. Used by the
//! server when it starts, takes a new configuration and ends.

use std::env;
use std::io;
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use crate::sys::{clock, descriptors_from_start};

/// Whom to tell; the default is nobody.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServiceManager {
    /// Its socket, as `$NOTIFY_SOCKET` has it.
    socket: Option<String>,
    /// In what time it wants to hear that the server is alive.
    watchdog: Option<Duration>,
}

impl ServiceManager {
    /// The one that has started this process, if it wants to be told.
    pub(crate) fn from_environment() -> ServiceManager {
        let watchdog = number("WATCHDOG_USEC").filter(|_| {
            // Without a process it is meant for whoever reads it.
            number("WATCHDOG_PID").is_none_or(|pid| pid == u64::from(std::process::id()))
        });
        ServiceManager::at(env::var("NOTIFY_SOCKET").ok(), watchdog)
    }

    /// Who listens at `socket`, a path or `@` and an abstract name, and wants a sign of life at least every
    /// `watchdog` microseconds.
    pub(crate) fn at(socket: Option<String>, watchdog: Option<u64>) -> ServiceManager {
        let socket = socket.filter(|socket| socket.starts_with(['/', '@']));
        let watchdog = watchdog.filter(|micros| socket.is_some() && *micros > 0);
        ServiceManager { socket, watchdog: watchdog.map(Duration::from_micros) }
    }

    /// Whom a server tells that takes over from one that told `before`, if that told anybody. One that was
    /// started by hand tells the same. So does one that a command of the unit has started, such as
    /// `ExecReload=`: the service manager names its socket to that, but the watchdog to the main process
    /// alone, which such a server is about to be.
    pub(crate) fn succeeding(self, before: Option<ServiceManager>) -> ServiceManager {
        let is_same = |before: &ServiceManager| {
            self.socket.is_none() || self.socket == before.socket && self.watchdog.is_none()
        };
        before.filter(is_same).unwrap_or(self)
    }

    /// Its socket, as it was named.
    pub(crate) fn socket(&self) -> Option<&str> {
        self.socket.as_deref()
    }

    /// In what time it wants to hear that the server is alive, if it wants to.
    pub(crate) fn watchdog(&self) -> Option<Duration> {
        self.watchdog
    }

    /// The server serves; `status`: what people should see of it.
    pub(crate) fn ready(&self, status: &str) {
        self.tell(&format!("READY=1\nSTATUS={}", line(status)));
    }

    /// The server looks at a new configuration; [`ServiceManager::ready`] follows.
    pub(crate) fn reloading(&self) {
        let micros = clock::now().as_nanos() / 1000;
        self.tell(&format!("RELOADING=1\nMONOTONIC_USEC={micros}\nSTATUS=reloading"));
    }

    /// The server finishes what is under way, and ends.
    pub(crate) fn stopping(&self) {
        self.tell("STOPPING=1\nSTATUS=finishing requests under way");
    }

    /// The server is alive.
    pub(crate) fn alive(&self) {
        self.tell("WATCHDOG=1");
    }

    /// Another process is the server from now on.
    pub(crate) fn succeeded_by(&self, pid: u32) {
        self.tell(&format!("MAINPID={pid}\nSTATUS=handed over to process {pid}"));
    }

    fn tell(&self, state: &str) {
        let Some(socket) = &self.socket else { return };
        if let Err(error) = send(socket, state) {
            tracing::warn!("the service manager cannot be told at {socket}: {error}");
        }
    }
}

/// A status is one line.
fn line(status: &str) -> String {
    status.replace(['\n', '\r'], " ")
}

fn send(socket: &str, state: &str) -> io::Result<()> {
    let address = match socket.strip_prefix('@') {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(socket)?,
    };
    let datagrams = UnixDatagram::unbound()?;
    // Nobody waits for a service manager that is busy.
    datagrams.set_nonblocking(true)?;
    datagrams.send_to_addr(state.as_bytes(), &address).map(drop)
}

/// The sockets that the service manager has opened for this process, with their names; none on a second
/// call.
///
/// # Errors
///
/// It has announced more than there are.
pub(crate) fn passed_sockets() -> io::Result<Vec<(String, OwnedFd)>> {
    let is_for_us = number("LISTEN_PID") == Some(u64::from(std::process::id()));
    let count = number("LISTEN_FDS").filter(|_| is_for_us).unwrap_or(0);
    let sockets = descriptors_from_start(usize::try_from(count).unwrap_or(usize::MAX))?;
    let names = env::var("LISTEN_FDNAMES").unwrap_or_default();
    let names = names.split(':').map(str::to_owned).chain(std::iter::repeat(String::new()));
    Ok(names.zip(sockets).collect())
}

fn number(variable: &str) -> Option<u64> {
    env::var(variable).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is told to `manager`, which listens at `socket`.
    fn told(socket: &UnixDatagram) -> String {
        let mut bytes = [0; 1000];
        let count = socket.recv(&mut bytes).unwrap();
        String::from_utf8(bytes[..count].to_vec()).unwrap()
    }

    fn manager(socket: Option<&str>, watchdog: Option<u64>) -> ServiceManager {
        ServiceManager::at(socket.map(str::to_owned), watchdog)
    }

    #[test]
    fn it_hears_at_a_path_and_at_an_abstract_name() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("notify").display().to_string();
        let name = format!("weir-test-notify-{}", std::process::id());
        let sockets = [
            UnixDatagram::bind(&path).unwrap(),
            UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap(),
        ];
        for (socket, at) in sockets.iter().zip([path, format!("@{name}")]) {
            let manager = ServiceManager::at(Some(at), Some(2_000_000));
            assert_eq!(manager.watchdog(), Some(Duration::from_secs(2)));
            manager.ready("serving\nREADY=0");
            assert_eq!(told(socket), "READY=1\nSTATUS=serving READY=0");
            manager.alive();
            assert_eq!(told(socket), "WATCHDOG=1");
            let before = clock::now().as_nanos() / 1000;
            manager.reloading();
            let text = told(socket);
            let micros = text.lines().find_map(|line| line.strip_prefix("MONOTONIC_USEC="));
            let micros: u64 = micros.unwrap().parse().unwrap();
            assert!(text.starts_with("RELOADING=1\n") && micros >= before, "{text}");
            manager.succeeded_by(7);
            assert!(told(socket).starts_with("MAINPID=7\n"));
            manager.stopping();
            assert!(told(socket).starts_with("STOPPING=1\n"));
        }
    }

    #[test]
    fn a_successor_keeps_the_watchdog_of_its_predecessor_unless_it_has_its_own_manager() {
        for (own, socket, watchdog) in [
            (manager(None, None), "/a", Some(5)),
            (manager(Some("/a"), None), "/a", Some(5)),
            (manager(Some("/a"), Some(7)), "/a", Some(7)),
            (manager(Some("/b"), None), "/b", None),
        ] {
            let told = own.clone().succeeding(Some(manager(Some("/a"), Some(5))));
            let watchdog = watchdog.map(Duration::from_micros);
            assert_eq!((told.socket(), told.watchdog()), (Some(socket), watchdog), "{own:?}");
            // A predecessor that told nobody.
            let told = own.clone().succeeding(None);
            assert_eq!((told.socket(), told.watchdog()), (own.socket(), own.watchdog()));
        }
    }

    #[test]
    fn without_one_nothing_is_told_and_nothing_watched() {
        for socket in [None, Some("vsock:2:1"), Some("")] {
            let manager = manager(socket, Some(1_000_000));
            assert_eq!((manager.socket(), manager.watchdog()), (None, None));
            manager.ready("serving");
        }
        // One that has gone is only named.
        ServiceManager::at(Some("/nowhere/notify".to_owned()), None).ready("serving");
    }
}
