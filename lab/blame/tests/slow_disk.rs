//! A program that opens and reads a file on a disk that hangs: both sources must name the call and the
//! path. These tests need root, /dev/fuse and loop devices, as slowdisk does.

use std::cell::Cell;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use slowdisk::{Disk, Options as DiskOptions};
use weir_blame::{Blocked, Method, Options, watch};
use weir_peers::processes::family;

/// Guards against hanging. Nothing that works takes so long.
const DEADLINE: Duration = Duration::from_secs(30);

/// A disk with one file, which is not in memory.
struct Stand {
    disk: Disk,
    file: PathBuf,
    _at: tempfile::TempDir,
}

impl Stand {
    fn new() -> Stand {
        let at = tempfile::tempdir().expect("a directory");
        let disk = Disk::mount(&DiskOptions::new(at.path().join("disk"), 64 << 20))
            .expect("a disk can be made: this test needs root");
        let file = disk.path().join("file");
        fs::write(&file, vec![1; 300_000]).expect("a file is written");
        disk.remount().expect("the caches are emptied");
        Stand { disk, file, _at: at }
    }

    /// A program that reads the file, and is stuck in opening it.
    fn stuck(&self) -> Child {
        self.disk.hang(true);
        let child = Command::new("cat").arg(&self.file).stdout(Stdio::null()).spawn();
        let child = child.expect("there is cat");
        // Uninterruptible sleep in a call whose second argument is the path.
        let start = Instant::now();
        while !is_opening(child.id()) {
            assert!(start.elapsed() < DEADLINE, "the program never opens the file");
            std::thread::sleep(Duration::from_millis(2));
        }
        child
    }
}

fn is_opening(pid: u32) -> bool {
    let read = |file: &str| fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let opens = [syscalls::Sysno::openat, syscalls::Sysno::newfstatat].map(|call| call.id());
    let number = read("syscall").split(' ').next().and_then(|word| word.parse().ok());
    number.is_some_and(|number| opens.contains(&number)) && read("stat").contains(") D ")
}

fn named<'a>(rows: &'a [Blocked], path: &str) -> Vec<&'a str> {
    let same = |row: &&Blocked| row.path.as_deref() == Some(path);
    rows.iter().filter(same).map(|row| row.call.as_str()).collect()
}

#[test]
fn tracepoints_name_the_call_and_the_path_and_the_watch_ends_with_the_program() {
    let stand = Stand::new();
    let mut child = stand.stuck();
    let calls = Cell::new(0);
    let stop = || {
        // Between the first time and the second the call was found and named.
        if calls.replace(calls.get() + 1) == 1 {
            stand.disk.hang(false);
        }
        false
    };
    let options = Options { duration: DEADLINE, sample: false };
    let found = watch(&[child.id()], &options, &stop).expect("a watch");
    assert!(child.wait().expect("it ends").success());
    assert_eq!(found.method, Method::Tracepoints, "this test needs root outside of containers");
    assert!(found.ended, "{found:?}");
    let calls = named(&found.blocked, stand.file.to_str().expect("a path is text"));
    assert!(calls.contains(&"openat") || calls.contains(&"newfstatat"), "{found:#?}");
    // The disk is fast, so this call may have ended before its file was looked for.
    assert!(found.blocked.iter().any(|row| row.call == "read"), "{found:#?}");
    assert!(found.blocked.iter().all(|row| !row.in_event_loop), "{found:#?}");
    assert!(found.none_runnable().is_some_and(|share| share > 0.0), "{found:#?}");
}

#[test]
fn samples_name_them_too_and_the_watch_ends_when_it_is_told() {
    let stand = Stand::new();
    let mut child = stand.stuck();
    let rounds = Cell::new(0);
    let stop = || rounds.replace(rounds.get() + 1) > 20;
    let options = Options { duration: DEADLINE, sample: true };
    let found = watch(&[child.id()], &options, &stop).expect("a watch");
    stand.disk.hang(false);
    assert!(child.wait().expect("it ends").success());
    assert!(matches!(found.method, Method::Sampled { .. }) && !found.ended, "{found:#?}");
    let calls = named(&found.blocked, stand.file.to_str().expect("a path is text"));
    assert!(calls.contains(&"openat") || calls.contains(&"newfstatat"), "{found:#?}");
    assert_eq!((found.none_runnable(), found.ready), (Some(1.0), None));
}

#[test]
fn a_child_of_a_child_is_watched_from_its_start() {
    let stand = Stand::new();
    let mut shell = Command::new("sh");
    // The shell waits for a line, then starts the program that reads the file.
    shell.arg("-c").arg("read line; sh -c 'cat \"$0\"; true' \"$0\"").arg(&stand.file);
    let mut shell = shell.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("a shell");
    let line = Cell::new(shell.stdin.take());
    stand.disk.hang(true);
    let opening = Cell::new(0);
    let stop = || {
        // Dropped, the pipe is at its end, and the shell goes on.
        drop(line.take());
        opening.set(opening.get() + u32::from(family(shell.id()).into_iter().any(is_opening)));
        // From the first time on it was found and named.
        if opening.get() == 2 {
            stand.disk.hang(false);
        }
        false
    };
    let options = Options { duration: DEADLINE, sample: false };
    let found = watch(&[shell.id()], &options, &stop).expect("a watch");
    shell.wait().expect("it ends");
    assert!(found.ended && found.tasks >= 2, "{found:#?}");
    let calls = named(&found.blocked, stand.file.to_str().expect("a path is text"));
    assert!(calls.contains(&"openat") || calls.contains(&"newfstatat"), "{found:#?}");
    let text = serde_json::to_string(&found).expect("a report is JSON");
    let again: weir_blame::Report = serde_json::from_str(&text).expect("a report");
    assert_eq!((again.tasks, again.blocked.len()), (found.tasks, found.blocked.len()));
}
