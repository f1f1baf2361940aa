//! The opener is killed and started again under load: Apache answers every request. And threads of Apache
//! that end take their connections with them. What Apache's log says of it.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use rustix::fs::{Advice, fadvise};
use rustix::process::Signal;
use weir_peers::apache::{Asking, Workers};

use crate::kept::{KEEP, Kept};
use crate::server::{Apache, Checked, Start};
use crate::support::process::Process;
use crate::support::{eventually, open_directory};

/// Files that are asked for under load.
const FILES: usize = 20;
/// How often the opener is killed then.
const ROUNDS: usize = 3;

/// The content of the file of this number. No other has the same.
fn content(number: usize) -> Vec<u8> {
    vec![number as u8; 5000]
}

/// Makes the files. They are on the disk, so that they can be evicted from memory.
fn make_files(root: &Path) -> Vec<File> {
    let make = |number: usize| {
        let path = root.join(number.to_string());
        fs::write(&path, content(number)).unwrap();
        let file = File::open(path).unwrap();
        file.sync_all().unwrap();
        file
    };
    (0..FILES).map(make).collect()
}

/// Stops the load when dropped, so that a test that has failed ends.
struct Stopping<'a>(&'a AtomicBool);

impl Drop for Stopping<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn nothing_is_lost_when_the_opener_is_killed_under_load() {
    let directory = open_directory();
    let root = directory.path().join("root");
    fs::create_dir(&root).unwrap();
    let files = make_files(&root);
    for asking in [Asking::Always, Asking::WhereItBlocks] {
        for (name, workers, checked) in [
            ("prefork", Workers::Prefork(4), Checked::No),
            ("worker", Workers::Worker, Checked::No),
            ("event", Workers::Event, Checked::No),
            ("sanitized", Workers::Prefork(4), Checked::Sanitized),
        ] {
            let here = directory.path().join(format!("{name}-{asking:?}"));
            let start = Start { workers, asking, checked, ..Start::WITHOUT };
            kill_under_load(&root, &files, &here, start);
        }
    }
}

/// `here`: a name for what is made for it.
fn kill_under_load(root: &Path, files: &[File], here: &Path, start: Start<'_>) {
    let socket = here.with_extension("socket");
    let start = Start { socket: Some(&socket), ..start };
    let apache = Apache::start(root, here, start);
    let (stop, failed, sent) = (AtomicBool::new(false), AtomicUsize::new(0), AtomicUsize::new(0));
    // How many requests were answered with a file that was opened so, as the log has it.
    let count = |how: &str| apache.accesses().iter().filter(|(_, opened)| opened == how).count();
    std::thread::scope(|scope| {
        let _stopping = Stopping(&stop);
        for seed in 0..4_usize {
            let (apache, stop, failed, sent) = (&apache, &stop, &failed, &sent);
            scope.spawn(move || {
                for at in seed.. {
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    let number = at * 7 % FILES;
                    // Half of them are not in memory: the opener is asked for those whenever it is there.
                    if number.is_multiple_of(2) {
                        fadvise(&files[number], 0, None, Advice::DontNeed).unwrap();
                    }
                    if apache.get(&format!("/{number}")) != Some(content(number)) {
                        failed.fetch_add(1, Ordering::Relaxed);
                    }
                    sent.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for _ in 0..ROUNDS {
            let opener = Process::start(&socket, root, 1000);
            let before = count("file");
            eventually("the opener is asked again", || count("file") > before + 20);
            opener.signal(Signal::KILL);
            drop(opener);
            let before = count("-");
            eventually("Apache opens itself what it would ask for", || count("-") > before + 20);
        }
    });
    let (name, errors) = (here.display(), apache.errors());
    assert_eq!(failed.into_inner(), 0, "{name}: of {sent:?} requests; {errors}");
    assert!(errors.contains("answers again"), "{name}: {errors}");
}

#[test]
fn a_new_opener_is_asked_at_once() {
    let directory = open_directory();
    let root = directory.path().join("root");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("a"), "a").unwrap();
    let socket = directory.path().join("socket");
    let first = Process::start(&socket, &root, 1000);
    let start = Start { workers: Workers::Prefork(1), ..Start::with(&socket) };
    let apache = Apache::start(&root, &directory.path().join("with"), start);
    assert_eq!(apache.get("/a").unwrap(), b"a");
    // Nobody asks while there is none: no question fails.
    first.signal(Signal::KILL);
    drop(first);
    let _second = Process::start(&socket, &root, 1000);
    assert_eq!(apache.get("/a").unwrap(), b"a");
    apache.must_have_opened(2, 0);
}

#[test]
fn an_opener_that_hangs_is_left_alone_until_it_goes_on() {
    let directory = open_directory();
    let root = directory.path().join("root");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("a"), "a").unwrap();
    let socket = directory.path().join("socket");
    let opener = Process::start(&socket, &root, 1000);
    let start = Start { workers: Workers::Prefork(1), ..Start::with(&socket) };
    let apache = Apache::start(&root, &directory.path().join("with"), start);
    assert_eq!(apache.get("/a").unwrap(), b"a");
    apache.must_have_opened(1, 0);
    opener.stop();
    for _ in 0..20 {
        assert_eq!(apache.get("/a").unwrap(), b"a");
    }
    apache.must_have_opened(1, 20);
    assert!(apache.errors().contains("in time"), "{}", apache.errors());
    opener.signal(Signal::CONT);
    eventually("the opener is asked again", || {
        assert_eq!(apache.get("/a").unwrap(), b"a");
        apache.opened().0 > 1
    });
}

#[test]
fn a_process_says_once_that_the_opener_is_gone() {
    let directory = open_directory();
    let root = directory.path().join("root");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("a"), "a").unwrap();
    let socket = directory.path().join("socket");
    let lines = "StartServers 1\nServerLimit 1\nMaxRequestWorkers 25\n";
    let start = Start { workers: Workers::Event, lines, ..Start::with(&socket) };
    let apache = Apache::start(&root, &directory.path().join("with"), start);
    // Many threads find out at the same time.
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..10).for_each(|_| assert_eq!(apache.get("/a").unwrap(), b"a")));
        }
    });
    apache.must_have_opened(0, 80);
    assert_eq!(apache.errors().matches("opens files itself").count(), 1, "{}", apache.errors());
}

