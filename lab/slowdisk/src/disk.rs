//! A disk from mkfs to unmount: puts the parts together, and takes them apart in the opposite
//! order. What callers mount.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use fuser::{BackgroundSession, Config, MountOption, Session};
use rustix::mount::{MountFlags, UnmountFlags};

use crate::backing::Store;
use crate::device::{Device, FILE, LARGEST};
use crate::engine::{Counts, Engine, serve_the_kernel};
use crate::error::Error;
use crate::leftovers::{self, Name};
use crate::loopback::{LoopDevice, run};
use crate::mounts::{self, PATIENCE, while_free};
use crate::options::{FileSystem, Options};
use crate::service::Model;

/// A mounted disk. Dropping it unmounts it; then what is on it is gone.
///
/// Its threads belong to this process. Should the process be killed, the file
/// system only gives errors from then on; the next disk, or [`crate::clean`],
/// removes what is left of it.
pub struct Disk {
    engine: Arc<Engine>,
    timer: Option<JoinHandle<()>>,
    session: Option<BackgroundSession>,
    /// Where the FUSE file system is mounted.
    inner: PathBuf,
    device: Option<LoopDevice>,
    at: PathBuf,
    file_system: FileSystem,
    flags: MountFlags,
    mounted: AtomicBool,
    /// How long users of the file system are waited for.
    patience: Duration,
    /// Whether the directory `at` was made for it.
    made: bool,
}

impl Disk {
    /// Make a disk with a file system and mount it.
    ///
    /// # Errors
    ///
    /// Not root; no `/dev/fuse`; a command is missing; mkfs does not like the
    /// options; `at` cannot be mounted on. Nothing is left behind then.
    pub fn mount(options: &Options) -> Result<Disk, Error> {
        check_means()?;
        // What others left is no reason not to start.
        let _ = leftovers::clean();
        let made = !options.at.exists();
        fs::create_dir_all(&options.at).map_err(|e| cannot("make", &options.at, e))?;
        let at = options.at.canonicalize().map_err(|e| cannot("find", &options.at, e))?;
        let no_access_times =
            if options.no_access_times { MountFlags::NOATIME } else { MountFlags::empty() };
        let name = Name::new()?;
        let mut disk = Disk {
            engine: Arc::new(Engine::new()),
            timer: None,
            session: None,
            inner: name.directory(),
            device: None,
            at,
            file_system: options.file_system,
            flags: no_access_times,
            mounted: AtomicBool::new(false),
            patience: PATIENCE,
            made,
        };
        // From here on an error drops the disk, which takes apart what there is.
        disk.build(options, name)?;
        disk.engine.reset_counts();
        disk.engine.set_model(options.model);
        Ok(disk)
    }

    fn build(&mut self, options: &Options, name: Name) -> Result<(), Error> {
        fs::create_dir_all(&self.inner).map_err(|e| cannot("make", &self.inner, e))?;
        let store = Store::new(&options.backing, options.bytes & !4095)?;
        self.timer = Some(self.engine.start()?);
        let device = Device::new(Arc::clone(&self.engine), store);
        self.session = Some(serve(device, &self.inner, name)?);
        let device = LoopDevice::attach(&self.inner.join(FILE), options.read_ahead, LARGEST)?;
        let device = self.device.insert(device);

        let (maker, package) = self.file_system.maker();
        let mut make = Command::new(maker);
        make.args(self.file_system.maker_options()).args(&options.format_options);
        run(make.arg(&device.device), package)?;
        self.mount_again()
    }

    fn mount_again(&self) -> Result<(), Error> {
        let Some(device) = &self.device else { return Ok(()) };
        let kind = self.file_system.name();
        rustix::mount::mount(&device.device, &self.at, kind, self.flags, None).map_err(|e| {
            let (device, at) = (device.device.display(), self.at.display());
            Error::new(format!("cannot mount {kind} from {device} at {at}: {e}; see dmesg"))
        })?;
        self.mounted.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// Where its file system is mounted.
    pub fn path(&self) -> &Path {
        &self.at
    }

    /// Change how long operations take; `None`: no time at all. Without a model,
    /// operations under way end at once; with one, they end when they would have.
    ///
    /// What is written later, by the kernel of its own accord, takes the time of the
    /// model in force then: [`Disk::remount`] first, or sync.
    pub fn set_model(&self, model: Option<Model>) {
        self.engine.set_model(model);
    }

    /// Let all reads of the device fail with an I/O error, after the usual time.
    pub fn fail_reads(&self, fail: bool) {
        self.engine.fail_reads(fail);
    }

    /// Give no answers, to reads and writes, until it is called with false. Then
    /// those that are due by that time are answered at once, in order.
    pub fn hang(&self, hang: bool) {
        self.engine.hang(hang);
    }

    /// What the device has been asked for.
    pub fn counts(&self) -> Counts {
        self.engine.counts()
    }

    /// Start to count anew.
    pub fn reset_counts(&self) {
        self.engine.reset_counts();
    }

    /// Change how long it is waited for, when the file system is unmounted, that nobody
    /// uses it any more.
    pub fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
    }

