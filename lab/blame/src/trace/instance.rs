//! A trace buffer of our own in tracefs: switched on for some tasks, read without waiting, and removed
//! when dropped. The source of events reads it.
//!
//! tracefs is mounted anew without a place in any directory, so nothing depends on where this machine
//! has it, and nothing but the buffer is left by a process that is killed; the next one removes that.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::OFlags;
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

const PREFIX: &str = "weir-blame-";
/// KiB of the buffers of all processors. What does not fit until it is read is lost, which the report says.
const BUFFERS: usize = 64 << 10;
/// The file says so outside of containers: `PROC_PID_INIT_INO` of the kernel.
const FIRST_PIDS: &str = "pid:[4026531836]";

/// The buffer, with one reader for each processor.
#[derive(Debug)]
pub(super) struct Instance {
    path: PathBuf,
    readers: Vec<File>,
    /// Holds the mount.
    _mount: OwnedFd,
}

impl Instance {
    /// Makes one in which nothing is switched on.
    ///
    /// # Errors
    ///
    /// Why this kernel or this user has no tracepoints, as the end of a sentence.
    pub(super) fn make() -> Result<Instance, String> {
        // Tracepoints tell the ids that the first namespace has; in another, ours are different.
        if !sees_all_processes() {
            return Err("this runs in a container with process ids of its own".into());
        }
        let mount = mount().map_err(|e| format!("tracefs cannot be mounted ({e}), run as root"))?;
        let all = instances(&mount);
        remove_stale(&all);
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = all.join(format!("{PREFIX}{}-{number}", std::process::id()));
        fs::create_dir(&path).map_err(|e| format!("tracefs gives no trace buffer ({e})"))?;
        let mut instance = Instance { path, readers: Vec::new(), _mount: mount };
        // The new buffer is dropped, and so removed, if one of these fails.
        instance.set("tracing_on", "0")?;
        // The clock of this process, the same on all processors.
        instance.set("trace_clock", "mono")?;
        let processors = instance.processors()?;
        let size = (BUFFERS / processors.len().max(1)).clamp(512, 8 << 10);
        instance.set("buffer_size_kb", &size.to_string())?;
        // Tasks that the watched ones start are watched, too.
        instance.set("options/event-fork", "1")?;
        for processor in processors {
            let file = processor.join("trace_pipe_raw");
            let flags = OFlags::NONBLOCK.bits().cast_signed();
            let reader = OpenOptions::new().read(true).custom_flags(flags).open(&file);
            instance.readers.push(reader.map_err(|e| format!("{}: {e}", file.display()))?);
        }
        Ok(instance)
    }

    /// What `events/…/format` says of a tracepoint.
    ///
    /// # Errors
    ///
    /// When this kernel does not have it.
    pub(super) fn format(&self, tracepoint: &str) -> Result<String, String> {
        fs::read_to_string(self.path.join("events").join(tracepoint).join("format"))
            .map_err(|e| format!("this kernel has no tracepoint {tracepoint} ({e})"))
    }

    /// Adds tasks to those that are traced.
    ///
    /// # Errors
    ///
    /// When the kernel refuses them.
    pub(super) fn add(&self, tasks: &[u32]) -> Result<(), String> {
        let path = self.path.join("set_event_pid");
        let append = || {
            // Opened otherwise it forgets those that it has.
            let mut file = OpenOptions::new().append(true).open(&path)?;
            for some in tasks.chunks(100) {
                let words: Vec<String> = some.iter().map(u32::to_string).collect();
                file.write_all(words.join(" ").as_bytes())?;
            }
            Ok(())
        };
        append().map_err(|e: std::io::Error| format!("set_event_pid: {e}"))
    }

    /// Switches these tracepoints on.
    ///
    /// # Errors
    ///
    /// When the kernel does not.
    pub(super) fn start(&self, tracepoints: &[&str]) -> Result<(), String> {
        for tracepoint in tracepoints {
            self.set(&format!("events/{tracepoint}/enable"), "1")?;
        }
        self.set("tracing_on", "1")
    }

    /// Switches everything off; what is in the buffer can still be read.
    ///
    /// # Errors
    ///
    /// When the kernel does not.
    pub(super) fn stop(&self) -> Result<(), String> {
        self.set("tracing_on", "0")?;
        self.set("events/enable", "0")
    }

    /// How many buffers there are.
    pub(super) fn buffers(&self) -> usize {
        self.readers.len()
    }

    /// The next page of a buffer, into `page`; none if it is empty.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub(super) fn read<'a>(
        &mut self,
        buffer: usize,
        page: &'a mut [u8],
    ) -> Result<Option<&'a [u8]>, String> {
        let Some(reader) = self.readers.get_mut(buffer) else { return Ok(None) };
        match reader.read(page) {
            Ok(0) => Ok(None),
            Ok(length) => Ok(page.get(..length)),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {
                Ok(None)
            }
            Err(e) => Err(format!("trace_pipe_raw of processor {buffer}: {e}")),
        }
    }

    fn processors(&self) -> Result<Vec<PathBuf>, String> {
        let path = self.path.join("per_cpu");
        let entries = fs::read_dir(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(entries.flatten().map(|entry| entry.path()).collect())
    }

    fn set(&self, file: &str, value: &str) -> Result<(), String> {
        fs::write(self.path.join(file), value).map_err(|e| format!("tracefs, {file}: {e}"))
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        let _ = self.stop();
        // It cannot be removed while it is read.
        self.readers.clear();
        if let Err(error) = fs::remove_dir(&self.path) {
            // Standard error may be closed.
            let _ = writeln!(
                std::io::stderr(),
                "weir-blame: a trace buffer stays in tracefs: {error}; the next run removes it"
            );
        }
    }
}

fn mount() -> rustix::io::Result<OwnedFd> {
    let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::empty())
}

fn instances(mount: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}/instances", mount.as_raw_fd()))
}

fn sees_all_processes() -> bool {
    fs::read_link("/proc/self/ns/pid").is_ok_and(|pids| pids == Path::new(FIRST_PIDS))
}

/// Removes the buffers of processes that were killed, if this user may and can tell which these are.
pub(crate) fn remove_left() {
    if sees_all_processes()
        && let Ok(mount) = mount()
    {
        remove_stale(&instances(&mount));
    }
}

/// Removes the buffers of processes that were killed.
fn remove_stale(instances: &Path) {
    for entry in fs::read_dir(instances).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split_once('-'));
        if owner.is_some_and(|(pid, _)| !Path::new("/proc").join(pid).exists()) {
            // Another process may be about to do the same.
            let _ = fs::remove_dir(entry.path());
        }
    }
}
