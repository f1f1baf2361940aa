//! A file of users and passwords: read when the server starts, and again when it has changed. One that
//! cannot be used then is named, and the users before stay. Opened for routes with `basic_auth`; the
//! server's main thread has helpers look after all of them.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;
use std::{fs, io};

use super::users::Users;
use crate::error::ServeError;
use crate::sys::file_helper::by_helper;
use crate::sys::file_stamp::FileStamp;

/// How often it is looked whether files have changed.
const LOOK: Duration = Duration::from_secs(1);

/// See the module.
#[derive(Debug)]
pub(crate) struct PasswordFile {
    path: PathBuf,
    users: RwLock<Arc<Users>>,
    seen: Mutex<Seen>,
}

/// What the file was like; `None`: it was not there.
#[derive(Debug)]
struct Seen {
    /// When it was read last.
    read: Option<FileStamp>,
    /// When it was looked at last.
    last: Option<FileStamp>,
    /// Why it cannot be read, as the log says already.
    failure: Option<String>,
}

impl PasswordFile {
    /// # Errors
    ///
    /// It cannot be read, or has something that cannot be checked: which file, line and user, and what to do.
    pub(super) fn open(path: &Path) -> Result<PasswordFile, ServeError> {
        let stamp = FileStamp::of(path);
        let users = users(path, read(path)).map_err(ServeError::told)?;
        let seen = Seen { read: stamp, last: stamp, failure: None };
        let (path, users) = (path.to_owned(), RwLock::new(Arc::new(users)));
        Ok(PasswordFile { path, users, seen: Mutex::new(seen) })
    }

    /// The users as they are now.
    pub(super) fn users(&self) -> Arc<Users> {
        self.users.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Reads it anew if it has changed since it was read, and not since the last look: then it is written
    /// whole.
    fn look(&self) {
        self.look_by(read);
    }

    /// The same, read `by` that.
    fn look_by(&self, by: impl FnOnce(&Path) -> io::Result<String>) {
        let now = FileStamp::of(&self.path);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let is_settled = std::mem::replace(&mut seen.last, now) == now;
        if !is_settled {
            return;
        }
        if seen.read == now {
            seen.failure = None;
            return;
        }
        let text = match by(&self.path) {
            // The next look tries again: the error may pass and the file be the same.
            Err(error) if error.kind() != io::ErrorKind::InvalidData => {
                let why = unread(&self.path, &error);
                if seen.failure.as_ref() != Some(&why) {
                    tracing::error!("users and passwords stay as they were: {why}");
                }
                seen.failure = Some(why);
                return;
            }
            text => text,
        };
        (seen.read, seen.failure) = (now, None);
        match users(&self.path, text) {
            Ok(users) => {
                *self.users.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(users);
                tracing::info!("passwords were read anew from {}", self.path.display());
            }
            Err(why) => tracing::error!("users and passwords stay as they were: {why}"),
        }
    }
}

/// Reads files anew that have changed, for as long as the server runs.
pub(crate) async fn watch(files: Vec<Arc<PasswordFile>>) {
    while !files.is_empty() {
        tokio::time::sleep(LOOK).await;
        let files = files.clone();
        // However long they take to answer: meanwhile there is no other look. Without a thread there is
        // none.
        let _ = by_helper(move || files.iter().for_each(|file| file.look())).await;
    }
}

fn read(path: &Path) -> io::Result<String> {
    fs::read_to_string(path)
}

/// That the file cannot be read, and why.
fn unread(path: &Path, error: &io::Error) -> String {
    format!("cannot read the passwords of `basic_auth` in {}: {error}", path.display())
}

/// The users in what was read of the file.
fn users(path: &Path, text: io::Result<String>) -> Result<Users, String> {
    let name = path.display();
    let text = text.map_err(|error| unread(path, &error))?;
    let users = Users::parse(&text).map_err(|wrong| format!("{name}:{wrong}"))?;
    if let Some((least, most)) = users.unequal_costs() {
        tracing::warn!(
            "the hashes in {name} have costs from {least} to {most}, so the time that a wrong password takes \
             tells who is a user; make all with one cost, such as `htpasswd -B -C {most}`"
        );
    }
    Ok(users)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HASH: &str = "$2y$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW";

    #[test]
    fn a_change_is_read_once_it_is_whole_and_a_file_that_vanishes_leaves_its_users() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("users");
        let wrong = PasswordFile::open(&path).unwrap_err().to_string();
        assert!(wrong.starts_with("cannot read the passwords of `basic_auth` in /"), "{wrong}");
        fs::write(&path, format!("ann:{HASH}\n")).unwrap();
        let file = PasswordFile::open(&path).unwrap();
        let has = |user: &str| file.users().find(user).1;
        file.look();
        assert!(has("ann") && !has("bob"));
        fs::write(&path, format!("bob:{HASH}\nann")).unwrap();
        file.look();
        assert!(has("ann"), "it may still be written");
        fs::write(&path, format!("bob:{HASH}\n")).unwrap();
        file.look();
        file.look();
        assert!(has("bob") && !has("ann"));
        for broken in [None, Some("bob:secret\n")] {
            match broken {
                Some(text) => fs::write(&path, text).unwrap(),
                None => fs::remove_file(&path).unwrap(),
            }
            (0..3).for_each(|_| file.look());
            assert!(has("bob"), "{broken:?}");
        }
        fs::write(&path, format!("eve:{HASH}\n")).unwrap();
        (0..2).for_each(|_| file.look());
        assert!(has("eve") && !has("bob"));
    }

    #[test]
    fn a_file_that_could_not_be_read_for_a_while_is_tried_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("users");
        fs::write(&path, format!("ann:{HASH}\n")).unwrap();
        let file = PasswordFile::open(&path).unwrap();
        fs::write(&path, format!("bobby:{HASH}\n")).unwrap();
        file.look();
        let has = |user: &str| file.users().find(user).1;
        let told = || file.seen.lock().unwrap().failure.clone();
        for errno in [5, 5, 24] {
            file.look_by(|_| Err(io::Error::from_raw_os_error(errno)));
            assert!(has("ann") && !has("bobby"));
            assert!(told().unwrap().contains(&format!("(os error {errno})")), "{:?}", told());
        }
        // It has not changed meanwhile.
        file.look();
        assert!(has("bobby") && !has("ann"));
        assert_eq!(told(), None);
        // What was read is not read again, whether it can be used or not.
        file.look_by(|_| unreachable!("it is as it was"));
        for unusable in [&b"ann:secret\n"[..], b"ann:\xff"] {
            fs::write(&path, unusable).unwrap();
            (0..2).for_each(|_| file.look());
            file.look_by(|_| unreachable!("it is as it was"));
            assert!(has("bobby"));
        }
    }

    #[test]
    fn what_is_wrong_names_file_and_line() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("users");
        fs::write(&path, "\nann:secret\n").unwrap();
        let wrong = PasswordFile::open(&path).unwrap_err().to_string();
        assert!(
            wrong.starts_with(&format!("{}:2: the password of ann", path.display())),
            "{wrong}"
        );
    }
}
