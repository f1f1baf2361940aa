//! What is answered, and from where.

use std::fs::{self, File};

use rustix::fs::{Advice, CWD, FileType, Mode, OFlags, fadvise, fstat, mknodat, open};
use rustix::io::Errno;
use rustix::process::Signal;
use weir_opener::protocol::Found;
use weir_server::pages_in_memory;

use crate::support::client::Client;
use crate::support::open_directory;
use crate::support::process::Process;

#[test]
fn files_come_open_and_directories_by_name() {
    let directory = open_directory();
    let root = directory.path().join("root");
    fs::create_dir_all(root.join("d")).unwrap();
    fs::write(root.join("d/f"), "content").unwrap();
    fs::write(directory.path().join("outside"), "secret").unwrap();
    let mut opener = Process::start(&directory.path().join("socket"), &root, 1000);
    let mut client = Client::connect(&opener.socket).unwrap();
    for _ in 0..3 {
        assert_eq!(client.read(&root.join("d/f")).unwrap(), b"content");
        let (found, descriptor) = client.found(&root.join("d"));
        let mode = fstat(descriptor.unwrap()).unwrap().st_mode;
        assert_eq!((found, FileType::from_raw_mode(mode)), (Found::Directory, FileType::Directory));
        let (found, descriptor) = client.found(&root.join("d/x"));
        assert_eq!(found, Found::Nothing(Errno::NOENT.raw_os_error() as u16));
        assert!(descriptor.is_none());
        let not_told = Found::NotTold(Errno::XDEV.raw_os_error() as u16);
        for outside in ["../outside", "../../etc/passwd"] {
            assert_eq!(client.found(&root.join(outside)).0, not_told);
        }
        assert_eq!(client.found(&directory.path().join("outside")).0, not_told);
    }
    let counts = opener.counts();
    let count = |name: &str| counts[name];
    assert_eq!((count("questions"), count("opened"), count("hits")), (18, 1, 2));
    assert_eq!((count("directories"), count("nothing"), count("not told")), (3, 3, 9));
    drop(client);
    opener.signal(Signal::TERM);
    let socket = opener.socket.clone();
    assert!(opener.ends_well() && !socket.exists());
}

#[test]
fn what_the_kernel_evicts_is_warmed_again() {
    let directory = open_directory();
    let path = directory.path().join("f");
    fs::write(&path, vec![7; 3 << 20]).unwrap();
    let file = File::open(&path).unwrap();
    file.sync_all().unwrap();
    let mut opener = Process::start(&directory.path().join("socket"), directory.path(), 1000);
    let mut client = Client::connect(&opener.socket).unwrap();
    assert_eq!(client.found(&path).0, Found::File);
    fadvise(&file, 0, None, Advice::DontNeed).unwrap();
    if pages_in_memory(&file, 0, 1 << 20).unwrap() {
        // In a tmpfs, where nothing is evicted.
        return;
    }
    assert_eq!(client.found(&path).0, Found::File);
    assert!(pages_in_memory(&file, 0, 1 << 20).unwrap());
    // No more than the beginning of it, give or take what the kernel reads ahead.
    assert!(!pages_in_memory(&file, 0, 3 << 20).unwrap());
    let counts = opener.counts();
    assert_eq!((counts["warmed again"], counts["opened"], counts["hits"]), (1, 1, 0));
    assert_eq!(client.found(&path).0, Found::File);
    assert_eq!(opener.counts()["hits"], 1);
}

#[test]
fn a_fifo_is_never_opened() {
    let directory = open_directory();
    let fifo = directory.path().join("fifo");
    mknodat(CWD, &fifo, FileType::Fifo, Mode::from_raw_mode(0o666), 0).unwrap();
    let opener = Process::start(&directory.path().join("socket"), directory.path(), 1000);
    let mut client = Client::connect(&opener.socket).unwrap();
    for _ in 0..3 {
        assert_eq!(client.found(&fifo).0, Found::NotTold(0));
        // A writer that finds no reader.
        let writer = open(&fifo, OFlags::WRONLY | OFlags::NONBLOCK, Mode::empty());
        assert_eq!(writer.unwrap_err(), Errno::NXIO);
    }
}
