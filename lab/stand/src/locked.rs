//! Files whose pages stay in memory, whatever the kernel would take back: an idle page's (DAMON), or one
//! that a file system's shrinker finds. What experiments call "in memory" is held so.

use std::fs;
use std::path::{Path, PathBuf};

use weir_peers::{Error, Program, Result, Server};

/// Pages of files, locked until dropped; a process of `vmtouch` holds them.
#[derive(Debug)]
pub struct Locked {
    _holder: Server,
}

impl Locked {
    /// Lock these files, reading what is not in the page cache yet. Pages that are there stay charged to
    /// the memory group that read them. What `vmtouch` needs and says goes to `directory`.
    ///
    /// # Errors
    ///
    /// When `vmtouch` is not installed, may not lock so much or cannot open a file.
    pub fn files(paths: impl IntoIterator<Item = PathBuf>, directory: &Path) -> Result<Locked> {
        let (list, pid) = (directory.join("locked.txt"), directory.join("locked.pid"));
        let paths = paths.into_iter().map(|path| path.display().to_string() + "\n");
        fs::write(&list, paths.collect::<String>()).map_err(|e| Error::file("write", &list, &e))?;
        // It writes its number when all is locked.
        match fs::remove_file(&pid) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::file("remove", &pid, &e));
            }
            _ => {}
        }
        let program =
            Program::new("vmtouch").args(["-l", "-q", "-b"]).arg(&list).arg("-P").arg(&pid);
        let command = program.command(std::iter::empty::<&str>());
        let mut holder = Server::spawn(command, directory.join("locked.log"), None)?;
        holder.wait_until_ready(&|| Ok(pid.exists()))?;
        Ok(Locked { _holder: holder })
    }
}

#[cfg(test)]
mod tests {
    use rustix::fs::{Advice, fadvise};
    use weir_peers::tool;

    use super::*;

    /// What `vmtouch` says of a file that the kernel has been asked to forget.
    fn forgotten(file: &Path) -> String {
        let opened = fs::File::open(file).expect("it is there");
        opened.sync_all().expect("a disk");
        fadvise(&opened, 0, None, Advice::DontNeed).expect("advice");
        tool::output("vmtouch", &[&file.to_string_lossy()]).expect("this test needs vmtouch")
    }

    #[test]
    fn locked_pages_stay_until_the_lock_is_dropped() {
        let directory = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).expect("a directory");
        let file = directory.path().join("file");
        fs::write(&file, [1; 100_000]).expect("room");
        assert!(forgotten(&file).contains("0/25"), "{}", forgotten(&file));
        let locked = Locked::files([file.clone()], directory.path()).expect("it locks");
        assert!(forgotten(&file).contains("25/25"), "{}", forgotten(&file));
        drop(locked);
        assert!(forgotten(&file).contains("0/25"), "{}", forgotten(&file));
    }
}
