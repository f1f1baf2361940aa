//! Real file systems on slow disks: counts, delays, faults, and what is left behind.
//! Needs root, `/dev/fuse`, loop devices, mkfs.ext4 and mkfs.xfs. Delays have lower
//! bounds only, so a busy machine does no harm.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use slowdisk::{Backing, Disk, FileSystem, Model, Options};

const MODEL: Model =
    Model { seek: Duration::from_millis(1), bytes_per_second: 50_000_000, channels: 1 };

const FILES: u64 = 40;
const BYTES: u64 = 100_000;

/// A disk with `FILES` files on it, nothing of which is in memory, and no delays yet.
fn filled(at: &Path, file_system: FileSystem) -> Disk {
    let mut options = Options::new(at, 400_000_000);
    options.file_system = file_system;
    options.no_access_times = true;
    let disk = Disk::mount(&options)
        .expect("root, /dev/fuse, /dev/loop-control, e2fsprogs and xfsprogs, which tests need");
    for n in 0..FILES {
        fs::write(disk.path().join(n.to_string()), content(n)).expect("a file is written");
    }
    disk.remount().expect("the caches are emptied");
    disk.reset_counts();
    disk
}

fn content(n: u64) -> Vec<u8> {
    (0..BYTES).map(|byte| ((byte * 7 + n * 13) % 251) as u8).collect()
}

fn read(disk: &Disk, n: u64) -> std::io::Result<Vec<u8>> {
    fs::read(disk.path().join(n.to_string()))
}

/// Reads that the block layer says the device has done.
fn block_reads(disk: &Disk) -> u64 {
    let device = fs::metadata(disk.path()).expect("the disk is mounted").dev();
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let stat = fs::read_to_string(format!("/sys/dev/block/{major}:{minor}/stat"))
        .expect("the block layer counts");
    stat.split_whitespace().next().expect("a count of reads").parse().expect("a count of reads")
}

fn reads_are_counted_and_take_their_time(file_system: FileSystem) {
    let directory = tempfile::tempdir().expect("a directory");
    let disk = filled(directory.path(), file_system);
    let before = block_reads(&disk);
    disk.set_model(Some(MODEL));
    let began = Instant::now();
    for n in 0..FILES {
        assert!(
            read(&disk, n).expect("a file can be read") == content(n),
            "file {n} is not what was written"
        );
    }
    let took = began.elapsed();
    let counts = disk.counts();
    assert!(counts.reads > FILES, "there must be metadata as well: {counts:?}");
    assert!(counts.read_bytes > FILES * BYTES, "{counts:?}");
    assert_eq!(counts.writes, 0, "{counts:?}");
    assert!(counts.busy > MODEL.seek, "{counts:?}");
    // All bytes passed through the one channel, and it started with a seek.
    let least = Duration::from_nanos(FILES * BYTES * 1_000_000_000 / MODEL.bytes_per_second);
    assert!(took >= least + MODEL.seek, "{took:?} for {counts:?}");
    assert_eq!(counts.reads, block_reads(&disk) - before, "requests were cut or joined");

    // Again, and nothing is read: it is in the page cache of the file system.
    disk.reset_counts();
    read(&disk, 0).expect("a file can be read");
    assert_eq!(disk.counts().reads, 0);
    disk.unmount().expect("the disk is unmounted");
}

#[test]
fn ext4_reads_are_counted_and_take_their_time() {
    reads_are_counted_and_take_their_time(FileSystem::Ext4);
}

#[test]
fn xfs_reads_are_counted_and_take_their_time() {
    reads_are_counted_and_take_their_time(FileSystem::Xfs);
}

#[test]
fn a_large_read_is_few_operations_and_a_file_can_hold_the_disk() {
    let (directory, store) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mut options = Options::new(directory.path().join("made"), 100_000_000);
    options.backing = Backing::Directory(store.path().into());
    let disk = Disk::mount(&options).unwrap();
    let large = disk.path().join("large");
    fs::write(&large, vec![1; 32 << 20]).unwrap();
    disk.remount().unwrap();
    disk.reset_counts();
    assert_eq!(fs::read(&large).unwrap().len(), 32 << 20);
    let counts = disk.counts();
    assert!(counts.reads <= (32 << 20) / (128 << 10) + 16, "{counts:?}");
    assert!(counts.sequential > counts.reads / 2, "{counts:?}");
    drop(disk);
    assert!(!directory.path().join("made").exists());
}

