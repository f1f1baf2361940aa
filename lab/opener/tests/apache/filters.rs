//! Files that Apache reads instead of handing them to sendfile: each process must have a position of its
//! own in a file that all got from the same opener. And files of which another module says what is sent.

use std::fs;

use weir_peers::apache::Workers;

use crate::server::{Apache, Start, request};
use crate::support::open_directory;
use crate::support::process::Process;

#[test]
fn many_that_read_the_same_file_do_not_disturb_each_other() {
    let directory = open_directory();
    let root = directory.path().join("root");
    fs::create_dir(&root).unwrap();
    // Different at each place.
    let text: String = (0..200_000).map(|line| format!("{line}\n")).collect();
    fs::write(root.join("lines.txt"), &text).unwrap();
    let socket = directory.path().join("socket");
    let _opener = Process::start(&socket, &root, 1000);
    for workers in [Workers::Prefork(8), Workers::Event] {
        let lines = "EnableSendfile Off\nEnableMMAP Off\n";
        let start = Start { workers, lines, ..Start::with(&socket) };
        let apache = Apache::start(&root, &directory.path().join(format!("{workers:?}")), start);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for _ in 0..10 {
                        assert!(apache.get("/lines.txt").unwrap() == text.as_bytes());
                    }
                });
            }
        });
        apache.must_have_opened(80, 0);
    }
}

#[test]
fn a_compressed_file_is_the_same() {
    let directory = open_directory();
    let root = directory.path().join("root");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("a.txt"), "to be compressed ".repeat(5000)).unwrap();
    let socket = directory.path().join("socket");
    let _opener = Process::start(&socket, &root, 1000);
    let lines = "SetOutputFilter DEFLATE\n";
    let start = Start { lines, ..Start::with(&socket) };
    let with = Apache::start(&root, &directory.path().join("with"), start);
    let start = Start { socket: None, ..start };
    let plain = Apache::start(&root, &directory.path().join("plain"), start);
    let request = request("GET", "/a.txt", "Accept-Encoding: gzip\r\n");
    let expected = plain.answer(&request);
    assert!(String::from_utf8_lossy(&expected).contains("Content-Encoding: gzip"));
    assert!(expected.len() < 5000 && with.answer(&request) == expected);
    with.must_have_opened(1, 0);
}

#[test]
fn an_action_for_a_type_is_heeded() {
    let directory = open_directory();
    let root = directory.path().join("root");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("a.gif"), "unchecked").unwrap();
    fs::write(root.join("check.txt"), "checked").unwrap();
    let socket = directory.path().join("socket");
    let _opener = Process::start(&socket, &root, 1000);
    // Loaded after the opener's module.
    let lines = "LoadModule actions_module /usr/lib/apache2/modules/mod_actions.so\n\
                 AddType image/gif gif\nAddType text/plain txt\nAcceptPathInfo On\n\
                 Action image/gif /check.txt\n";
    let start = Start { lines, ..Start::with(&socket) };
    let apache = Apache::start(&root, &directory.path().join("with"), start);
    assert_eq!(apache.get("/a.gif").unwrap(), b"checked");
    apache.must_have_opened(1, 0);
}
