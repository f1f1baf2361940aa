//! Files that change while they are open: what is answered is what the name stands for, within the time
//! that a name is trusted.

use std::fs::{self, File};
use std::os::unix::fs::symlink;

use weir_opener::protocol::Found;

use crate::support::client::Client;
use crate::support::process::Process;
use crate::support::{eventually, open_directory};

#[test]
fn without_trust_every_change_shows_at_once() {
    let directory = open_directory();
    let (path, other) = (directory.path().join("f"), directory.path().join("g"));
    let opener = Process::start(&directory.path().join("socket"), directory.path(), 0);
    let mut client = Client::connect(&opener.socket).unwrap();
    let mut reads = || client.read(&path);
    assert_eq!(reads(), None);
    fs::write(&path, "one").unwrap();
    assert_eq!(reads().unwrap(), b"one");
    // Written in place: the same file.
    fs::write(&path, "second").unwrap();
    assert_eq!(reads().unwrap(), b"second");
    File::options().write(true).open(&path).unwrap().set_len(3).unwrap();
    assert_eq!(reads().unwrap(), b"sec");
    // Replaced.
    fs::write(&other, "third").unwrap();
    fs::rename(&other, &path).unwrap();
    assert_eq!(reads().unwrap(), b"third");
    // Deleted, and then a directory.
    fs::remove_file(&path).unwrap();
    assert_eq!(reads(), None);
    fs::create_dir(&path).unwrap();
    assert_eq!(client.found(&path).0, Found::Directory);
}

#[test]
fn with_trust_a_change_shows_in_a_while() {
    let directory = open_directory();
    let (path, other) = (directory.path().join("f"), directory.path().join("g"));
    fs::write(&path, "one").unwrap();
    let opener = Process::start(&directory.path().join("socket"), directory.path(), 300);
    let mut client = Client::connect(&opener.socket).unwrap();
    assert_eq!(client.read(&path).unwrap(), b"one");
    fs::write(&other, "two").unwrap();
    fs::rename(&other, &path).unwrap();
    eventually("the new file is read", || client.read(&path).unwrap() == b"two");
    fs::remove_file(&path).unwrap();
    eventually("the file is gone", || client.read(&path).is_none());
}

#[test]
fn a_root_that_is_a_link_can_be_turned_to_another() {
    let directory = open_directory();
    for release in ["one", "two"] {
        fs::create_dir(directory.path().join(release)).unwrap();
        fs::write(directory.path().join(release).join("f"), release).unwrap();
    }
    let (root, new) = (directory.path().join("root"), directory.path().join("new"));
    symlink("one", &root).unwrap();
    let opener = Process::start(&directory.path().join("socket"), &root, 0);
    let mut client = Client::connect(&opener.socket).unwrap();
    assert_eq!(client.read(&root.join("f")).unwrap(), b"one");
    symlink("two", &new).unwrap();
    fs::rename(&new, &root).unwrap();
    assert_eq!(client.read(&root.join("f")).unwrap(), b"two");
}

#[test]
fn a_directory_that_becomes_a_link_out_of_the_root_leads_nowhere() {
    let directory = open_directory();
    let (root, outside) = (directory.path().join("root"), directory.path().join("outside"));
    fs::create_dir_all(root.join("d")).unwrap();
    fs::create_dir(&outside).unwrap();
    fs::write(root.join("d/f"), "inside").unwrap();
    fs::write(outside.join("f"), "secret").unwrap();
    let opener = Process::start(&directory.path().join("socket"), &root, 0);
    let mut client = Client::connect(&opener.socket).unwrap();
    assert_eq!(client.read(&root.join("d/f")).unwrap(), b"inside");
    fs::rename(root.join("d"), root.join("before")).unwrap();
    symlink(&outside, root.join("d")).unwrap();
    assert_eq!(client.read(&root.join("d/f")), None);
}