    /// Unmount the file system and mount it again: all is written out, and nothing of
    /// it is left in the page cache, nor are its inodes and directory entries.
    ///
    /// # Errors
    ///
    /// Something there is open, or somebody's working directory: it stays mounted. Or
    /// it cannot be mounted, because reads fail: it is unmounted then.
    pub fn remount(&self) -> Result<(), Error> {
        // A mount that failed, as with failing reads, is made good by the next call.
        if self.mounted.load(Ordering::Relaxed) {
            mounts::unmount(&self.at, self.patience)?;
            self.mounted.store(false, Ordering::Relaxed);
        }
        self.mount_again()
    }

    /// Unmount it, which dropping does as well, but without a word.
    ///
    /// # Errors
    ///
    /// The file system was in use for 30 s, or as [`Disk::set_patience`] says. It is no longer
    /// seen then, what is open there gives errors, and what is left goes when its last user does.
    pub fn unmount(mut self) -> Result<(), Error> {
        self.take_apart()
    }

    fn take_apart(&mut self) -> Result<(), Error> {
        // Unmounting writes; that must neither wait nor fail.
        self.engine.hang(false);
        self.engine.fail_reads(false);
        self.engine.set_model(None);
        let mut gone = true;
        if self.mounted.swap(false, Ordering::Relaxed) {
            gone &= mounts::unmount_or_detach(&self.at, self.patience);
        }
        if let Some(device) = self.device.take() {
            gone &= device.detach(while_free(gone, self.patience));
        }
        if let Some(session) = self.session.take() {
            gone &= mounts::unmount(&self.inner, while_free(gone, self.patience)).is_ok();
            if !gone {
                // Whoever still uses it gets errors rather than no answer for ever.
                let _ = rustix::mount::unmount(&self.inner, UnmountFlags::FORCE);
                let _ = rustix::mount::unmount(&self.inner, UnmountFlags::DETACH);
            }
            // Its thread ends when the mount goes, or the connection.
            let _ = session.join();
        }
        self.engine.end();
        if let Some(timer) = self.timer.take() {
            let _ = timer.join();
        }
        let _ = fs::remove_dir(&self.inner);
        if std::mem::take(&mut self.made) {
            let _ = fs::remove_dir(&self.at);
        }
        if gone {
            return Ok(());
        }
        let at = self.at.display();
        Err(Error::new(format!(
            "the disk at {at} was in use when it was unmounted: it gives errors from now on, \
             and goes when what uses it ends"
        )))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // After `unmount` this finds nothing to do.
        if let Err(error) = self.take_apart() {
            eprintln!("slowdisk: {error}");
        }
    }
}

impl fmt::Debug for Disk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Disk { at, device, file_system, .. } = self;
        f.debug_struct("Disk")
            .field("at", at)
            .field("device", device)
            .field("file_system", file_system)
            .finish_non_exhaustive()
    }
}

/// Mount the FUSE file system and serve it.
fn serve(device: Device, at: &Path, name: Name) -> Result<BackgroundSession, Error> {
    let mut config = Config::default();
    config.mount_options = vec![MountOption::FSName(name.source())];
    let path = at.to_owned();
    // The threads of the session inherit what the one that starts them is fit for.
    let started = std::thread::spawn(move || {
        serve_the_kernel();
        Session::new(device, &path, &config)?.spawn()
    });
    match started.join() {
        Ok(Ok(session)) => Ok(session),
        Ok(Err(e)) => Err(cannot("mount the FUSE file system at", at, e)),
        Err(_) => Err(Error::new("the thread that mounts the FUSE file system panicked")),
    }
}

fn cannot(what: &str, path: &Path, error: std::io::Error) -> Error {
    Error::new(format!("cannot {what} {}: {error}", path.display()))
}

/// Better said in advance than by the third command that fails.
fn check_means() -> Result<(), Error> {
    if !rustix::process::geteuid().is_root() {
        return Err(Error::new("a slow disk needs root, to mount it: run this as root"));
    }
    for file in ["/dev/fuse", "/dev/loop-control"] {
        if !Path::new(file).exists() {
            return Err(Error::new(format!(
                "a slow disk needs {file}: load the kernel modules fuse and loop"
            )));
        }
    }
    Ok(())
}
