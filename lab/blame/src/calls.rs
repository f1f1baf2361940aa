//! What is known of system calls: their names, where their arguments name a file, and which of them
//! are there to wait. The ledger sorts by it, and `names` reads the arguments.

use std::borrow::Cow;
use std::sync::LazyLock;

use syscalls::Sysno;

use crate::event::{Call, State};

/// A stretch outside of system calls: only a page fault makes a program wait there.
pub(crate) const PAGE_FAULT: i64 = -1;
/// A call that was entered before anybody watched, or while events were lost.
pub(crate) const UNKNOWN: i64 = -2;

/// Larger than every number of a call.
const MOST: usize = 1024;

/// The argument that names a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Subject {
    Nothing,
    /// A path, below the directory whose descriptor is argument `at`.
    Path {
        at: Option<usize>,
        path: usize,
    },
    /// A descriptor.
    Descriptor(usize),
}

/// What an interruptible sleep in a call is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sleep {
    /// Something to do: it is no fault.
    Work,
    /// The other end of a connection.
    Peer,
    /// The other end if the descriptor is a socket or pipe, the file system if it is a file.
    ByDescriptor,
    /// What the call is for: the file system, mostly.
    Itself,
}

/// What is known of one call.
#[derive(Clone, Debug)]
pub(crate) struct About {
    pub(crate) name: Cow<'static, str>,
    pub(crate) subject: Subject,
    sleep: Sleep,
}

impl About {
    /// Whether a sleep in this state, on a file of this name if there is one, is a wait for work or
    /// for another program, and not the fault of the call. Uninterruptible sleep always is a fault:
    /// the kernel sleeps so for disks and for its own locks.
    pub(crate) fn is_wait(&self, state: State, name: Option<&str>) -> bool {
        match (state, self.sleep) {
            (State::Uninterruptible, _) | (_, Sleep::Itself) => false,
            (_, Sleep::Work | Sleep::Peer) => true,
            (_, Sleep::ByDescriptor) => !name.is_some_and(is_file),
        }
    }

    /// Whether one wants to know the file of a call that sleeps in this state.
    pub(crate) fn asks_name(&self, state: State) -> bool {
        let decides = state == State::Uninterruptible
            || matches!(self.sleep, Sleep::ByDescriptor | Sleep::Itself);
        decides && self.subject != Subject::Nothing
    }
}

/// A name that the kernel has for a descriptor: files have paths, and sockets and pipes have none.
fn is_file(name: &str) -> bool {
    name.starts_with('/') && !name.starts_with("/dev/")
}

/// What is known of the call of this number.
pub(crate) fn about(number: i64) -> About {
    static TABLE: LazyLock<Vec<Option<About>>> = LazyLock::new(|| {
        let of = |number| Sysno::new(number).map(|call| known(call.name()));
        (0..MOST).map(of).collect()
    });
    let found = usize::try_from(number).ok().and_then(|number| TABLE.get(number)?.clone());
    found.unwrap_or_else(|| About {
        name: match number {
            PAGE_FAULT => "page fault".into(),
            UNKNOWN => "unknown call".into(),
            number => format!("call {number}").into(),
        },
        subject: Subject::Nothing,
        // A task that sleeps so outside of a call is stopped by a signal or a debugger.
        sleep: if number < 0 { Sleep::Work } else { Sleep::Itself },
    })
}

/// Whether a call is the wait of an event loop: its return says how many descriptors are ready, and
/// what follows, up to the next such call, is one turn. A poll of a single descriptor is none:
/// programs wait so for one client. Neither is a select of none: programs sleep so.
pub(crate) fn is_loop_wait(call: &Call) -> bool {
    static NUMBERS: LazyLock<[Vec<i64>; 3]> = LazyLock::new(|| {
        let of = |names: &[&str]| {
            let is =
                |number: &usize| Sysno::new(*number).is_some_and(|c| names.contains(&c.name()));
            (0..MOST).filter(is).map(|number| number as i64).collect()
        };
        [
            of(&["epoll_wait", "epoll_pwait", "epoll_pwait2"]),
            of(&["poll", "ppoll"]),
            of(&["select", "pselect6"]),
        ]
    });
    let [epoll, poll, select] = &*NUMBERS;
    let [first, second, third, fourth, ..] = call.arguments;
    // The upper half of the register of a count is of no account.
    epoll.contains(&call.number)
        || (poll.contains(&call.number) && second as u32 > 1)
        || (select.contains(&call.number) && first as u32 > 0 && (second | third | fourth) != 0)
}

/// The descriptor that a call closes.
pub(crate) fn closes(call: &Call) -> Option<u64> {
    (about(call.number).name == "close").then_some(call.arguments[0])
}

/// Whether a call begins another program.
pub(crate) fn executes(call: &Call) -> bool {
    matches!(&*about(call.number).name, "execve" | "execveat")
}

/// The number of a call, for tests.
#[cfg(test)]
pub(crate) fn number_of(name: &str) -> i64 {
    let found =
        (0..MOST).find(|&number| Sysno::new(number).is_some_and(|call| call.name() == name));
    found.unwrap_or_else(|| panic!("no call {name}")) as i64
}

