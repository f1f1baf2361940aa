//! Shows that files of every kind of file system come byte for byte, from memory and from the disk, to
//! those who own them and to others. These tests need root and loop devices.

use std::fs;
use std::mem::MaybeUninit;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Client, Server, noise, tool};
use rustix::fs::{Advice, CWD, FileType, Mode, fadvise, inotify, makedev, mknodat};
use slowdisk::{Disk, FileSystem, Options};

const SIZES: [usize; 10] =
    [0, 1, 1000, 32_768, 32_769, 131_072, 131_073, 1_048_576, 5_000_001, 20_000_000];

fn fill(directory: &Path) {
    fs::set_permissions(directory, fs::Permissions::from_mode(0o755)).expect("a mode is set");
    for size in SIZES {
        fs::write(directory.join(size.to_string()), noise(size as u64, size)).expect("a file");
    }
}

/// Asks for all files, whole and in part, as owner and as somebody else. Nobody has a file open when `forget`
/// is called, after which nothing of them is in memory; before further rounds their content is evicted.
fn serve(directory: &Path, forget: impl Fn()) {
    for owner in [true, false] {
        for uplink in ["off", "1gbit"] {
            let mut command =
                if owner { crate::support::weir() } else { crate::support::as_nobody() };
            command.arg("serve").arg(directory);
            forget();
            let server = Server::launch(command, &["--uplink", uplink, "--workers", "1"]);
            for round in 0..3 {
                if round > 0 {
                    evict(directory);
                }
                let mut client = server.connect();
                for size in SIZES {
                    check(&mut client, size, &format!("round {round}, owner {owner}"));
                }
            }
        }
    }
}

fn check(client: &mut Client, size: usize, when: &str) {
    let content = noise(size as u64, size);
    let path = format!("/{size}");
    let answer = client.get(&path);
    assert_eq!((answer.status, answer.body.len()), (200, size), "{when}");
    assert!(answer.body == content, "the bytes of {size}, {when}");
    if size > 1000 {
        let (first, last) = (size / 3, size - 2);
        let part = client.get_with(&path, &format!("Range: bytes={first}-{last}\r\n"));
        assert!(part.body == content[first..=last], "a part of {size}, {when}");
    }
}

/// Evicts the content of all files from memory, where it is also on a disk.
fn evict(directory: &Path) {
    for size in SIZES {
        let file = fs::File::open(directory.join(size.to_string())).expect("a file");
        fadvise(&file, 0, None, Advice::DontNeed).expect("its pages are evicted");
    }
}

/// A mounted file system that is unmounted in the end.
struct Mounted {
    kind: String,
    options: String,
    device: String,
    at: PathBuf,
}

impl Mounted {
    fn new(kind: &str, options: &str, device: &str, at: &Path) -> Mounted {
        let [kind, options, device] = [kind, options, device].map(str::to_owned);
        let mounted = Mounted { kind, options, device, at: at.to_owned() };
        mounted.mount();
        mounted
    }

    fn mount(&self) {
        let mut command = tool("mount", "mount");
        command.args(["-t", &self.kind, "-o", &self.options, &self.device]).arg(&self.at);
        let done = command.status().expect("mount runs").success();
        assert!(done, "{} cannot be mounted: this test needs root", self.kind);
    }

    fn unmount(&self) -> bool {
        Command::new("umount").arg(&self.at).status().is_ok_and(|status| status.success())
    }

    /// Nothing of it is in memory after this.
    fn remount(&self) {
        assert!(self.unmount(), "somebody uses it");
        self.mount();
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        self.unmount();
    }
}

#[test]
fn tmpfs() {
    let at = tempfile::tempdir().unwrap();
    let _mounted = Mounted::new("tmpfs", "size=100m", "weir", at.path());
    fill(at.path());
    serve(at.path(), || {});
}