#[test]
fn many_reads_are_under_way_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let disk = filled(directory.path(), FileSystem::Ext4);
    disk.set_model(Some(Model { channels: 4, ..MODEL }));
    let began = Instant::now();
    std::thread::scope(|scope| {
        for n in 0..FILES {
            let disk = &disk;
            scope.spawn(move || assert!(read(disk, n).unwrap() == content(n)));
        }
    });
    let (took, counts) = (began.elapsed(), disk.counts());
    assert!(counts.most_waiting > 4, "{counts:?}");
    let rate = 4 * MODEL.bytes_per_second;
    assert!(took >= Duration::from_nanos(FILES * BYTES * 1_000_000_000 / rate), "{took:?}");
}

#[test]
fn reads_fail_while_told_to_and_hang_until_released() {
    let directory = tempfile::tempdir().unwrap();
    let disk = filled(directory.path(), FileSystem::Ext4);
    // Its metadata, for only reads of data are to fail.
    read(&disk, 0).unwrap();
    disk.fail_reads(true);
    let error = read(&disk, 1).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(5), "EIO, not {error}");
    assert!(read(&disk, 0).unwrap() == content(0), "what is in memory can still be read");
    disk.fail_reads(false);
    assert!(read(&disk, 1).unwrap() == content(1));

    disk.hang(true);
    std::thread::scope(|scope| {
        let (done, result) = mpsc::channel();
        let disk = &disk;
        scope.spawn(move || done.send(read(disk, 2)).unwrap());
        let waiting = result.recv_timeout(Duration::from_millis(300));
        disk.hang(false);
        waiting.unwrap_err();
        let content_2 = result.recv_timeout(Duration::from_secs(10)).unwrap().unwrap();
        assert!(content_2 == content(2));
    });
}

/// Mounts that mention `what`.
fn mounts(what: &Path) -> usize {
    let what = what.to_str().expect("a path is text");
    let all = fs::read_to_string("/proc/self/mountinfo").expect("mounts are listed");
    all.lines().filter(|line| line.contains(what)).count()
}

#[test]
fn dropped_while_hanging_and_failing_it_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let disk = filled(directory.path(), FileSystem::Xfs);
    assert_eq!(mounts(directory.path()), 1);
    // Still to be written out when it is dropped.
    fs::write(disk.path().join("more"), "more").unwrap();
    disk.set_model(Some(Model { seek: Duration::from_secs(3600), ..MODEL }));
    disk.fail_reads(true);
    disk.hang(true);
    drop(disk);
    assert_eq!(mounts(directory.path()), 0);
}

#[test]
fn unmounting_what_is_in_use_says_so_and_detaches_it() {
    let directory = tempfile::tempdir().unwrap();
    let mut disk = filled(directory.path(), FileSystem::Ext4);
    // It stays in use, however long it is waited for.
    disk.set_patience(Duration::from_millis(100));
    let open = fs::File::open(disk.path().join("1")).unwrap();
    disk.remount().unwrap_err();
    assert!(read(&disk, 2).unwrap() == content(2), "it must still be mounted");
    let error = disk.unmount().unwrap_err();
    assert!(error.to_string().contains("in use"), "{error}");
    assert_eq!(mounts(directory.path()), 0);
    drop(open);
}

#[test]
fn the_command_obeys_and_what_is_left_of_it_is_cleaned() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_slowdisk"));
    command.args(["mount", "--size", "64M", "--seek", "1ms", "--rate", "50MB", "--at"]);
    let run = |command: &mut Command| {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        assert_eq!(lines.next().unwrap().unwrap(), "ready");
        (child, lines)
    };
    let (mut child, mut lines) = run(command.arg(directory.path()));
    let mut stdin = child.stdin.take().unwrap();
    let mut ask = |line: &str| {
        writeln!(stdin, "{line}").unwrap();
        lines.next().unwrap().unwrap()
    };
    assert_eq!(ask("model off"), "ok");
    fs::write(directory.path().join("file"), content(1)).unwrap();
    assert_eq!(ask("remount"), "ok");
    assert!(ask("what").starts_with("error: no such command"));
    assert!(ask("counts").starts_with(r#"{"reads":"#));
    // Killed, it leaves its mounts, and its file system answers with errors.
    child.kill().unwrap();
    child.wait().unwrap();
    fs::read(directory.path().join("file")).unwrap_err();
    assert_eq!(mounts(directory.path()), 1);
    // Another test may do it first, and that is as well.
    slowdisk::clean().unwrap();
    assert_eq!(mounts(directory.path()), 0);

    // Told to stop, it leaves nothing.
    let (mut child, _lines) = run(&mut command);
    assert_eq!(mounts(directory.path()), 1);
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    assert!(child.wait().unwrap().success());
    assert_eq!(mounts(directory.path()), 0);
}
