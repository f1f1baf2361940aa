//! A disk that fails below Apache's files: what cannot be read is answered as without the module, and the same
//! process goes on with all else. This test needs root, /dev/fuse and loop devices.

use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use weir_peers::apache::{Asking, Workers};

use crate::server::{Apache, Start, request};
use crate::support::disk::{Trouble, two_files};
use crate::support::open_directory;
use crate::support::process::Process;

#[test]
fn what_cannot_be_read_is_answered_as_without_the_module() {
    let directory = open_directory();
    let at = directory.path().join("disk");
    fs::create_dir(&at).unwrap();
    let disk = two_files(&at);
    for name in ["hot", "cold"] {
        // A change within the last second would make a weak tag.
        let past = SystemTime::now() - Duration::from_secs(3600);
        File::options().write(true).open(at.join(name)).unwrap().set_modified(past).unwrap();
    }
    let mut opener = Process::start(&directory.path().join("socket"), &at, 0);
    // One process each: it has the next request, too.
    let start = Start { workers: Workers::Prefork(1), ..Start::WITHOUT };
    let plain = Apache::start(&at, &directory.path().join("plain"), start);
    let with = [Asking::Always, Asking::WhereItBlocks].map(|asking| {
        let start = Start { asking, socket: Some(&opener.socket), ..start };
        Apache::start(&at, &directory.path().join(format!("{asking:?}")), start)
    });
    let (hot, cold) = (b"hot".repeat(5000), b"cold".repeat(5000));
    let question = request("GET", "/cold", "");
    let trouble = Trouble(&disk);
    disk.fail_reads(true);
    let expected = plain.answer(&question);
    assert!(!expected.ends_with(&cold), "it could be read");
    for apache in &with {
        let before = opener.counts()["not told"];
        let found = apache.answer(&question);
        let shown = |answer: &[u8]| String::from_utf8_lossy(answer).into_owned();
        let (without, with) = (shown(&expected), shown(&found));
        assert!(found == expected, "without:\n{without}\nwith:\n{with}\n{}", apache.errors());
        assert_eq!(opener.counts()["not told"], before + 1);
        assert!(apache.get("/hot").unwrap() == hot);
    }
    drop(trouble);
    for apache in &with {
        assert!(apache.get("/cold").unwrap() == cold);
        assert!(!apache.errors().contains("opens files itself"), "{}", apache.errors());
    }
    // Always: all but the one that failed.
    with[0].must_have_opened(2, 1);
    drop((plain, with, opener));
    disk.unmount().unwrap();
}
