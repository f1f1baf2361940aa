//! The opener is asked where Apache would wait for the disk, and only there.

use std::fs;
use std::os::unix::fs::chown;
use std::path::Path;

use rustix::process::Signal;
use slowdisk::{Disk, Options};
use weir_peers::apache::Asking;

use crate::kept::Kept;
use crate::server::{Apache, Checked, Start, request};
use crate::support::client::Client;
use crate::support::disk::Trouble;
use crate::support::process::Process;
use crate::support::{eventually, open_directory};

/// Debian's number of Apache's user. cachestat(2) tells it what of its own files is in memory; what of others'
/// is, it finds out by reads that do not wait.
const WWW_DATA: u32 = 33;
const ROOT: u32 = 0;
/// Requests for what is in memory.
const REQUESTS: usize = 50;

/// A file of several pages.
fn content(name: &str) -> Vec<u8> {
    name.repeat(5000).into_bytes()
}

/// A disk with two files that are in memory, one of which only the name is, and one of which not even that.
fn disk(at: &Path, owner: u32) -> Disk {
    // Reads that cause writes would wait for a disk that hangs.
    let like = Options { no_access_times: true, ..Options::new(at, 200 << 20) };
    let disk = Disk::mount(&like);
    let disk = disk.expect("a disk can be made: this test needs root");
    fs::create_dir(at.join("d")).unwrap();
    for name in ["hot", "d/index.html", "cold", "unseen"] {
        fs::write(at.join(name), content(name)).unwrap();
        chown(at.join(name), Some(owner), None).unwrap();
    }
    disk.remount().unwrap();
    assert!(fs::read(at.join("hot")).is_ok() && fs::read(at.join("d/index.html")).is_ok());
    assert!(fs::metadata(at.join("cold")).is_ok());
    disk
}

/// Does something with an Apache that asks where it would block. Nobody gives the opener up before a disk that
/// hangs goes on.
fn on_a_disk(owner: u32, start: Start<'_>, test: impl FnOnce(&Apache, &mut Process, &Disk)) {
    let directory = open_directory();
    let at = directory.path().join("disk");
    fs::create_dir(&at).unwrap();
    let disk = disk(&at, owner);
    let mut opener = Process::start(&directory.path().join("socket"), &at, 1000);
    let lines = format!("WeirOpenerTimeout 600000\n{}", start.lines);
    let apache = {
        let (asking, socket) = (Asking::WhereItBlocks, Some(&*opener.socket));
        let start = Start { asking, socket, lines: &lines, ..start };
        Apache::start(&at, &directory.path().join("with"), start)
    };
    test(&apache, &mut opener, &disk);
    drop((apache, opener));
    disk.unmount().unwrap();
}

fn asked(opener: &mut Process) -> u64 {
    opener.counts()["questions"]
}

/// Asks for something that is in memory until Apache has it without the opener. The first times its user may
/// have no rights in a directory that the kernel can tell from memory.
fn until_not_asked(apache: &Apache, opener: &mut Process, path: &str) {
    eventually("the opener is not asked", || {
        let before = asked(opener);
        apache.answer(&request("GET", path, ""));
        asked(opener) == before
    });
}

#[test]
fn the_opener_is_asked_for_what_is_not_in_memory_only() {
    for (owner, options, checked) in [
        (ROOT, "FollowSymLinks", Checked::No),
        (ROOT, "None", Checked::Sanitized),
        (WWW_DATA, "FollowSymLinks", Checked::Sanitized),
        (WWW_DATA, "None", Checked::No),
    ] {
        let start = Start { options, checked, ..Start::WITHOUT };
        on_a_disk(owner, start, |apache, opener, disk| {
            until_not_asked(apache, opener, "/hot");
            for name in ["cold", "unseen"] {
                let path = format!("/{name}");
                let before = asked(opener);
                let trouble = Trouble(disk);
                disk.hang(true);
                let mut waiting = Kept::connect(apache);
                waiting.ask("GET", &path);
                eventually("the opener is asked", || asked(opener) == before + 1);
                for _ in 0..REQUESTS {
                    assert!(apache.get("/hot").unwrap() == content("hot"));
                }
                drop(trouble);
                assert!(waiting.answer().content() == Some(content(name).as_slice()));
                // The opener has brought it there.
                assert!(apache.get(&path).unwrap() == content(name));
                assert_eq!(asked(opener), before + 1, "{name} of {owner}, Options {options}");
            }
            eventually("all requests are in the log", || {
                let lines = apache.accesses();
                let count = |path: &str, how: &str| {
                    lines.iter().filter(|(of, opened)| of == path && opened == how).count()
                };
                let cold = ["/cold", "/unseen"]
                    .map(|path| (count(path, "file"), count(path, "memory")) == (1, 1));
                count("/hot", "memory") > 2 * REQUESTS && cold == [true; 2]
            });
        });
    }
}

#[test]
fn directories_and_what_is_not_there_are_in_memory_too() {
    for owner in [ROOT, WWW_DATA] {
        on_a_disk(owner, Start::WITHOUT, |apache, opener, _| {
            for path in ["/d/", "/d", "/missing", "/d/missing"] {
                until_not_asked(apache, opener, path);
            }
            let before = asked(opener);
            for _ in 0..REQUESTS {
                assert!(apache.get("/d/").unwrap() == content("d/index.html"));
                for (path, status) in [("/d", 301), ("/missing", 404), ("/d/missing", 404)] {
                    let answer = apache.answer(&request("GET", path, ""));
                    let expected = format!("HTTP/1.1 {status} ");
                    assert!(answer.starts_with(expected.as_bytes()), "{path}");
                }
            }
            assert_eq!(asked(opener), before);
        });
    }
}

#[test]
fn an_opener_that_is_gone_is_missed_where_it_is_needed() {
    on_a_disk(ROOT, Start::WITHOUT, |apache, opener, _| {
        until_not_asked(apache, opener, "/hot");
        opener.signal(Signal::KILL);
        eventually("it is gone", || Client::connect(&opener.socket).is_none());
        for _ in 0..REQUESTS {
            assert!(apache.get("/hot").unwrap() == content("hot"));
        }
        assert!(!apache.errors().contains("opens files itself"), "{}", apache.errors());
        assert!(apache.get("/unseen").unwrap() == content("unseen"));
        assert!(apache.errors().contains("opens files itself"), "{}", apache.errors());
    });
}

#[test]
fn where_the_kernel_cannot_tell_each_request_is_asked_for() {
    on_a_disk(WWW_DATA, Start { checked: Checked::OldKernel, ..Start::WITHOUT }, |apache, _, _| {
        for _ in 0..REQUESTS {
            assert!(apache.get("/hot").unwrap() == content("hot"));
        }
        apache.must_have_opened(REQUESTS, 0);
    });
}

/// Where it warms nothing, the name is enough.
#[test]
fn no_more_is_looked_at_than_the_opener_would_warm() {
    let lines = "WeirOpenerWarm 0\n";
    on_a_disk(WWW_DATA, Start { lines, ..Start::WITHOUT }, |apache, opener, _| {
        until_not_asked(apache, opener, "/hot");
        let before = asked(opener);
        assert!(apache.get("/cold").unwrap() == content("cold"));
        assert_eq!(asked(opener), before);
    });
}
