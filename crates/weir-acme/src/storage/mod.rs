//! The directory where accounts, keys and certificates are kept, a part of it for each ACME server.
//! Used by the keeper, the account and orders. Several processes may share it.
//!
//! ```text
//! DIRECTORY/                                   0700
//!   acme-v02.api.letsencrypt.org_directory/    0700
//!     _account.json   _account.lock            0600; no host is called so
//!     www.example.org.pem                      0600; the key, then the chain
//!     www.example.org.lock                     0600; held by the process that orders
//!     www.example.org.order                    0600; while the ACME server makes the certificate
//!     _challenges/www.example.org              0600; while it is ordered
//! ```
//!
//! A key and its chain are one file, and files are replaced whole, so nobody ever reads half of one or
//! a key beside a strange chain.

mod error;
mod lock;
mod pem;
mod whole;

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};
use rustix::io::Errno;

pub(crate) use self::error::StorageError;
pub(crate) use self::lock::Lock;
pub(crate) use self::pem::Pem;
use crate::host_name::HostName;
use crate::settings::DirectoryUrl;

const ACCOUNT: &str = "_account";
const CHALLENGES: &str = "_challenges";

/// See the module.
#[derive(Clone, Debug)]
pub(crate) struct Storage {
    directory: PathBuf,
}

impl Storage {
    /// Opens the part of `directory` for `server`, and makes both if they are not there.
    ///
    /// # Errors
    ///
    /// If they cannot be made, or no file can be made in them.
    pub(crate) fn open(directory: &Path, server: &DirectoryUrl) -> Result<Storage, StorageError> {
        let directory = directory.join(server.file_name());
        for directory in [&directory, &directory.join(CHALLENGES)] {
            make_private(directory).map_err(|error| StorageError::new("use", directory, error))?;
        }
        tempfile::tempfile_in(&directory)
            .map_err(|error| StorageError::new("write to", &directory, error))?;
        Ok(Storage { directory })
    }

    /// Whether [`Storage::open`] could, as far as permissions tell. Makes and changes nothing.
    ///
    /// # Errors
    ///
    /// If it could not.
    pub(crate) fn check(directory: &Path, server: &DirectoryUrl) -> Result<(), StorageError> {
        let directory = directory.join(server.file_name());
        for directory in [&directory, &directory.join(CHALLENGES)] {
            check_private(directory).map_err(|error| StorageError::new("use", directory, error))?;
        }
        Ok(())
    }

    /// The key and chain of `name`, if they are there.
    pub(crate) fn certificate(&self, name: &HostName) -> Result<Option<Pem>, StorageError> {
        let path = self.certificate_path(name);
        let Some(text) = read(&path)? else { return Ok(None) };
        let pem = Pem::split(&text).map_err(|error| StorageError::new("use", &path, error))?;
        Ok(Some(pem))
    }

    /// Keeps `pem`.
    pub(crate) fn save_certificate(&self, name: &HostName, pem: &Pem) -> Result<(), StorageError> {
        self.save(&self.certificate_path(name), pem.joined().as_bytes())
    }

    /// The lock of the order for `name`; `None`: another process, or another part of this one, has it.
    pub(crate) fn lock_certificate(&self, name: &HostName) -> Result<Option<Lock>, StorageError> {
        self.lock(name.as_str())
    }

    /// What [`Storage::save_order`] kept.
    pub(crate) fn order(&self, name: &HostName) -> Result<Option<String>, StorageError> {
        read(&self.order_path(name))
    }

    /// Keeps the order for `name` that is under way.
    pub(crate) fn save_order(&self, name: &HostName, text: &str) -> Result<(), StorageError> {
        self.save(&self.order_path(name), text.as_bytes())
    }