fn known(name: &'static str) -> About {
    About { name: name.into(), subject: subject(name), sleep: sleep(name) }
}

fn subject(name: &str) -> Subject {
    match name {
        "access" | "chdir" | "chmod" | "chown" | "creat" | "execve" | "getxattr" | "lchown"
        | "lgetxattr" | "link" | "listxattr" | "lstat" | "mkdir" | "mknod" | "open"
        | "readlink" | "rename" | "rmdir" | "stat" | "statfs" | "truncate" | "unlink" | "utime"
        | "utimes" => Subject::Path { at: None, path: 0 },
        "execveat" | "faccessat" | "faccessat2" | "fchmodat" | "fchownat" | "futimesat"
        | "linkat" | "mkdirat" | "mknodat" | "name_to_handle_at" | "newfstatat" | "openat"
        | "openat2" | "readlinkat" | "renameat" | "renameat2" | "statx" | "unlinkat"
        | "utimensat" => Subject::Path { at: Some(0), path: 1 },
        "cachestat" | "close" | "copy_file_range" | "fadvise64" | "fallocate" | "fcntl"
        | "fdatasync" | "fgetxattr" | "flock" | "fstat" | "fstatfs" | "fsync" | "ftruncate"
        | "getdents" | "getdents64" | "ioctl" | "lseek" | "pread64" | "preadv" | "preadv2"
        | "pwrite64" | "pwritev" | "pwritev2" | "read" | "readahead" | "readv" | "splice"
        | "sync_file_range" | "syncfs" | "tee" | "vmsplice" | "write" | "writev" => {
            Subject::Descriptor(0)
        }
        // From the file, to the socket.
        "sendfile" => Subject::Descriptor(1),
        "mmap" => Subject::Descriptor(4),
        _ => Subject::Nothing,
    }
}

fn sleep(name: &str) -> Sleep {
    match name {
        "clock_nanosleep" | "epoll_pwait" | "epoll_pwait2" | "epoll_wait" | "futex"
        | "futex_wait" | "futex_waitv" | "io_getevents" | "io_pgetevents" | "io_uring_enter"
        | "mq_timedreceive" | "msgrcv" | "nanosleep" | "pause" | "poll" | "ppoll" | "pselect6"
        | "restart_syscall" | "rt_sigsuspend" | "rt_sigtimedwait" | "select" | "semop"
        | "semtimedop" | "wait4" | "waitid" => Sleep::Work,
        "accept" | "accept4" | "connect" | "recvfrom" | "recvmmsg" | "recvmsg" | "sendfile"
        | "sendmmsg" | "sendmsg" | "sendto" | "splice" | "tee" | "vmsplice" => Sleep::Peer,
        "ioctl" | "read" | "readv" | "write" | "writev" => Sleep::ByDescriptor,
        _ => Sleep::Itself,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, second: u64) -> Call {
        Call { number: number_of(name), arguments: [3, second, 0, 0, 0, 0] }
    }

    #[test]
    fn every_call_that_is_mentioned_has_its_number_name_and_subject() {
        for (name, subject) in [
            ("openat", Subject::Path { at: Some(0), path: 1 }),
            ("statx", Subject::Path { at: Some(0), path: 1 }),
            ("sendfile", Subject::Descriptor(1)),
            ("read", Subject::Descriptor(0)),
            ("epoll_pwait", Subject::Nothing),
        ] {
            let about = about(number_of(name));
            assert_eq!((&*about.name, about.subject), (name, subject));
        }
        assert_eq!(about(PAGE_FAULT).name, "page fault");
        assert_eq!(about(100_000).name, "call 100000");
    }

    #[test]
    fn only_interruptible_sleep_for_work_or_for_peers_is_a_wait() {
        let wait = |name, file| about(number_of(name)).is_wait(State::Interruptible, file);
        assert!(wait("epoll_pwait", None) && wait("futex", None) && wait("accept4", None));
        assert!(wait("read", Some("socket")) && wait("read", None) && wait("sendfile", None));
        assert!(!wait("read", Some("/srv/a")) && !wait("openat", None) && !wait("fsync", None));
        let held = |name| about(number_of(name)).is_wait(State::Uninterruptible, None);
        assert!(!held("epoll_pwait") && !held("read") && !held("sendfile"));
    }

    #[test]
    fn event_loops_wait_for_several_descriptors() {
        assert!(is_loop_wait(&call("epoll_pwait", 0)));
        assert!(is_loop_wait(&call("ppoll", 2)) && !is_loop_wait(&call("ppoll", 1)));
        assert!(!is_loop_wait(&call("read", 2)));
        let select = |arguments| is_loop_wait(&Call { number: number_of("pselect6"), arguments });
        assert!(select([8, 0x7f00, 0, 0, 0, 0]) && select([8, 0, 0x7f00, 0, 0, 0]));
        // Sleep: no sets, or nothing of them.
        assert!(!select([8, 0, 0, 0, 0x7f00, 0]) && !select([0, 0x7f00, 0, 0, 0x7f00, 0]));
        assert_eq!((closes(&call("close", 0)), closes(&call("read", 0))), (Some(3), None));
    }
}
