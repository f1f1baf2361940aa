//! Clients that do not keep to the rules, and too few descriptors.

use std::fs;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::time::Duration;

use rustix::net::sockopt::set_socket_linger;
use rustix::process::{Signal, Uid};
use rustix::thread::set_thread_res_uid;
use weir_opener::protocol::{Found, Hello, LONGEST_QUESTION, Question, VERSION, Welcome};

use crate::support::client::Client;
use crate::support::process::Process;
use crate::support::{eventually, open_directory};

#[test]
fn another_version_is_told_so_and_turned_away() {
    let directory = open_directory();
    let mut opener = Process::start(&directory.path().join("socket"), directory.path(), 1000);
    let mut client = Client::silent(&opener.socket).unwrap();
    client.say(&Hello { version: VERSION + 1 }.encode());
    let (welcome, _) = client.hear().unwrap();
    let expected = Welcome { version: VERSION, accepted: false };
    assert_eq!(Welcome::decode(&welcome), Ok(expected));
    assert!(client.is_cut());
    eventually("it is counted", || opener.counts()["turned away"] == 1);
}

#[test]
fn who_says_what_is_no_message_is_cut() {
    let directory = open_directory();
    let mut opener = Process::start(&directory.path().join("socket"), directory.path(), 1000);
    let mut client = Client::silent(&opener.socket).unwrap();
    client.say(b"GET / HTTP/1.1\r\n\r\n");
    assert!(client.is_cut());
    let too_long = vec![b'/'; LONGEST_QUESTION + 1];
    for message in [&b"x"[..], &[0; 8], &[7; 300], &too_long] {
        let mut client = Client::connect(&opener.socket).unwrap();
        client.say(message);
        assert!(client.is_cut());
    }
    eventually("they are counted", || opener.counts()["cut"] == 5);
}

#[test]
fn who_passes_descriptors_is_cut_and_they_are_closed() {
    let directory = open_directory();
    let mut opener = Process::start(&directory.path().join("socket"), directory.path(), 1000);
    let mut client = Client::connect(&opener.socket).unwrap();
    client.found(&directory.path().join("x"));
    let before = opener.descriptors();
    let question = Question { number: 1, name: b"/x" }.encode().unwrap();
    for _ in 0..100 {
        let mut rude = Client::connect(&opener.socket).unwrap();
        rude.say_with(&question, fs::File::open("/proc/version").unwrap());
        assert!(rude.is_cut());
    }
    // Helpers have some of their own now and then.
    eventually("they are closed", || opener.descriptors() < before + 50);
    eventually("they are counted", || opener.counts()["cut"] == 100);
}

/// A connection that has something to send to somebody who does not read: its close waits for a minute, or
/// until the other end is gone.
fn lingering(listener: &TcpListener) -> TcpStream {
    let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    stream.set_nonblocking(true).unwrap();
    while matches!(stream.write(&[0; 65_536]), Ok(written) if written > 0) {}
    set_socket_linger(&stream, Some(Duration::from_secs(60))).unwrap();
    stream
}

/// How long it takes to close what a client passes, the client chooses.
#[test]
fn who_passes_what_is_slow_to_close_delays_nobody() {
    let directory = open_directory();
    fs::write(directory.path().join("f"), "f").unwrap();
    let name = directory.path().join("f");
    let opener = Process::start(&directory.path().join("socket"), directory.path(), 1000);
    let mut client = Client::connect(&opener.socket).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let question = Question { number: 1, name: b"/x" }.encode().unwrap();
    // It is cut for what it passes, or before that is received.
    for before in [None, Some(b"no message")] {
        let mut rude = Client::connect(&opener.socket).unwrap();
        let stream = lingering(&listener);
        // Nobody but the opener has the stream when it goes on.
        opener.stop();
        assert!(before.is_none_or(|message| rude.say(message)));
        rude.say_with(&question, stream);
        opener.signal(Signal::CONT);
        assert!(rude.is_cut());
        assert_eq!(client.read(&name).unwrap(), b"f");
    }
}

/// Nor do sockets of peers that wait for such a close take the descriptors of files.
#[test]
fn sockets_that_wait_for_their_close_leave_descriptors_for_files() {
    let directory = open_directory();
    let names: Vec<_> = (0..40).map(|n| directory.path().join(n.to_string())).collect();
    names.iter().for_each(|name| fs::write(name, "f").unwrap());
    let socket = directory.path().join("socket");
    let opener = Process::with_descriptors(128, &socket, directory.path());
    let mut client = Client::connect(&socket).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let question = Question { number: 1, name: b"/x" }.encode().unwrap();
    let mut rude = Client::connect(&socket).unwrap();
    let stream = lingering(&listener);
    opener.stop();
    rude.say_with(&question, stream);
    opener.signal(Signal::CONT);
    assert!(rude.is_cut());
    for _ in 0..100 {
        drop(Client::silent(&socket));
    }
    for name in &names {
        assert_eq!(client.read(name).unwrap(), b"f");
    }
}

