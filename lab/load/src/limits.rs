//! Whether this process may have as many connections as a run needs. Callers check it before a run.

use rustix::fs::{Mode, OFlags, open};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::error::Error;

/// Descriptors for everything beside the connections.
const OTHERS: u64 = 64;
/// Descriptors for which the kernel has room from the start (8 bytes each), unless the limit is lower.
const ROOM: u64 = 65_536;
const PORT_RANGE: &str = "/proc/sys/net/ipv4/ip_local_port_range";

/// Make sure that `expected_open` connections at once can be had from `sources` source addresses
/// (0 counts as one) towards one server. Raises the soft limit of open files to the hard one in any
/// case: how many connections overload takes is not known before. Has the kernel make its table of
/// descriptors large: where threads share it, whoever opens a descriptor for which it must grow waits for
/// an RCU grace period (`expand_fdtable` in the kernel's fs/file.c). Call it in the network namespace of
/// the run.
///
/// # Errors
///
/// When descriptors or ports would not suffice; says which setting to change.
pub fn check_limits(expected_open: u64, sources: usize) -> Result<(), Error> {
    descriptors(expected_open)?;
    let text = std::fs::read_to_string(PORT_RANGE)
        .map_err(|e| Error(format!("cannot read {PORT_RANGE}: {e}")))?;
    let each = ports(&text)
        .ok_or_else(|| Error(format!("{PORT_RANGE} has not two numbers but {text:?}")))?;
    enough_ports(expected_open, each, sources)
}

fn descriptors(expected_open: u64) -> Result<(), Error> {
    let needed = expected_open.saturating_add(OTHERS);
    let limit = getrlimit(Resource::Nofile);
    let raised = if limit.current == limit.maximum {
        Ok(())
    } else {
        setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum })
    };
    if let Some(most) = limit.maximum.filter(|most| *most < needed) {
        return Err(Error(format!(
            "{expected_open} connections at once need {needed} open files, and only {most} are \
             allowed: run `ulimit -n {needed}` as root first, or set LimitNOFILE"
        )));
    }
    if limit.current.is_some_and(|most| most < needed) {
        raised.map_err(|e| {
            Error(format!("cannot raise the limit of open files (`ulimit -n {needed}`): {e}"))
        })?;
    }
    make_room(limit.maximum.unwrap_or(ROOM).min(ROOM));
    Ok(())
}

/// Have the kernel make room for so many descriptors. If it does not, the table grows as it is needed.
fn make_room(descriptors: u64) {
    let highest = i32::try_from(descriptors).unwrap_or(i32::MAX) - 1;
    let any = open("/", OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
    let _ = any.and_then(|any| fcntl_dupfd_cloexec(&any, highest));
}

/// How many ports a range gives.
fn ports(range: &str) -> Option<u64> {
    let mut numbers = range.split_whitespace().map(str::parse::<u64>);
    let (low, high) = (numbers.next()?.ok()?, numbers.next()?.ok()?);
    Some((high + 1).saturating_sub(low))
}

fn enough_ports(expected_open: u64, each: u64, sources: usize) -> Result<(), Error> {
    let sources = sources.max(1) as u64;
    if each.saturating_mul(sources) >= expected_open {
        return Ok(());
    }
    let needed = expected_open.div_ceil(each.max(1));
    Err(Error(format!(
        "{expected_open} connections at once need as many ports, and {sources} source \
         address(es) have {each} each: give {needed} source addresses, or widen the range with \
         `sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\"`"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_range_is_read() {
        assert_eq!(ports("32768\t60999\n"), Some(28_232));
        assert_eq!(ports("9 1"), Some(0));
        assert_eq!(ports("x"), None);
    }

    #[test]
    fn what_is_missing_names_its_setting() {
        assert!(enough_ports(28_232, 28_232, 0).is_ok());
        assert!(enough_ports(50_000, 28_232, 2).is_ok());
        let error = enough_ports(60_000, 28_232, 2).expect_err("too few ports").to_string();
        assert!(error.contains("ip_local_port_range") && error.contains("3 source"), "{error}");
        let error = check_limits(u64::MAX, 1).expect_err("too few descriptors").to_string();
        assert!(error.contains("ulimit -n") || error.contains("ip_local_port_range"), "{error}");
        assert!(check_limits(10, 1).is_ok());
    }
}
