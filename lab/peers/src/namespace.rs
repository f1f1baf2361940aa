//! Network namespaces: their names, work inside one, and the removal of those that a killed run
//! left. The network of a cell of the experiments has two or three, that of `weir-costs cpu` one or two.

use std::fs::{self, File};
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::error::{Error, Result};
use crate::tool::run;
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

const NAMESPACES: &str = "/run/netns";
const PREFIX: &str = "weirlab";

/// A namespace that exists as long as this value.
#[derive(Debug)]
pub struct Namespace(String);

impl Namespace {
    /// Make it, with its loopback up.
    ///
    /// # Errors
    ///
    /// When `ip` cannot: without root, or when there is one of this name.
    pub fn make(name: String) -> Result<Namespace> {
        run(&format!("ip netns add {name}"))?;
        let namespace = Namespace(name);
        run(&format!("ip -n {namespace} link set lo up"))?;
        Ok(namespace)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for Namespace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        remove(&self.0);
    }
}

/// The beginning of the names of one network's namespaces, used by no other network of any process.
pub fn unique() -> String {
    static CELLS: AtomicU32 = AtomicU32::new(0);
    format!("{PREFIX}{}-{}", std::process::id(), CELLS.fetch_add(1, Ordering::Relaxed))
}

/// Run a closure on a thread of its own inside a namespace. Sockets it opens and processes it
/// starts belong there.
///
/// # Errors
///
/// When there is no such namespace, this is not root, or the closure fails or panics.
pub fn within<T: Send>(namespace: &str, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let enter = || {
        enter(namespace)?;
        work()
    };
    std::thread::scope(|scope| scope.spawn(enter).join())
        .unwrap_or_else(|_| Err(Error(format!("the thread in namespace {namespace} panicked"))))
}

/// Move this thread into a namespace, and with it the threads and processes that it starts from now on.
///
/// # Errors
///
/// When there is no such namespace, or this is not root.
pub fn enter(namespace: &str) -> Result<()> {
    let path = Path::new(NAMESPACES).join(namespace);
    let file = File::open(&path).map_err(|e| Error::file("enter", &path, &e))?;
    move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))
        .map_err(|e| Error::file("enter", &path, &e))
}

/// Set the congestion control of all connections in a namespace, by its routes: as a setting of a
/// namespace the kernel only takes the algorithms that unprivileged users of the machine may choose.
///
/// # Errors
///
/// When the kernel lacks the algorithm; names those that it has.
pub fn set_congestion(namespace: &Namespace, algorithm: &str) -> Result<()> {
    for table in ["main", "local"] {
        for route in run(&format!("ip -n {namespace} route show table {table}"))?.lines() {
            let replace = format!("ip -n {namespace} route replace table {table} {route}");
            run(&format!("{replace} congctl {algorithm}")).map_err(|e| {
                let known = "/proc/sys/net/ipv4/tcp_available_congestion_control";
                let known = fs::read_to_string(known).unwrap_or_default();
                Error(format!("congestion control {algorithm}: {e}; available: {}", known.trim()))
            })?;
        }
    }
    Ok(())
}

/// Remove what earlier runs left that were killed before they could clean up: namespaces, and the
/// servers inside. To be called before this process makes any itself. Returns their names.
pub fn remove_stale() -> Vec<String> {
    let entries = fs::read_dir(NAMESPACES).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let stale: Vec<String> = names.filter(|name| owner(name).is_some_and(has_gone)).collect();
    stale.iter().for_each(|name| remove(name));
    stale
}

/// The process that made a namespace of this name.
fn owner(name: &str) -> Option<u32> {
    name.strip_prefix(PREFIX)?.split_once('-')?.0.parse().ok()
}

/// Our own id, before we have made anything, is an earlier process's.
fn has_gone(pid: u32) -> bool {
    pid == std::process::id() || !Path::new(&format!("/proc/{pid}")).exists()
}

/// Removing cannot be helped along when it fails, so errors are left aside.
fn remove(namespace: &str) {
    let inside = run(&format!("ip netns pids {namespace}")).unwrap_or_default();
    let pids = inside.split_whitespace().filter_map(|pid| pid.parse().ok());
    for pid in pids.filter_map(Pid::from_raw) {
        // A thread of ours that is inside is about to leave.
        if pid != rustix::process::getpid() {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
    let _ = run(&format!("ip netns del {namespace}"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_names_have_owners_and_no_two_cells_share_a_name() {
        assert_eq!(owner("weirlab12-3-s"), Some(12));
        assert_eq!(
            (owner("weirlab-3"), owner("other12-3"), owner("weirlab12")),
            (None, None, None)
        );
        let (one, two) = (unique(), unique());
        assert_ne!(one, two);
        assert_eq!(owner(&one), Some(std::process::id()));
        // The longest name of a device is 15 bytes; namespaces may be longer.
        assert!(one.len() < 64);
    }

    /// Needs root, as CI has it.
    #[test]
    fn what_a_killed_run_left_is_removed_with_its_servers() {
        use std::os::unix::process::ExitStatusExt;
        use std::process::Command;
        let mut owner = Command::new("true").spawn().expect("it runs");
        owner.wait().expect("it ends");
        let name = format!("{PREFIX}{}-0-s", owner.id());
        run(&format!("ip netns add {name}")).expect("this test needs root");
        let mut left = Command::new("ip")
            .args(["netns", "exec", &name, "tail", "-f", "/dev/null"])
            .spawn()
            .expect("it runs");
        while !run(&format!("ip netns pids {name}"))
            .expect("it is there")
            .contains(char::is_numeric)
        {
            assert_eq!(left.try_wait().expect("our child"), None);
        }
        assert!(remove_stale().contains(&name));
        let status = left.wait().expect("our child");
        assert_eq!(status.signal(), Some(Signal::KILL.as_raw()));
        assert!(!Path::new(NAMESPACES).join(name).exists());
    }

    #[test]
    fn a_process_that_runs_has_not_gone() {
        assert!(!has_gone(1));
        assert!(has_gone(u32::MAX));
    }
}