/// An opener that has connections for some threads only: one is answered and another is not, for ever.
#[test]
fn a_process_says_seldom_that_some_of_its_threads_are_turned_away() {
    let directory = open_directory();
    let root = directory.path().join("root");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("a"), "a").unwrap();
    let socket = directory.path().join("socket");
    // A quarter of them is for connections.
    let mut opener = Process::with_descriptors(64, &socket, &root);
    let lines =
        format!("{KEEP}StartServers 1\nServerLimit 1\nThreadsPerChild 40\nMaxRequestWorkers 40\n");
    let start = Start { workers: Workers::Worker, lines: &lines, ..Start::with(&socket) };
    let apache = Apache::start(&root, &directory.path().join("with"), start);
    let began = Instant::now();
    // Each has a thread.
    let mut clients: Vec<Kept> = (0..30).map(|_| Kept::connect(&apache)).collect();
    eventually("connections are turned away again and again", || {
        for kept in &mut clients {
            assert!(kept.request("GET", "/a").content() == Some(&b"a"[..]));
        }
        opener.counts()["turned away"] >= 10
    });
    let errors = apache.errors();
    // Of each kind one in 10 s.
    let most = 1 + began.elapsed().as_secs() as usize / 10;
    for said in ["turns connections away", "answers again"] {
        let lines = errors.matches(said).count();
        assert!((1..=most).contains(&lines), "{lines} of {said:?} in {errors}");
    }
}

/// Threads that mod_http2 has for its requests end when they have had nothing to do for some seconds.
#[test]
fn a_thread_that_ends_closes_its_connection() {
    let directory = open_directory();
    let root = directory.path().join("root");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("a"), "a").unwrap();
    let socket = directory.path().join("socket");
    let opener = Process::start(&socket, &root, 1000);
    let lines = "LoadModule http2_module /usr/lib/apache2/modules/mod_http2.so\n\
                 Protocols h2c http/1.1\nH2MinWorkers 1\nH2MaxWorkers 8\n\
                 H2MaxWorkerIdleSeconds 5\n\
                 StartServers 1\nServerLimit 1\nMaxRequestWorkers 25\n";
    let start = Start { workers: Workers::Event, lines, ..Start::with(&socket) };
    let apache = Apache::start(&root, &directory.path().join("with"), start);
    let before = opener.descriptors();
    let url = format!("http://{}/a", apache.address);
    let mut curl = Command::new("curl");
    curl.args([
        "--silent",
        "--fail",
        "--parallel",
        "--parallel-immediate",
        "--http2-prior-knowledge",
        // Apache, without the module too, leaves some of so many without an answer at times.
        "--max-time",
        "3",
    ])
    .args([&*url; 50]);
    let output = curl.output().unwrap();
    assert!(output.stdout.len() >= 8 && output.stdout.iter().all(|b| *b == b'a'), "{output:?}");
    let most = opener.descriptors();
    // One for the worker that stays, one for the file, and one to spare.
    assert!(most > before + 3, "{most}: too few threads have worked at once");
    eventually("connections are closed", || opener.descriptors() <= before + 3);
}
