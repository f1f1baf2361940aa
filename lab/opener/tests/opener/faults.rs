//! A disk that fails or hangs under the files: the opener leaves them to the server, and goes on with
//! what is in memory. These tests need root, /dev/fuse and loop devices.

use std::fs;

use weir_opener::protocol::Found;

use crate::support::client::Client;
use crate::support::disk::{Trouble, two_files};
use crate::support::process::Process;
use crate::support::{eventually, open_directory};

#[test]
fn a_file_that_cannot_be_read_is_left_to_the_server_until_it_can() {
    let directory = open_directory();
    let at = directory.path().join("disk");
    fs::create_dir(&at).unwrap();
    let disk = two_files(&at);
    let opener = Process::start(&directory.path().join("socket"), &at, 0);
    let mut client = Client::connect(&opener.socket).unwrap();
    let trouble = Trouble(&disk);
    disk.fail_reads(true);
    let (found, descriptor) = client.found(&at.join("cold"));
    assert!(matches!(found, Found::NotTold(_)), "{found:?}");
    assert!(descriptor.is_none());
    assert_eq!(client.read(&at.join("hot")).unwrap(), b"hot".repeat(5000));
    drop(trouble);
    assert_eq!(client.read(&at.join("cold")).unwrap(), b"cold".repeat(5000));
    drop(opener);
    disk.unmount().unwrap();
}

#[test]
fn helpers_that_hang_keep_nobody_from_what_is_in_memory() {
    let directory = open_directory();
    let at = directory.path().join("disk");
    fs::create_dir(&at).unwrap();
    let disk = two_files(&at);
    for number in 0..20 {
        fs::write(at.join(number.to_string()), "x".repeat(5000)).unwrap();
    }
    disk.remount().unwrap();
    let opener = Process::start(&directory.path().join("socket"), &at, 0);
    let mut client = Client::connect(&opener.socket).unwrap();
    assert!(client.read(&at.join("hot")).is_some());
    // More than there are helpers.
    let mut waiting = Client::connect(&opener.socket).unwrap();
    let trouble = Trouble(&disk);
    disk.hang(true);
    for number in 0..20 {
        waiting.ask(&at.join(number.to_string()));
    }
    for _ in 0..100 {
        assert_eq!(client.read(&at.join("hot")).unwrap(), b"hot".repeat(5000));
    }
    drop(trouble);
    for _ in 0..20 {
        assert_eq!(waiting.answer().0.found, Found::File);
    }
    eventually("the cold file comes", || client.read(&at.join("cold")).is_some());
    drop(opener);
    disk.unmount().unwrap();
}
