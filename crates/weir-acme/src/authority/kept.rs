//! The account as text: in the storage, or in memory while it cannot be written there, such as on a full
//! disk. Used by the account and by orders.

use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::storage::{Storage, StorageError};

/// See the module.
pub(super) struct Kept {
    storage: Storage,
    /// What could not be written yet.
    unsaved: Mutex<Option<String>>,
}

impl Kept {
    pub(super) fn new(storage: Storage) -> Kept {
        Kept { storage, unsaved: Mutex::default() }
    }

    pub(super) fn storage(&self) -> &Storage {
        &self.storage
    }

    /// The account, if there is one. What could not be written is tried again.
    ///
    /// # Errors
    ///
    /// If there is a file and it cannot be read.
    pub(super) fn read(&self) -> Result<Option<String>, StorageError> {
        let found = self.storage.account()?;
        let mut unsaved = self.unsaved();
        if found.is_some() {
            // Another process could write one.
            *unsaved = None;
            return Ok(found);
        }
        let Some(text) = unsaved.clone() else { return Ok(None) };
        if self.storage.save_account(&text).is_ok() {
            *unsaved = None;
            tracing::info!("the account is in the storage at last");
        }
        Ok(Some(text))
    }

    /// Keeps a new account. What cannot be written is warned of.
    pub(super) fn write(&self, text: String) {
        if let Err(error) = self.storage.save_account(&text) {
            tracing::warn!("the account is used, but a restart loses it: {error}");
            *self.unsaved() = Some(text);
        }
    }

    /// The server does not know the account any more.
    ///
    /// # Errors
    ///
    /// If its file cannot be put aside.
    pub(super) fn forget(&self) -> Result<(), StorageError> {
        *self.unsaved() = None;
        self.storage.forget_account()
    }

    fn unsaved(&self) -> MutexGuard<'_, Option<String>> {
        self.unsaved.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Without the account's key.
        f.debug_struct("Kept").field("storage", &self.storage).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::storage::tests::Small;

    #[test]
    fn an_account_outlasts_a_full_disk() {
        let small = Small::new("64k");
        let server = "https://acme.example/directory".parse().unwrap();
        let storage = Storage::open(small.path(), &server).unwrap();
        let filler = small.fill();
        let kept = Kept::new(storage.clone());
        kept.write("first".to_owned());
        assert_eq!(kept.read().unwrap().as_deref(), Some("first"));
        assert_eq!(storage.account().unwrap(), None);
        assert!(!format!("{kept:?}").contains("first"));

        // There is room again.
        fs::remove_file(&filler).unwrap();
        assert_eq!(kept.read().unwrap().as_deref(), Some("first"));
        assert_eq!(storage.account().unwrap().as_deref(), Some("first"));

        // The server has lost it, also if it is in memory alone.
        kept.forget().unwrap();
        assert_eq!(kept.read().unwrap(), None);
        small.fill();
        kept.write("second".to_owned());
        kept.forget().unwrap();
        assert_eq!(kept.read().unwrap(), None);
    }
}
