//! Apache at its limit of open descriptors. With the module, which needs two more, it answers what it answers
//! without, loses none, and leaves the opener alone for a while. When there is room, it asks the opener again.

use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use weir_opener::protocol::{Answer, Found, VERSION, Welcome};
use weir_peers::apache::{Asking, Workers};

use crate::descriptors::{Process, accepted};
use crate::fake::{self, Answering};
use crate::kept::{self, KEEP, Kept};
use crate::server::{Apache, Checked, Start};
use crate::support::process::Process as Opener;
use crate::support::{eventually, open_directory};

/// Requests of a connection in a run.
const REQUESTS: usize = 100;
/// Connections that ask at once.
const CLIENTS: usize = 8;
/// More descriptors than a process with one connection needs.
const ENOUGH: usize = 100;
/// What a process says that has too few.
const SAID: &str = "while too many files are open";

/// The content of the file of this number. No other has the same.
fn content(number: usize) -> Vec<u8> {
    number.to_string().repeat(5000).into_bytes()
}

/// A site with a file for each client, which has its number for a name.
fn site(directory: &Path) -> PathBuf {
    let root = directory.join("root");
    fs::create_dir(&root).expect("there is none yet");
    for number in 0..CLIENTS {
        let path = root.join(number.to_string());
        fs::write(&path, content(number)).expect("room for it");
        // A change within the last second would make a weak tag.
        let past = SystemTime::now() - Duration::from_secs(3600);
        let file = File::options().write(true).open(path).expect("it was just written");
        file.set_modified(past).expect("it is ours");
    }
    root
}

/// An Apache of one process, which serves one connection.
struct Limited {
    apache: Apache,
    process: Process,
    kept: Kept,
    /// Requests so far.
    asked: usize,
}

impl Limited {
    fn start(root: &Path, directory: &Path, start: Start<'_>) -> Limited {
        let start = Start { workers: Workers::Prefork(1), lines: KEEP, ..start };
        let apache = Apache::start(root, directory, start);
        let kept = accepted(&apache);
        let process = Process::of(&apache);
        Limited { apache, process, kept, asked: 1 }
    }

    fn get(&mut self) -> kept::Answer {
        self.asked += 1;
        self.kept.request("GET", "/0")
    }

    /// How many requests were answered with a file of the opener so far.
    fn of_opener(&self) -> usize {
        eventually("all requests are in the log", || self.apache.accesses().len() == self.asked);
        self.apache.opened().0
    }

    /// Gives it room, and waits until it has files from the opener. It has a connection to it then.
    fn until_the_opener_is_asked(&mut self) {
        self.process.allow(ENOUGH);
        eventually("the opener is asked", || {
            let before = self.of_opener();
            let answer = self.get();
            assert!(answer.content() == Some(content(0).as_slice()), "{}", answer.head);
            self.of_opener() > before
        });
    }
}

#[test]
fn with_few_descriptors_it_answers_what_it_answers_without_the_module() {
    for checked in [Checked::No, Checked::Sanitized] {
        compare(checked);
    }
}

fn compare(checked: Checked) {
    let directory = open_directory();
    let root = site(directory.path());
    let socket = directory.path().join("socket");
    let mut opener = Opener::start(&socket, &root, 1000);
    let start = Start { checked, ..Start::WITHOUT };
    let mut plain = Limited::start(&root, &directory.path().join("plain"), start);
    let start = Start { socket: Some(&socket), ..start };
    let mut with = Limited::start(&root, &directory.path().join("with"), start);
    // The connection to the opener is one of them. With 1, what the opener passes finds no room, and Apache
    // has the descriptor of the connection for the file. With 0, neither has any. With 2, what the opener
    // passes leaves none for Apache's look at .htaccess, which then refuses the request.
    for more in [ENOUGH, 3, 2, 1, 0] {
        with.until_the_opener_is_asked();
        let (of_opener, before) = (with.of_opener(), opener.counts());
        plain.process.allow(more);
        with.process.allow(more);
        must_answer_alike(&mut plain, &mut with, more);
        let (of_opener, after) = (with.of_opener() - of_opener, opener.counts());
        match more {
            ENOUGH => assert_eq!(of_opener, REQUESTS),
            0 | 1 => assert_eq!(of_opener, 0),
            _ => {}
        }
        assert!(after["questions"] > before["questions"], "{more}: nothing was asked");
        // After each failure it waits twice as long to connect.
        let connections = after["connections"] - before["connections"];
        assert!(connections < REQUESTS as u64 / 2, "{more}: {connections} connections");
        plain.process.must_have_the_first_and(0);
        with.process.must_have_the_first_and(1);
    }
    with.until_the_opener_is_asked();
    with.process.must_have_the_first_and(1);
    let errors = with.apache.errors();
    assert!(errors.contains(SAID) && errors.contains("answers again"), "{errors}");
}

/// With and without the module, when so many `more` files may be open.
#[track_caller]
fn must_answer_alike(plain: &mut Limited, with: &mut Limited, more: usize) {
    let right = (more > 0).then(|| content(0));
    for _ in 0..REQUESTS {
        let (expected, found) = (plain.get(), with.get());
        let heads = format!("{more}, without:\n{}with:\n{}", expected.head, found.head);
        // What the opener passed left no descriptor for Apache's look at .htaccess.
        if more == 2 && found.head.starts_with("HTTP/1.1 403 ") {
            continue;
        }
        assert!(expected == found, "{heads}{}", with.apache.errors());
        assert!(found.content() == right.as_deref(), "{heads}");
    }
}

