//! Shows that a client that asks for every file once does not evict what others ask for often: neither
//! from the memory of the server nor from the page cache. Counts what is read from the disk, never
//! times. This test needs root, loop devices and the memory controller of control groups.

use std::fs;
use std::ops::Range;
use std::path::PathBuf;
use std::process::Command;

use crate::support::{Client, Server, eventually, noise, weir};
use slowdisk::{Disk, Options};

const MB: usize = 1_000_000;

/// A memory group with a limit for a server and its page cache, in whichever version of control groups
/// has the memory controller here.
struct Group(PathBuf);

impl Group {
    fn new(limit: usize) -> Group {
        let v1 = PathBuf::from("/sys/fs/cgroup/memory");
        let v2 = PathBuf::from("/sys/fs/cgroup");
        let (root, file) = match v1.is_dir() {
            true => (v1, "memory.limit_in_bytes"),
            false => (v2, "memory.max"),
        };
        if file == "memory.max" {
            // Where it is on already, this changes nothing; the limit tells.
            let _ = fs::write(root.join("cgroup.subtree_control"), "+memory");
        }
        let at = root.join(format!("weir-disk-scan-{}", std::process::id()));
        fs::create_dir(&at)
            .expect("a memory group: this test needs root and the memory controller");
        fs::write(at.join(file), limit.to_string()).expect("the group can be limited");
        Group(at)
    }

    /// Has the kernel count the pages of the group. By itself it does so every two seconds, and when it
    /// needs room it goes by the last count: if that is from before a scan, it finds nearly nothing but
    /// pages that are used often, and takes of them.
    fn count_pages(&self) {
        fs::read(self.0.join("memory.stat")).expect("the group's figures can be read");
    }

    /// A server inside the group.
    fn serve(&self, disk: &Disk) -> Server {
        let mut command = Command::new("sh");
        command.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(self.0.join("cgroup.procs"));
        command.arg(weir().get_program()).arg("serve").arg(disk.path());
        Server::launch(command, &["--workers", "1", "--cache", "8MB"])
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The last process may still be on its way out.
        eventually("the group is empty", || fs::remove_dir(&self.0).is_ok());
    }
}

/// Asks for each file of `directory` once.
fn ask_all(client: &mut Client, directory: &str, count: usize) {
    ask(client, directory, 0..count);
}

/// Asks for files of `directory`, and checks that they are the right ones.
fn ask(client: &mut Client, directory: &str, numbers: Range<usize>) {
    for number in numbers {
        let answer = client.get(&format!("/{directory}/{number}"));
        assert_eq!(answer.status, 200, "/{directory}/{number}");
        assert!(answer.body.starts_with(format!("{directory}/{number}\n").as_bytes()));
    }
}

#[test]
fn a_scan_of_all_files_does_not_evict_those_that_are_asked_for_often() {
    const LIMIT: usize = 128 * MB;
    const HOT: [(&str, usize, usize); 2] = [("large", 24, MB), ("medium", 100, 60_000)];
    const SCANNED: [(&str, usize, usize); 3] =
        [("scan-large", 250, MB), ("scan-medium", 500, 60_000), ("scan-small", 2000, 5000)];
    let at = tempfile::tempdir().unwrap();
    let disk = Disk::mount(&Options::new(at.path(), 800 << 20)).expect("root and loop devices");
    let content = noise(1, MB);
    for (directory, count, size) in HOT.into_iter().chain(SCANNED) {
        fs::create_dir(at.path().join(directory)).unwrap();
        for number in 0..count {
            let name = format!("{directory}/{number}");
            let text = [format!("{name}\n").as_bytes(), &content[..size]].concat();
            fs::write(at.path().join(name), text).unwrap();
        }
    }
    disk.remount().unwrap();
    let group = Group::new(LIMIT);
    let server = group.serve(&disk);
    let mut client = server.connect();
    let read_again = |client: &mut Client| {
        disk.reset_counts();
        HOT.into_iter().for_each(|(directory, count, _)| ask_all(client, directory, count));
        disk.counts().read_bytes
    };
    eventually("all of it is in memory", || read_again(&mut client) == 0);
    for (directory, count, size) in SCANNED {
        // For the head of a large file nothing of it is read, so this is no second use.
        for number in (0..count).filter(|_| size == MB) {
            client.send(format!("HEAD /{directory}/{number} HTTP/1.1\r\nHost: weir\r\n\r\n"));
            assert_eq!(client.head().status, 200);
        }
        // In the first pass half of the room is taken then, and the kernel needs none yet.
        let first = count.min(LIMIT / 2 / size);
        ask(&mut client, directory, 0..first);
        group.count_pages();
        ask(&mut client, directory, first..count);
    }
    let read = read_again(&mut client) as usize;
    let all: usize = HOT.into_iter().map(|(_, count, size)| count * size).sum();
    assert!(read < all / 20, "{read} of {all} bytes had to be read again");
    drop((client, server));
    disk.unmount().unwrap();
}
