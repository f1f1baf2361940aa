//! Openers of another version, and such as do what no opener should: Apache answers by itself, and has no
//! descriptor too many afterwards.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat, open};
use weir_opener::protocol::{Answer, Found, VERSION, Welcome};
use weir_peers::apache::Workers;

use crate::fake::{self, Answering};
use crate::server::{Apache, Checked, Start};
use crate::support::{eventually, open_directory};

const WELCOME: Welcome = Welcome { version: VERSION, accepted: true };

/// Requests of each run.
const REQUESTS: usize = 40;

/// Apache with this opener answers as if there were none. `said`: what its error log says then.
fn falls_back(welcome: Welcome, answering: Answering, said: &str) {
    // Only silence has to outlast the time: a short one.
    let lines = if said == "in time" { "WeirOpenerTimeout 50\n" } else { "" };
    for checked in [Checked::No, Checked::Sanitized] {
        let directory = open_directory();
        let root = directory.path().join("root");
        fs::create_dir(&root).unwrap();
        fs::write(root.join("a"), "of Apache itself").unwrap();
        let socket = directory.path().join("socket");
        fake::start(&socket, welcome, answering);
        let workers = Workers::Prefork(1);
        let start = Start { workers, checked, lines, ..Start::with(&socket) };
        let apache = Apache::start(&root, &directory.path().join("with"), start);
        assert_eq!(apache.get("/a").unwrap(), b"of Apache itself");
        let before = apache.descriptors();
        for _ in 0..REQUESTS {
            assert_eq!(apache.get("/a").unwrap(), b"of Apache itself");
        }
        apache.must_have_opened(0, REQUESTS + 1);
        // One connection to the opener more or less.
        eventually("no descriptor is left over", || apache.descriptors() <= before + 1);
        assert!(apache.errors().contains(said), "{said:?} not in {}", apache.errors());
    }
}

fn file() -> OwnedFd {
    File::open("/proc/version").unwrap().into()
}

#[test]
fn another_version() {
    let other = Welcome { version: VERSION + 1, accepted: false };
    falls_back(other, |_, _, _| true, "another version");
    // One that takes any.
    let other = Welcome { version: VERSION + 1, accepted: true };
    falls_back(other, |_, _, _| true, "another version");
}

#[test]
fn silence() {
    falls_back(WELCOME, |_, _, _| true, "in time");
}

#[test]
fn an_end_instead_of_an_answer() {
    falls_back(WELCOME, |_, _, _| false, "broken off");
}

#[test]
fn bytes_that_are_no_answer() {
    let answering: Answering = |connection, _, _| {
        connection.send(b"?", &[&file()]);
        true
    };
    falls_back(WELCOME, answering, "broken off");
    let answering: Answering = |connection, number, _| {
        let answer = Answer { number, found: Found::File }.encode();
        connection.send(&[&answer[..], b"and more"].concat(), &[&file()]);
        true
    };
    falls_back(WELCOME, answering, "broken off");
}

#[test]
fn answers_to_other_questions() {
    let answering: Answering = |connection, number, _| {
        for number in [number.wrapping_add(1), 0] {
            connection.send(&Answer { number, found: Found::File }.encode(), &[&file()]);
        }
        true
    };
    falls_back(WELCOME, answering, "in time");
}

#[test]
fn answers_to_other_questions_without_end() {
    let answering: Answering = |connection, number, _| {
        let other = Answer { number: number.wrapping_add(1), found: Found::NotTold(0) };
        connection.flood(&other.encode());
        false
    };
    falls_back(WELCOME, answering, "in time");
}

#[test]
fn a_file_without_a_descriptor() {
    let answering: Answering = |connection, number, _| {
        connection.send(&Answer { number, found: Found::File }.encode(), &[]);
        true
    };
    falls_back(WELCOME, answering, "");
}

#[test]
fn descriptors_that_nobody_has_asked_for() {
    let answering: Answering = |connection, number, _| {
        let answer = Answer { number, found: Found::NotTold(0) }.encode();
        connection.send(&answer, &[&file(), &file(), &file(), &file()]);
        true
    };
    falls_back(WELCOME, answering, "");
}

