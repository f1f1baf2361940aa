//! A disk that hangs below Apache's files, and the opener's helpers with it.

use std::fs;

use weir_peers::apache::Workers;

use crate::kept::Kept;
use crate::server::{Apache, Start};
use crate::support::disk::{Trouble, two_files};
use crate::support::process::Process;
use crate::support::{eventually, open_directory};

/// Requests that wait for the disk, each in a process of Apache.
const WAITING: usize = 4;
/// Requests for what is in memory.
const REQUESTS: usize = 50;

#[test]
fn helpers_that_hang_keep_nobody_from_what_is_in_memory() {
    let directory = open_directory();
    let at = directory.path().join("disk");
    fs::create_dir(&at).unwrap();
    let disk = two_files(&at);
    let content = |number: usize| number.to_string().repeat(5000).into_bytes();
    for number in 0..WAITING {
        fs::write(at.join(number.to_string()), content(number)).unwrap();
    }
    disk.remount().unwrap();
    let mut opener = Process::start(&directory.path().join("socket"), &at, 0);
    // Nobody gives the opener up before the disk goes on.
    let start = Start {
        workers: Workers::Prefork(2 * WAITING as u32),
        lines: "WeirOpenerTimeout 600000\n",
        ..Start::with(&opener.socket)
    };
    let apache = Apache::start(&at, &directory.path().join("with"), start);
    let hot = b"hot".repeat(5000);
    assert!(apache.get("/hot").unwrap() == hot);
    let asked = opener.counts()["questions"];
    let trouble = Trouble(&disk);
    disk.hang(true);
    let mut waiting: Vec<Kept> = (0..WAITING).map(|_| Kept::connect(&apache)).collect();
    for (number, kept) in waiting.iter_mut().enumerate() {
        kept.ask("GET", &format!("/{number}"));
    }
    eventually("the opener is asked for all of them", || {
        opener.counts()["questions"] == asked + WAITING as u64
    });
    for _ in 0..REQUESTS {
        assert!(apache.get("/hot").unwrap() == hot);
    }
    apache.must_have_opened(1 + REQUESTS, 0);
    drop(trouble);
    for (number, kept) in waiting.iter_mut().enumerate() {
        assert!(kept.answer().content() == Some(content(number).as_slice()));
    }
    apache.must_have_opened(1 + REQUESTS + WAITING, 0);
    drop((apache, opener));
    disk.unmount().unwrap();
}
