//! The time after which an unanswered SYN or SYN-ACK is sent again. Linux has no setting for it (a
//! second, RFC 6298 section 2.1; three in Schroeder's days), but asks a BPF program of the socket's
//! control group. Cells that ask for another timeout hold one of these while they run.

mod bpf;

use std::fs::{self, File};
use std::io::Read;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use weir_peers::Error;

use bpf::Instruction;

/// `BPF_SOCK_OPS_TIMEOUT_INIT`: the kernel asks for the initial timeout.
const TIMEOUT_INIT: i32 = 1;

/// The calling thread, and what it starts, has another initial timeout while this lives.
#[derive(Debug)]
pub(crate) struct Guard {
    thread: u32,
    home: PathBuf,
    group: PathBuf,
}

/// Gives the calling thread, the threads and processes it starts from now on, and all their sockets
/// an initial retransmission timeout of `ms` milliseconds (rounded to the kernel's tick).
///
/// # Errors
///
/// Without root, without a control group file system of version 2, or where the kernel's tick
/// cannot be found out: says what is missing.
pub(crate) fn set(ms: u32) -> Result<Guard, Error> {
    let ticks = ticks(ms, tick_rate()?);
    let root = unified()?;
    let thread = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
    let failed = |what: &str, e: std::io::Error| {
        Error(format!("initial timeout of {ms} ms: cannot {what}: {e}; root is needed"))
    };
    // Threads of one process can only be told apart below a group that holds the whole process.
    let home = root.join(format!("weirlab{}", std::process::id()));
    // Once: it would take all threads out of the groups they have entered since.
    static ENTERED: Mutex<bool> = Mutex::new(false);
    let mut entered = ENTERED.lock().unwrap_or_else(PoisonError::into_inner);
    if !*entered {
        fs::create_dir_all(&home).map_err(|e| failed("make a control group", e))?;
        fs::write(home.join("cgroup.procs"), std::process::id().to_string())
            .map_err(|e| failed("enter the control group", e))?;
        *entered = true;
    }
    drop(entered);
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let group = loop {
        let group = home.join(COUNT.fetch_add(1, Ordering::Relaxed).to_string());
        match fs::create_dir(&group) {
            Ok(()) => break group,
            // A killed run had our process number.
            Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(failed("make a control group", e)),
        }
    };
    let guard = Guard { thread, home, group };
    fs::write(guard.group.join("cgroup.type"), "threaded")
        .map_err(|e| failed("make the control group threaded", e))?;
    let program = bpf::load(&program(ticks)).map_err(|e| failed("load the program", e))?;
    let directory = File::open(&guard.group).map_err(|e| failed("open the control group", e))?;
    bpf::attach(&program, directory.as_fd()).map_err(|e| failed("attach the program", e))?;
    fs::write(guard.group.join("cgroup.threads"), thread.to_string())
        .map_err(|e| failed("enter the control group", e))?;
    Ok(guard)
}

impl Drop for Guard {
    fn drop(&mut self) {
        // What cannot be removed (a process that outlived its run is in it) is left to the next
        // run's search for leftovers.
        let _ = fs::write(self.home.join("cgroup.threads"), self.thread.to_string());
        let _ = fs::remove_dir(&self.group);
    }
}