#[test]
fn many_questions_at_once_are_all_answered() {
    let directory = open_directory();
    let names: Vec<_> = (0..20).map(|n| directory.path().join(n.to_string())).collect();
    names.iter().for_each(|name| fs::write(name, name.to_str().unwrap()).unwrap());
    let opener = Process::start(&directory.path().join("socket"), directory.path(), 1000);
    let mut client = Client::connect(&opener.socket).unwrap();
    for _ in 0..10 {
        let mut asked: Vec<u32> = names.iter().map(|name| client.ask(name)).collect();
        let mut answered: Vec<u32> =
            names.iter().map(|_| client.answer()).map(|(answer, _)| answer.number).collect();
        asked.sort();
        answered.sort();
        assert_eq!(asked, answered);
    }
}

#[test]
fn who_takes_no_answers_is_cut_and_delays_nobody() {
    let directory = open_directory();
    fs::write(directory.path().join("f"), "f").unwrap();
    let mut opener = Process::start(&directory.path().join("socket"), directory.path(), 1000);
    let mut deaf = Client::connect(&opener.socket).unwrap();
    let socket = opener.socket.clone();
    let name = directory.path().join("f");
    let asked = name.clone();
    // It asks until it is cut: its questions find no room before that, which is where it waits.
    let asking = std::thread::spawn(move || {
        let question = Question { number: 1, name: asked.as_os_str().as_encoded_bytes() };
        let question = question.encode().unwrap();
        while deaf.say(&question) {}
    });
    let mut client = Client::connect(&socket).unwrap();
    while !asking.is_finished() {
        assert_eq!(client.read(&name).unwrap(), b"f");
    }
    asking.join().unwrap();
    eventually("it is counted", || opener.counts()["cut"] == 1);
}

#[test]
fn few_descriptors_are_enough_for_many_files() {
    let directory = open_directory();
    let names: Vec<_> = (0..200).map(|n| directory.path().join(n.to_string())).collect();
    names.iter().for_each(|name| fs::write(name, name.to_str().unwrap()).unwrap());
    let socket = directory.path().join("socket");
    let mut opener = Process::with_descriptors(64, &socket, directory.path());
    let mut client = Client::connect(&opener.socket).unwrap();
    for name in names.iter().chain(&names) {
        assert_eq!(client.read(name).unwrap(), name.to_str().unwrap().as_bytes());
    }
    assert!(opener.counts()["evicted"] >= 300);
    assert!(opener.descriptors() < 64);
    // Clients beyond its share are turned away, those it has are served.
    let more: Vec<_> = (0..40).map(|_| Client::silent(&opener.socket)).collect();
    assert_eq!(client.read(&names[0]).unwrap(), names[0].to_str().unwrap().as_bytes());
    assert!(opener.counts()["turned away"] > 0);
    drop(more);
}

/// Without a descriptor to look a name up with, the opener closes those that were not used for the longest
/// time, and keeps the file that is asked for.
#[test]
fn a_file_is_kept_that_cannot_be_looked_up_for_want_of_descriptors() {
    let directory = open_directory();
    let names: Vec<_> = (0..100).map(|n| directory.path().join(n.to_string())).collect();
    names.iter().for_each(|name| fs::write(name, name.to_str().unwrap()).unwrap());
    // Each name is looked up each time.
    let mut opener = Process::start(&directory.path().join("socket"), directory.path(), 0);
    let mut client = Client::connect(&opener.socket).unwrap();
    for name in &names {
        assert!(client.read(name).is_some());
    }
    // Clients take the numbers that are free between others.
    let mut idle = Vec::new();
    while opener.next_descriptor() < opener.descriptors() {
        idle.push(Client::connect(&opener.socket).unwrap());
    }
    let before = opener.descriptors();
    opener.limit_descriptors(before);
    assert!(matches!(client.found(&names[99]).0, Found::NotTold(_)));
    eventually("others are closed", || opener.descriptors() <= before - 16);
    assert_eq!(client.read(&names[99]).unwrap(), names[99].to_str().unwrap().as_bytes());
    let counts = opener.counts();
    assert_eq!((counts["opened"], counts["evicted"]), (100, 16));
}

/// Needs root, as CI has it.
#[test]
fn other_users_are_turned_away() {
    let directory = open_directory();
    fs::write(directory.path().join("f"), "f").unwrap();
    let mut opener = Process::start(&directory.path().join("socket"), directory.path(), 1000);
    let name = directory.path().join("f");
    // nobody and www-data.
    assert!(!as_user(65_534, &opener.socket, &name));
    assert!(as_user(33, &opener.socket, &name));
    assert_eq!(opener.counts()["turned away"], 1);
}

/// Whether a process of this user is answered. The user of one thread changes, and the kernel says whose
/// thread has connected.
fn as_user(user: u32, socket: &Path, name: &Path) -> bool {
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let user = Uid::from_raw(user);
            set_thread_res_uid(user, user, user).expect("this test needs root");
            let mut client = Client::silent(socket).unwrap();
            client.say(&Hello { version: VERSION }.encode());
            client.hear().is_some() && {
                client.ask(name);
                client.hear().is_some()
            }
        });
        asking.join().unwrap()
    })
}
