//! Which disk a device is on: partitions, loop devices and layers above one disk are the disk below
//! them, as sysfs tells. Used by `content` for what it opens.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::fs::{major, makedev, minor, stat};
use weir_sched::Time;

use crate::sys::clock;

/// Where sysfs has a directory for each block device, by its numbers.
const DEVICES: &str = "/sys/dev/block";

/// Layers that are looked through: an image on a disk on an image has five.
const LAYERS: usize = 16;

/// Devices whose disks are remembered. There are seldom so many; then all are looked up anew.
const REMEMBERED: usize = 1024;

/// Seconds after which it is looked again: a loop device may have got another image.
const VALID: Duration = Duration::from_secs(60);

/// A disk, or what stands for one: the number of a block device below which there is none, or of a file
/// system without one (NFS, FUSE, overlayfs).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct DiskId(u64);

impl DiskId {
    /// No disk: has helpers of its own for looks for roots, which must not wait for those of a disk that
    /// hangs. No device has this number.
    pub(crate) const ROOTS: DiskId = DiskId(0);

    /// Likewise for looks at the mount table: roots that hang must not keep weir from noticing that
    /// something else was mounted. The numbers of devices have fewer bits.
    pub(crate) const MOUNTS: DiskId = DiskId(1 << 63);

    /// The disk that `device` (`st_dev`) is on. May wait for the disk that the image of a loop device is
    /// on, so it is for helpers.
    pub(crate) fn below(device: u64) -> DiskId {
        let now = clock::now();
        if let Some((disk, looked)) = known().get(&device)
            && now.since(*looked) < VALID
        {
            return DiskId(*disk);
        }
        let disk = disk_of(Path::new(DEVICES), device, device_of_file);
        let mut known = known();
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(device, (disk, now));
        DiskId(disk)
    }

    /// The same without waiting: as it was found before. A device that nobody has looked below stands
    /// for itself, until somebody does.
    pub(crate) fn as_known(device: u64) -> DiskId {
        DiskId(known().get(&device).map_or(device, |(disk, _)| *disk))
    }

    /// Whether it is that of a disk, and not of looks.
    pub(crate) fn is_disk(self) -> bool {
        !matches!(self, DiskId::ROOTS | DiskId::MOUNTS)
    }

    /// The disk of this number.
    #[cfg(test)]
    pub(crate) fn numbered(device: u64) -> DiskId {
        DiskId(device)
    }
}

/// Disks by the devices that are on them, and when that was found.
fn known() -> MutexGuard<'static, HashMap<u64, (u64, Time)>> {
    static KNOWN: LazyLock<Mutex<HashMap<u64, (u64, Time)>>> = LazyLock::new(Mutex::default);
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The device at the bottom of `device`. `devices`: as [`DEVICES`].
fn disk_of(devices: &Path, device: u64, of_file: fn(&Path) -> Option<u64>) -> u64 {
    let mut disk = device;
    for _ in 0..LAYERS {
        match below(devices, disk, of_file) {
            Some(below) if below != disk => disk = below,
            _ => break,
        }
    }
    disk
}

/// What a device is a part of or stands on, if it is one thing.
fn below(devices: &Path, device: u64, of_file: fn(&Path) -> Option<u64>) -> Option<u64> {
    let at = devices.join(format!("{}:{}", major(device), minor(device)));
    if at.join("partition").exists() {
        return number(&at.join("../dev"));
    }
    if let Ok(image) = fs::read_to_string(at.join("loop/backing_file")) {
        return of_file(Path::new(image.trim_end_matches('\n')));
    }
    let slaves: Vec<PathBuf> =
        fs::read_dir(at.join("slaves")).ok()?.flatten().map(|slave| slave.path()).collect();
    match &slaves[..] {
        [slave] => number(&slave.join("dev")),
        // Several disks under one device are a disk of its own: what it takes at once is its own, too.
        _ => None,
    }
}

/// A device number as sysfs writes it: `8:1`.
fn number(file: &Path) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let (major, minor) = text.trim().split_once(':')?;
    Some(makedev(major.parse().ok()?, minor.parse().ok()?))
}

/// The device that a file is on.
fn device_of_file(file: &Path) -> Option<u64> {
    stat(file).ok().map(|stat| stat.st_dev)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// Devices as in sysfs: a disk with two partitions, an image on the second, a volume on the image,
    /// and a mirror of two disks.
    fn devices() -> tempfile::TempDir {
        let outer = tempfile::tempdir().unwrap();
        let make = |numbers: &str, name: &str| {
            let at = outer.path().join("devices").join(name);
            fs::create_dir_all(at.join("slaves")).unwrap();
            fs::write(at.join("dev"), format!("{numbers}\n")).unwrap();
            fs::create_dir_all(outer.path().join("dev/block")).unwrap();
            symlink(&at, outer.path().join("dev/block").join(numbers)).unwrap();
            at
        };
        let disk = make("8:0", "sda");
        for number in [1, 2] {
            let part = make(&format!("8:{number}"), &format!("sda/sda{number}"));
            fs::write(part.join("partition"), number.to_string()).unwrap();
        }
        let image = make("7:0", "loop0");
        fs::create_dir(image.join("loop")).unwrap();
        fs::write(image.join("loop/backing_file"), "/srv/image\n").unwrap();
        symlink(&image, make("253:0", "dm-0").join("slaves/loop0")).unwrap();
        let mirror = make("9:0", "md0");
        symlink(&disk, mirror.join("slaves/sda")).unwrap();
        symlink(make("8:16", "sdb"), mirror.join("slaves/sdb")).unwrap();
        outer
    }

    fn found(outer: &tempfile::TempDir, major: u32, minor: u32) -> (u32, u32) {
        let of_file = |file: &Path| (file == Path::new("/srv/image")).then(|| makedev(8, 2));
        let disk = disk_of(&outer.path().join("dev/block"), makedev(major, minor), of_file);
        (super::major(disk), super::minor(disk))
    }

    #[test]
    fn what_is_on_one_disk_is_found_there() {
        let outer = devices();
        for (major, minor) in [(8, 0), (8, 1), (8, 2), (7, 0), (253, 0)] {
            assert_eq!(found(&outer, major, minor), (8, 0), "{major}:{minor}");
        }
    }

    #[test]
    fn what_is_on_several_or_on_none_stands_for_itself() {
        let outer = devices();
        for (major, minor) in [(9, 0), (8, 16), (0, 42), (5, 5)] {
            assert_eq!(found(&outer, major, minor), (major, minor));
        }
    }

    #[test]
    fn layers_that_stand_on_each_other_are_not_followed_for_ever() {
        let outer = tempfile::tempdir().unwrap();
        for (own, other) in [("1:1", "1:2"), ("1:2", "1:1")] {
            let at = outer.path().join("dev/block").join(own);
            fs::create_dir_all(at.join("slaves/other")).unwrap();
            fs::write(at.join("slaves/other/dev"), other).unwrap();
        }
        let (major, _) = found(&outer, 1, 1);
        assert_eq!(major, 1);
    }
}