/// Removes the control groups of runs whose process has gone.
pub(crate) fn remove_stale() {
    let Some(entries) = unified().ok().and_then(|root| fs::read_dir(root).ok()) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let owner = name.strip_prefix("weirlab").and_then(|pid| pid.parse::<u32>().ok());
        if owner.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            for group in fs::read_dir(entry.path()).into_iter().flatten().flatten() {
                let _ = fs::remove_dir(group.path());
            }
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// If the kernel asks for the initial timeout, answer; leave all other questions alone.
fn program(ticks: i32) -> [Instruction; 6] {
    let instruction = |operation, registers, offset, constant| Instruction {
        operation,
        registers,
        offset,
        constant,
    };
    [
        instruction(0x61, 0x12, 0, 0),            // r2 = the question
        instruction(0x55, 0x02, 2, TIMEOUT_INIT), // another: go on after the answer
        instruction(0xb7, 0x03, 0, ticks),        // r3 = ticks
        instruction(0x63, 0x31, 4, 0),            // the answer = r3
        instruction(0xb7, 0x00, 0, 1),            // r0 = 1
        instruction(0x95, 0, 0, 0),               // end
    ]
}

fn ticks(ms: u32, per_second: u32) -> i32 {
    let ticks = (u64::from(ms) * u64::from(per_second)).div_ceil(1000);
    i32::try_from(ticks).unwrap_or(i32::MAX).max(1)
}

/// Where control groups of version 2 are.
fn unified() -> Result<PathBuf, Error> {
    let mounts = fs::read_to_string("/proc/self/mounts")
        .map_err(|e| Error(format!("cannot read /proc/self/mounts: {e}")))?;
    let mut lines = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let found = lines.find(|words| words.get(2) == Some(&"cgroup2"));
    found.and_then(|words| words.get(1).map(PathBuf::from)).ok_or_else(|| {
        Error(
            "no cgroup2 file system is mounted: mount -t cgroup2 none /sys/fs/cgroup/unified"
                .into(),
        )
    })
}

/// Ticks per second of this kernel (`CONFIG_HZ`).
fn tick_rate() -> Result<u32, Error> {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let boot = fs::read_to_string(format!("/boot/config-{}", release.trim()));
    let text = boot.or_else(|_| {
        let mut text = String::new();
        flate2::read::GzDecoder::new(File::open("/proc/config.gz")?).read_to_string(&mut text)?;
        Ok::<_, std::io::Error>(text)
    });
    text.ok().and_then(|text| hz(&text)).ok_or_else(|| {
        Error("neither /boot/config-… nor /proc/config.gz tells CONFIG_HZ of this kernel".into())
    })
}

fn hz(config: &str) -> Option<u32> {
    config.lines().find_map(|line| line.strip_prefix("CONFIG_HZ="))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_are_ticks() {
        assert_eq!((ticks(500, 250), ticks(3000, 1000), ticks(1, 100)), (125, 3000, 1));
        assert_eq!(hz("# CONFIG_HZ_100 is not set\nCONFIG_HZ_250=y\nCONFIG_HZ=250\n"), Some(250));
    }

    /// Needs root and a kernel with BPF, as CI has them.
    #[test]
    fn a_syn_without_an_answer_waits_as_long_as_was_set() {
        use std::process::Command;
        let run = |words: &str| {
            let mut words = words.split(' ');
            let output = Command::new(words.next().expect("a program")).args(words).output();
            let output = output.expect("iproute2 is installed");
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "this test needs root: {said}");
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        struct Namespace(String);
        impl Drop for Namespace {
            fn drop(&mut self) {
                let _ = Command::new("ip").args(["netns", "del", &self.0]).status();
            }
        }
        let namespace = Namespace(format!("weirrto{}", std::process::id()));
        let name = &namespace.0;
        run(&format!("ip netns add {name}"));
        run(&format!("ip -n {name} link add near type veth peer name far"));
        run(&format!("ip -n {name} addr add 10.9.0.1/24 dev near"));
        run(&format!("ip -n {name} link set near up"));
        run(&format!("ip -n {name} link set far up"));
        // Nobody has this address behind that one.
        run(&format!(
            "ip -n {name} neigh add 10.9.0.2 lladdr 02:00:00:00:00:01 dev near nud permanent"
        ));
        for ms in [500, 2000] {
            let guard = set(ms).expect("root, BPF and control groups of version 2");
            let mut client = Command::new("ip")
                .args(["netns", "exec", name, "bash", "-c", "exec 3<>/dev/tcp/10.9.0.2/80"])
                .spawn()
                .expect("bash is installed");
            let shown = loop {
                let shown = run(&format!("ip netns exec {name} ss -tinH state syn-sent"));
                if shown.contains("rto:") || client.try_wait().expect("a child").is_some() {
                    break shown;
                }
            };
            client.kill().expect("it waits");
            client.wait().expect("it was killed");
            assert!(shown.contains(&format!("rto:{ms} ")), "{shown}");
            drop(guard);
        }
    }
}
