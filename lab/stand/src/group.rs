//! A memory group with a limit, for one server and its page cache: version 1 or 2 of control groups,
//! whichever has the memory controller here. Servers on the slow disk are started in one.

use std::ffi::OsString;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use weir_peers::{Error, Result, tool};

/// A group; removed when dropped, which works once its processes have ended.
#[derive(Debug)]
pub struct MemoryGroup {
    path: PathBuf,
    /// What was mounted for it.
    mounted: Option<PathBuf>,
}

impl MemoryGroup {
    /// A new group in which processes and their page cache get so many bytes.
    ///
    /// # Errors
    ///
    /// Without root, or where the kernel has no memory controller.
    pub fn new(limit: u64) -> Result<MemoryGroup> {
        let mounts = fs::read_to_string("/proc/self/mounts")
            .map_err(|e| Error(format!("cannot read /proc/self/mounts: {e}")))?;
        let (root, mounted, file) = match find(&mounts) {
            Some((root, file)) => (root, None, file),
            None => {
                let root =
                    std::env::temp_dir().join(format!("weir-stand-memory-{}", std::process::id()));
                let failed = |e| Error::file("make", &root, &e);
                fs::create_dir_all(&root).map_err(failed)?;
                let at = root.to_string_lossy();
                tool::output("mount", &["-t", "cgroup", "-o", "memory", "memory", &at])?;
                (root.clone(), Some(root), V1_LIMIT)
            }
        };
        if file == V2_LIMIT {
            // Fails where it is on already or not ours to give; the limit tells.
            let _ = fs::write(root.join("cgroup.subtree_control"), "+memory");
        }
        remove_stale(&root);
        let path = root.join(format!("{PREFIX}{}", std::process::id()));
        let group = MemoryGroup { path: path.clone(), mounted };
        let failed = |e| Error::file("make the memory group", &path, &e);
        if !group.path.is_dir() {
            fs::create_dir(&group.path).map_err(failed)?;
        }
        fs::write(group.path.join(file), limit.to_string())
            .map_err(|e| Error(format!("cannot limit {}: {e}; are you root?", path.display())))?;
        Ok(group)
    }

    /// Has the kernel take back what it can of the group's memory while its programs run: their page
    /// cache.
    ///
    /// # Errors
    ///
    /// Where the kernel cannot be asked for that.
    pub fn forget_pages(&self) -> Result<()> {
        let whole = self.path.join("memory.force_empty");
        let (file, much) = match whole.exists() {
            true => (whole, "0"),
            // More than there is: it takes what it can, and says that it was less.
            false => (self.path.join("memory.reclaim"), "1T"),
        };
        match fs::write(&file, much) {
            Err(e) if e.kind() != ErrorKind::WouldBlock => Err(Error::file("write to", &file, &e)),
            _ => Ok(()),
        }
    }

    /// How many processes the kernel ended because the group's memory was full.
    pub fn killed(&self) -> u64 {
        let read = |file: &str| fs::read_to_string(self.path.join(file)).unwrap_or_default();
        let text = read("memory.oom_control") + &read("memory.events");
        let count = text.lines().find_map(|line| line.strip_prefix("oom_kill "));
        count.and_then(|count| count.trim().parse().ok()).unwrap_or(0)
    }

    /// The words that start a program in the group: a shell joins it, then becomes what follows.
    pub fn before(&self) -> Vec<OsString> {
        let shell = ["sh", "-c", "echo $$ >\"$0\" && exec \"$@\""].map(OsString::from);
        shell.into_iter().chain([self.path.join("cgroup.procs").into()]).collect()
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        // The last process may still be on its way out.
        for _ in 0..40 {
            if fs::remove_dir(&self.path).is_ok() || !self.path.exists() {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        if let Some(root) = &self.mounted {
            let _ = tool::output("umount", &[&root.to_string_lossy()]);
            let _ = fs::remove_dir(root);
        }
    }
}

/// Remove the groups of runs that were killed.
fn remove_stale(root: &Path) {
    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let owner = name.to_str().and_then(|name| name.strip_prefix(PREFIX));
        if owner.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Before the number of the process a group belongs to.
const PREFIX: &str = "weir-stand-";
const V1_LIMIT: &str = "memory.limit_in_bytes";
const V2_LIMIT: &str = "memory.max";

/// Where the memory controller is mounted, and the name of its limit.
fn find(mounts: &str) -> Option<(PathBuf, &'static str)> {
    mounts.lines().find_map(|line| {
        let mut words = line.split(' ').skip(1);
        let (at, kind, options) = (Path::new(words.next()?), words.next()?, words.next()?);
        match kind {
            "cgroup" if options.split(',').any(|o| o == "memory") => Some((at.into(), V1_LIMIT)),
            "cgroup2" => {
                let has = fs::read_to_string(at.join("cgroup.controllers")).unwrap_or_default();
                has.split_whitespace().any(|c| c == "memory").then(|| (at.into(), V2_LIMIT))
            }
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_memory_controller_is_found_among_mounts() {
        let mounts = "proc /proc proc rw 0 0\ncgroup /c/cpu cgroup rw,cpu 0 0\n\
                      cgroup /c/memory cgroup rw,relatime,memory 0 0\n";
        assert_eq!(find(mounts), Some(("/c/memory".into(), V1_LIMIT)));
        assert_eq!(find("proc /proc proc rw 0 0\n"), None);
    }
}
