//! Files that change while requests wait for a disk that hangs: each request is answered with what was there or
//! with what is there now, or is told that it is not to be had; and the next one as it is now. These tests need
//! root, /dev/fuse and loop devices.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use rustix::fs::{CWD, RenameFlags, renameat_with, syncfs};
use slowdisk::{Disk, Options};
use weir_peers::apache::Asking;

use crate::kept::{KEEP, Kept};
use crate::server::{Apache, Checked, Start};
use crate::support::disk::Trouble;
use crate::support::process::Process;
use crate::support::{eventually, open_directory};

/// The files that change.
const NAMES: [&str; 4] = ["shorter", "secret", "gone", "d/f"];
/// Bytes that are left of the one that is truncated.
const SHORTER: usize = 7000;

/// A change of what one of the names stands for.
struct Change {
    name: &'static str,
    /// Makes it, below this directory.
    make: fn(&Path),
    /// Whether others see it.
    is_seen: fn(&Path) -> bool,
    /// What is to be had from then on: so many bytes of the file, or nothing but this status.
    then: Result<usize, u16>,
}

fn content(name: &str) -> Vec<u8> {
    name.repeat(5000).into_bytes()
}

/// A disk of which the names and the metadata are in memory, but no content. Its link `next` leads to `outside`.
fn disk(at: &Path, outside: &Path) -> Disk {
    // Reads that cause writes would wait for a disk that hangs.
    let like = Options { no_access_times: true, ..Options::new(at, 200 << 20) };
    let disk = Disk::mount(&like);
    let disk = disk.expect("a disk can be made: this test needs root");
    fs::create_dir(at.join("d")).unwrap();
    symlink(outside, at.join("next")).unwrap();
    for name in NAMES {
        fs::write(at.join(name), content(name)).unwrap();
    }
    disk.remount().unwrap();
    // ext4 writes to the disk when the first file of a mount is opened. That is over before it hangs.
    for name in NAMES {
        drop(File::open(at.join(name)).unwrap());
    }
    assert!(at.join("next").is_symlink());
    disk
}

/// Makes the changes one after the other, each while a request waits for its file.
fn make_all(changes: &[Change], start: Start<'_>) {
    let directory = open_directory();
    let (at, outside) = (directory.path().join("disk"), directory.path().join("outside"));
    fs::create_dir(&at).unwrap();
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("f"), "outside").unwrap();
    let disk = disk(&at, &outside);
    let opener = Process::start(&directory.path().join("socket"), &at, 0);
    // Nobody gives the opener up before the disk goes on.
    let lines = format!("{KEEP}WeirOpenerTimeout 600000\n");
    let start = Start { socket: Some(&opener.socket), lines: &lines, ..start };
    let apache = Apache::start(&at, &directory.path().join("with"), start);
    for change in changes {
        make_while_one_waits(change, &apache, &opener, &disk);
    }
    drop((apache, opener));
    disk.unmount().unwrap();
}

fn make_while_one_waits(change: &Change, apache: &Apache, opener: &Process, disk: &Disk) {
    let (root, path) = (disk.path(), format!("/{}", change.name));
    let mut kept = Kept::connect(apache);
    // Whoever changes what is being written out waits for that, too.
    syncfs(File::open(root).unwrap()).unwrap();
    std::thread::scope(|scope| {
        let trouble = Trouble(disk);
        disk.hang(true);
        kept.ask("GET", &path);
        eventually("a helper reads the file", || opener.reads(&root.join(change.name)));
        // To truncate a file waits for what is being read of it, though its length is the new one by then.
        scope.spawn(|| (change.make)(root));
        eventually("the change is seen", || (change.is_seen)(root));
        drop(trouble);
    });
    let before = content(change.name);
    let answer = kept.answer();
    let is_right = match answer.content() {
        Some(found) => {
            found == before || change.then.is_ok_and(|length| *found == before[..length])
        }
        None => change.then.is_err() && (answer.has_status(403) || answer.has_status(404)),
    };
    assert!(is_right, "{path}: {}", answer.head);
    // Over the same connection: nothing of that answer may be left in it.
    let next = kept.request("GET", &path);
    let is_right = match change.then {
        Ok(length) => next.content() == Some(&before[..length]),
        Err(status) => next.has_status(status),
    };
    assert!(is_right, "{path}, afterwards: {}", next.head);
}

#[test]
fn files_that_change_come_whole_as_they_were_or_as_they_are() {
    let changes = [
        Change {
            name: "shorter",
            make: |root| {
                let file = File::options().write(true).open(root.join("shorter")).unwrap();
                file.set_len(SHORTER as u64).unwrap();
            },
            is_seen: |root| fs::metadata(root.join("shorter")).unwrap().len() == SHORTER as u64,
            then: Ok(SHORTER),
        },
        Change {
            name: "secret",
            make: |root| {
                let nobody = Permissions::from_mode(0o0);
                fs::set_permissions(root.join("secret"), nobody).unwrap();
            },
            is_seen: |root| {
                let found = fs::metadata(root.join("secret")).unwrap();
                found.permissions().mode() & 0o777 == 0
            },
            then: Err(403),
        },
        // The last: it is written to once more when the opener has closed it.
        Change {
            name: "gone",
            make: |root| fs::remove_file(root.join("gone")).unwrap(),
            is_seen: |root| !root.join("gone").exists(),
            then: Err(404),
        },
    ];
    // With links forbidden, Apache looks at the name again; with links allowed, it does not.
    for (asking, options, checked) in [
        (Asking::Always, "None", Checked::Sanitized),
        (Asking::Always, "FollowSymLinks", Checked::No),
        (Asking::WhereItBlocks, "None", Checked::No),
        (Asking::WhereItBlocks, "FollowSymLinks", Checked::Sanitized),
    ] {
        make_all(&changes, Start { asking, options, checked, ..Start::WITHOUT });
    }
}

/// Where links are forbidden. Where they are allowed, Apache follows them out of the root, without the module
/// as well.
#[test]
fn a_directory_that_becomes_a_link_does_not_lead_out_of_the_root() {
    let changes = [Change {
        name: "d/f",
        make: |root| {
            let (directory, link) = (root.join("d"), root.join("next"));
            renameat_with(CWD, directory, CWD, link, RenameFlags::EXCHANGE).unwrap();
        },
        is_seen: |root| root.join("d").is_symlink(),
        then: Err(403),
    }];
    for (asking, checked) in
        [(Asking::Always, Checked::Sanitized), (Asking::WhereItBlocks, Checked::No)]
    {
        make_all(&changes, Start { asking, checked, ..Start::WITHOUT });
    }
}
