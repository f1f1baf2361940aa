//! Work inside a network namespace, and `ip` with errors that say what was run and what is missing.
//! Devices are made with it, and the experiments start their programs with it.

use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::AsFd;
use std::path::Path;
use std::process::Command;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::Error;

const NAMESPACES: &str = "/run/netns";

/// Do something on a thread of its own inside a namespace. What it opens belongs there.
pub(crate) fn within<T: Send>(
    namespace: &str,
    work: impl FnOnce() -> Result<T, Error> + Send,
) -> Result<T, Error> {
    let enter = || {
        let path = Path::new(NAMESPACES).join(namespace);
        let failed = |error: std::io::Error| {
            let hint = match error.kind() {
                ErrorKind::NotFound => format!(": make it with `ip netns add {namespace}`"),
                ErrorKind::PermissionDenied => ": run this as root".to_owned(),
                _ => String::new(),
            };
            Error::new(format!("cannot enter the namespace {}: {error}{hint}", path.display()))
        };
        let file = File::open(&path).map_err(failed)?;
        move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))
            .map_err(|error| failed(error.into()))?;
        work()
    };
    std::thread::scope(|scope| scope.spawn(enter).join()).unwrap_or_else(|_| {
        Err(Error::new(format!("the thread in the namespace {namespace} panicked")))
    })
}

/// Run `ip` in a namespace.
pub(crate) fn ip(namespace: &str, arguments: &[&str]) -> Result<(), Error> {
    let line = || format!("ip -n {namespace} {}", arguments.join(" "));
    let output = Command::new("ip").args(["-n", namespace]).args(arguments).output();
    let output = output.map_err(|error| {
        let hint = match error.kind() {
            ErrorKind::NotFound => ": apt-get install iproute2",
            _ => "",
        };
        Error::new(format!("cannot run `{}`: {error}{hint}", line()))
    })?;
    if output.status.success() {
        return Ok(());
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    Err(Error::new(format!("`{}` failed: {}", line(), complaint.trim())))
}
