//! A disk that fails or hangs under the files: the opener leaves them to the server, and goes on with
//! what is in memory. These tests need root, /dev/fuse and loop devices.

use std::fs::{self, File};

use rustix::fs::{Advice, fadvise};
use weir_opener::protocol::Found;
use weir_server::pages_in_memory;

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

/// The kernel counts pages that are being read as in memory, and who sends them waits.
#[test]
fn who_asks_for_what_is_being_read_waits_with_the_first() {
    let directory = open_directory();
    let at = directory.path().join("disk");
    fs::create_dir(&at).unwrap();
    let disk = two_files(&at);
    let mut opener = Process::start(&directory.path().join("socket"), &at, 0);
    let mut clients = [(); 2].map(|()| Client::connect(&opener.socket).unwrap());
    let name = at.join("hot");
    assert!(clients[0].read(&name).is_some());
    let file = File::open(&name).unwrap();
    let length = file.metadata().unwrap().len();
    eventually("no page of it is in memory", || {
        fadvise(&file, 0, None, Advice::DontNeed).unwrap();
        (0..length).step_by(4096).all(|at| !pages_in_memory(&file, at, 1).unwrap())
    });
    let trouble = Trouble(&disk);
    disk.hang(true);
    clients[0].ask(&name);
    eventually("it is being read", || pages_in_memory(&file, 0, length).unwrap());
    clients[1].ask(&name);
    eventually("both wait for the same helper", || opener.counts()["merged"] == 1);
    drop(trouble);
    for client in &mut clients {
        assert_eq!(client.answer().0.found, Found::File);
    }
    drop((clients, file, opener));
    disk.unmount().unwrap();
}