#[test]
fn overlayfs() {
    let outer = tempfile::tempdir().unwrap();
    fs::set_permissions(outer.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let directory = |name: &str| {
        let path = outer.path().join(name);
        fs::create_dir(&path).unwrap();
        path
    };
    // Upper and lower on a file system of their own: overlayfs does not stack on itself.
    let disk = Disk::mount(&Options::new(outer.path().join("disk"), 400 << 20)).expect("root");
    let [lower, upper, work] = ["disk/lower", "disk/upper", "disk/work"].map(directory);
    let at = directory("at");
    fill(&lower);
    let options = format!(
        "lowerdir={},upperdir={},workdir={}",
        lower.display(),
        upper.display(),
        work.display()
    );
    let mounted = Mounted::new("overlay", &options, "overlay", &at);
    fs::write(at.join("1000"), noise(1000, 1000)).unwrap();
    serve(&at, || {});
    drop(mounted);
    disk.unmount().unwrap();
}

/// Opening is doing something already: a FIFO lets its writer go on, a tape is wound back. And what is kept
/// back is not read to say that it is not there.
#[test]
fn what_is_neither_a_file_nor_a_directory_is_never_opened() {
    let at = tempfile::tempdir().unwrap();
    let options = Options::new(at.path(), 400 << 20);
    let disk = Disk::mount(&options).expect("a disk can be made: this test needs root");
    let name = |name: &str| at.path().join(name);
    let mode = Mode::from_raw_mode(0o666);
    for (node, kind) in [("fifo", FileType::Fifo), ("device", FileType::CharacterDevice)] {
        // A device is /dev/null's.
        mknodat(CWD, name(node), kind, mode, makedev(1, 3)).expect("this test needs root");
    }
    // Its name stays; a socket that is open would keep the disk in use.
    drop(UnixListener::bind(name("socket")).unwrap());
    fs::write(name("file"), "opened").unwrap();
    fs::write(name("source.php"), "kept back").unwrap();
    // A helper opens what is not in memory, a worker what is.
    for forget in [true, false] {
        if forget {
            disk.remount().unwrap();
        }
        let watch = inotify::init(inotify::CreateFlags::NONBLOCK).unwrap();
        inotify::add_watch(&watch, at.path(), inotify::WatchFlags::OPEN).unwrap();
        let server = Server::of(at.path(), &["--workers", "1"]);
        let mut client = server.connect();
        for node in ["fifo", "device", "socket"] {
            assert_eq!(client.get(&format!("/{node}")).status, 403, "{node}");
            assert_eq!(client.get(&format!("/{node}/")).status, 403, "{node}/");
        }
        for path in ["/source.php", "/source.php/"] {
            assert_eq!(client.get(path).status, 404, "{path}");
        }
        assert_eq!(client.get("/file").text(), "opened");
        let mut space = [MaybeUninit::uninit(); 4096];
        let mut events = inotify::Reader::new(&watch, &mut space);
        let mut opened = Vec::new();
        while let Ok(event) = events.next() {
            opened.extend(event.file_name().map(|name| name.to_string_lossy().into_owned()));
        }
        assert_eq!(opened, ["file"], "after forgetting: {forget}");
    }
    disk.unmount().unwrap();
}

fn on_a_disk(file_system: FileSystem) {
    let at = tempfile::tempdir().expect("a directory");
    let options = Options { file_system, ..Options::new(at.path(), 400 << 20) };
    let disk = Disk::mount(&options).expect("a disk can be made: this test needs root");
    fill(at.path());
    serve(at.path(), || disk.remount().expect("nobody uses it"));
    disk.unmount().expect("the disk can be unmounted");
}

#[test]
fn ext4() {
    on_a_disk(FileSystem::Ext4);
}

#[test]
fn xfs() {
    on_a_disk(FileSystem::Xfs);
}

#[test]
fn btrfs() {
    let outer = tempfile::tempdir().unwrap();
    fs::set_permissions(outer.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let image = outer.path().join("image");
    fs::File::create(&image).unwrap().set_len(400 << 20).unwrap();
    let made = tool("mkfs.btrfs", "btrfs-progs").arg("-q").arg(&image).status().unwrap();
    assert!(made.success());
    let at = outer.path().join("at");
    fs::create_dir(&at).unwrap();
    let mounted = Mounted::new("btrfs", "loop", &image.display().to_string(), &at);
    fill(&at);
    serve(&at, || mounted.remount());
}
