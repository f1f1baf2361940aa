//! Shows that a client that asks for every file once does not evict what others ask for often: neither
//! from the memory of the server nor from the page cache. Counts what is read from the disk, never
//! times. This test needs root, loop devices and the memory controller of control groups.

use std::fs;
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

/// Asks for each file of `directory` once, and checks that it is the right one.
fn ask_all(client: &mut Client, directory: &str, count: usize) {
    for number in 0..count {
        let answer = client.get(&format!("/{directory}/{number}"));
        assert_eq!(answer.status, 200, "/{directory}/{number}");
        assert!(answer.body.starts_with(format!("{directory}/{number}\n").as_bytes()));
    }
}

#[test]
fn a_scan_of_all_files_does_not_evict_those_that_are_asked_for_often() {
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
    // Beside other tests the kernel may take hot pages for reasons of its own, so there are three tries.
    let mut read = Vec::new();
    let all: usize = HOT.into_iter().map(|(_, count, size)| count * size).sum();
    while read.len() < 3 && read.iter().all(|read| *read >= all / 20) {
        disk.remount().unwrap();
        let group = Group::new(128 * MB);
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
            ask_all(&mut client, directory, count);
        }
        read.push(read_again(&mut client) as usize);
    }
    assert!(
        read.iter().any(|read| *read < all / 20),
        "{read:?} of {all} bytes had to be read again"
    );
    disk.unmount().unwrap();
}