/// To look at what is in memory takes two descriptors, which are closed again before Apache opens the file.
#[test]
fn what_is_in_memory_is_answered_as_without_the_module() {
    for checked in [Checked::No, Checked::Sanitized] {
        let directory = open_directory();
        let root = site(directory.path());
        let socket = directory.path().join("socket");
        let _opener = Opener::start(&socket, &root, 1000);
        let start = Start { checked, asking: Asking::WhereItBlocks, ..Start::WITHOUT };
        let mut plain = Limited::start(&root, &directory.path().join("plain"), start);
        let start = Start { socket: Some(&socket), ..start };
        let mut with = Limited::start(&root, &directory.path().join("with"), start);
        for more in [ENOUGH, 3, 2, 1, 0] {
            plain.process.allow(more);
            with.process.allow(more);
            must_answer_alike(&mut plain, &mut with, more);
            plain.process.must_have_the_first_and(0);
            with.process.must_have_the_first_and(1);
        }
    }
}

/// The kernel passes as many as there is room for.
#[test]
fn of_several_descriptors_those_that_found_room_are_closed() {
    let answering: Answering = |connection, number, _| {
        let file: OwnedFd = File::open("/proc/version").unwrap().into();
        let answer = Answer { number, found: Found::NotTold(0) }.encode();
        connection.send(&answer, &[&file; 4]);
        true
    };
    let directory = open_directory();
    let root = site(directory.path());
    let socket = directory.path().join("socket");
    fake::start(&socket, Welcome { version: VERSION, accepted: true }, answering);
    let mut with = Limited::start(&root, &directory.path().join("with"), Start::with(&socket));
    assert!(with.get().content() == Some(content(0).as_slice()));
    assert!(!with.apache.errors().contains(SAID), "{}", with.apache.errors());
    // One is the connection's.
    with.process.allow(3);
    for _ in 0..REQUESTS {
        assert!(with.get().content() == Some(content(0).as_slice()), "{}", with.apache.errors());
    }
    assert!(with.apache.errors().contains(SAID), "{}", with.apache.errors());
    with.process.must_have_the_first_and(1);
}

#[test]
fn threads_that_share_the_last_descriptors_send_no_wrong_bytes_and_go_on_when_there_is_room() {
    for checked in [Checked::No, Checked::Sanitized] {
        crowd(checked);
    }
}

/// Connections that only wait take the descriptors, until they are closed. Each has a thread.
fn crowd(checked: Checked) {
    const WAITING: usize = 30;
    let directory = open_directory();
    let root = site(directory.path());
    let socket = directory.path().join("socket");
    let _opener = Opener::start(&socket, &root, 1000);
    let lines =
        format!("{KEEP}StartServers 1\nServerLimit 1\nThreadsPerChild 40\nMaxRequestWorkers 40\n");
    let workers = Workers::Worker;
    let start = Start { workers, checked, lines: &lines, ..Start::with(&socket) };
    let apache = Apache::start(&root, &directory.path().join("with"), start);
    let waiting: Vec<Kept> = (0..WAITING).map(|_| accepted(&apache)).collect();
    let mut clients: Vec<Kept> = (0..CLIENTS).map(|_| accepted(&apache)).collect();
    let process = Process::of(&apache);
    assert_eq!(answered(&mut clients), CLIENTS * REQUESTS);
    for more in [2, 0] {
        process.allow(more);
        answered(&mut clients);
    }
    assert!(apache.errors().contains(SAID), "{}", apache.errors());
    // The limit stays. What they leave is enough for three of each client: a connection to the opener, what
    // came over it, and what is sent.
    drop(waiting);
    eventually("nobody is refused", || answered(&mut clients) == CLIENTS * REQUESTS);
    let (before, _) = apache.opened();
    eventually("the opener is asked again", || {
        answered(&mut clients);
        // The last request of each may not have been in the log before.
        apache.opened().0 > before + CLIENTS
    });
    process.must_have_at_most(process.first() - WAITING + CLIENTS);
}

/// Asks over all connections at once, each for a file of its own. Returns how many requests were answered with
/// that file; the others were refused.
fn answered(clients: &mut [Kept]) -> usize {
    std::thread::scope(|scope| {
        let asking: Vec<_> = clients
            .iter_mut()
            .enumerate()
            .map(|(number, kept)| {
                scope.spawn(move || (0..REQUESTS).filter(|_| is_answered(number, kept)).count())
            })
            .collect();
        asking.into_iter().map(|asking| asking.join().expect("all answers are right")).sum()
    })
}

/// Whether the file of this number is sent. If not, it must be refused as Apache itself refuses it.
fn is_answered(number: usize, kept: &mut Kept) -> bool {
    let answer = kept.request("GET", &format!("/{number}"));
    match answer.content() {
        Some(found) => assert!(found == content(number), "{}", answer.head),
        None => assert!(answer.has_status(403), "{}", answer.head),
    }
    answer.has_status(200)
}