    /// Ends that: there is nothing to go on with.
    pub(crate) fn forget_order(&self, name: &HostName) -> Result<(), StorageError> {
        let path = self.order_path(name);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(StorageError::new("remove", &path, error))
            }
            _ => Ok(()),
        }
    }

    /// What [`Storage::save_account`] kept.
    pub(crate) fn account(&self) -> Result<Option<String>, StorageError> {
        read(&self.account_path())
    }

    /// Keeps the account.
    pub(crate) fn save_account(&self, text: &str) -> Result<(), StorageError> {
        self.save(&self.account_path(), text.as_bytes())
    }

    /// Puts the account's file aside, as the server does not know the account any more.
    pub(crate) fn forget_account(&self) -> Result<(), StorageError> {
        let path = self.account_path();
        match fs::rename(&path, path.with_extension("json.unknown")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(StorageError::new("rename", &path, error))
            }
            _ => Ok(()),
        }
    }

    /// The lock for making an account; `None`: somebody else has it.
    pub(crate) fn lock_account(&self) -> Result<Option<Lock>, StorageError> {
        self.lock(ACCOUNT)
    }

    /// Tells the other processes what the challenge of `name` is answered with.
    pub(crate) fn share_answer(&self, name: &HostName, text: &str) -> Result<(), StorageError> {
        self.save(&self.challenge_path(name), text.as_bytes())
    }

    /// Ends that. An answer that stays although its order is over does no harm.
    pub(crate) fn withdraw_answer(&self, name: &HostName) {
        let _ = fs::remove_file(self.challenge_path(name));
    }

    /// The answers of all processes.
    pub(crate) fn shared_answers(&self) -> Result<Vec<(HostName, String)>, StorageError> {
        let directory = self.directory.join(CHALLENGES);
        let entries = fs::read_dir(&directory);
        let entries = entries.map_err(|error| StorageError::new("read", &directory, error))?;
        let answers = entries.flatten().filter_map(|entry| {
            let name = entry.file_name().to_str()?.parse().ok()?;
            Some((name, fs::read_to_string(entry.path()).ok()?))
        });
        Ok(answers.collect())
    }

    fn challenge_path(&self, name: &HostName) -> PathBuf {
        self.directory.join(CHALLENGES).join(name.as_str())
    }

    fn order_path(&self, name: &HostName) -> PathBuf {
        self.directory.join(format!("{name}.order"))
    }

    /// Where the key and chain of `name` are.
    pub(crate) fn certificate_path(&self, name: &HostName) -> PathBuf {
        self.directory.join(format!("{name}.pem"))
    }

    /// Where the account is.
    pub(crate) fn account_path(&self) -> PathBuf {
        self.directory.join(format!("{ACCOUNT}.json"))
    }

    fn save(&self, path: &Path, bytes: &[u8]) -> Result<(), StorageError> {
        whole::write(&self.directory, path, bytes)
            .map_err(|error| StorageError::new("write", path, error))
    }

    fn lock(&self, name: &str) -> Result<Option<Lock>, StorageError> {
        let path = self.directory.join(format!("{name}.lock"));
        Lock::take(&path).map_err(|error| StorageError::new("lock", &path, error))
    }
}

/// The text of a file; `None` if it is not there.
fn read(path: &Path) -> Result<Option<String>, StorageError> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(StorageError::new("read", path, error)),
    }
}

/// Makes the directory and those above it with mode 0700, and takes everybody else's permissions from
/// it if it was there.
fn make_private(directory: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let mode = fs::metadata(directory)?.permissions().mode();
    if mode & 0o077 != 0 {
        fs::set_permissions(directory, Permissions::from_mode(0o700))?;
        tracing::warn!(
            "{}: others could enter this directory of private keys (mode {:o}); its mode is set to 700",
            directory.display(),
            mode & 0o777
        );
    }
    Ok(())
}

/// Whether [`make_private`] could make the directory, and this user could make files in it.
fn check_private(directory: &Path) -> io::Result<()> {
    // An empty path is what is left of a relative one, and stands for the working directory.
    let place = |path: &Path| if path == "" { PathBuf::from(".") } else { path.to_owned() };
    for path in directory.ancestors().map(place) {
        match fs::metadata(&path) {
            Ok(found) if !found.is_dir() => return Err(Errno::NOTDIR.into()),
            Ok(_) => return Ok(access(&path, Access::WRITE_OK | Access::EXEC_OK)?),
            // A link that leads nowhere is in the way.
            Err(error) if error.kind() != io::ErrorKind::NotFound || path.is_symlink() => {
                return Err(error);
            }
            Err(_) => {}
        }
    }
    Ok(())
}

#[cfg(test)]
pub(crate) mod tests;