#[test]
fn a_descriptor_of_something_else() {
    // A directory for a file.
    let answering: Answering = |connection, number, _| {
        let directory = File::open("/proc").unwrap().into();
        connection.send(&Answer { number, found: Found::File }.encode(), &[&directory]);
        true
    };
    falls_back(WELCOME, answering, "");
}

/// The metadata of an index are Apache's own, and only then the opener passes something for it.
#[test]
fn a_fifo_for_an_index() {
    let answering: Answering = |connection, number, name| {
        if !name.ends_with(b"/index.html") {
            connection.send(&Answer { number, found: Found::NotTold(0) }.encode(), &[]);
            return true;
        }
        let fifo = Path::new(OsStr::from_bytes(name)).with_file_name("fifo");
        // To open it once more and wait would last until somebody writes.
        let reading = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fifo = open(fifo, reading, Mode::empty()).unwrap();
        connection.send(&Answer { number, found: Found::File }.encode(), &[&fifo]);
        true
    };
    for checked in [Checked::No, Checked::Sanitized] {
        let directory = open_directory();
        let root = directory.path().join("root");
        fs::create_dir(&root).unwrap();
        fs::write(root.join("index.html"), "of Apache itself").unwrap();
        mknodat(CWD, root.join("fifo"), FileType::Fifo, Mode::from_raw_mode(0o644), 0).unwrap();
        let socket = directory.path().join("socket");
        fake::start(&socket, WELCOME, answering);
        // Otherwise the name is compared with what was passed.
        let start = Start { options: "FollowSymLinks", checked, ..Start::with(&socket) };
        let apache = Apache::start(&root, &directory.path().join("with"), start);
        for _ in 0..REQUESTS {
            assert_eq!(apache.get("/").unwrap(), b"of Apache itself");
        }
    }
}

/// mod_dir has it looked up by a request of its own, and Apache goes on with that of the directory.
#[test]
fn an_index_is_asked_for_once() {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    let answering: Answering = |connection, number, name| {
        if !name.ends_with(b"/index.html") {
            connection.send(&Answer { number, found: Found::NotTold(0) }.encode(), &[]);
            return true;
        }
        ASKED.fetch_add(1, Ordering::Relaxed);
        let index = File::open(OsStr::from_bytes(name)).unwrap().into();
        connection.send(&Answer { number, found: Found::File }.encode(), &[&index]);
        true
    };
    let directory = open_directory();
    let root = directory.path().join("root");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("index.html"), "index").unwrap();
    let socket = directory.path().join("socket");
    fake::start(&socket, WELCOME, answering);
    for (options, checked) in [("None", Checked::No), ("FollowSymLinks", Checked::Sanitized)] {
        let start = Start { options, checked, ..Start::with(&socket) };
        let apache = Apache::start(&root, &directory.path().join(options), start);
        for asked in 1..=REQUESTS {
            assert_eq!(apache.get("/").unwrap(), b"index");
            assert_eq!(ASKED.load(Ordering::Relaxed), asked, "Options {options}");
        }
        apache.must_have_opened(REQUESTS, 0);
        ASKED.store(0, Ordering::Relaxed);
    }
}

#[test]
fn what_is_not_told_is_asked_once_a_request() {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    let answering: Answering = |connection, number, name| {
        ASKED.fetch_add(usize::from(name.ends_with(b"/root/a")), Ordering::Relaxed);
        connection.send(&Answer { number, found: Found::NotTold(0) }.encode(), &[]);
        true
    };
    let directory = open_directory();
    let root = directory.path().join("root");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("a"), "of Apache itself").unwrap();
    let socket = directory.path().join("socket");
    fake::start(&socket, WELCOME, answering);
    for options in ["None", "FollowSymLinks"] {
        let start = Start { options, ..Start::with(&socket) };
        let apache = Apache::start(&root, &directory.path().join(options), start);
        ASKED.store(0, Ordering::Relaxed);
        assert_eq!(apache.get("/a").unwrap(), b"of Apache itself");
        assert_eq!(ASKED.load(Ordering::Relaxed), 1, "Options {options}");
    }
}
