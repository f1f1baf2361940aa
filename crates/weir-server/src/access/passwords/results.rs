//! What came of passwords that were checked, so that each need be checked only once. Neither users nor
//! passwords are kept, but a hash of both under a key that only this process has. Used by
//! [`super::checker`].

use std::fmt;
use std::hash::RandomState;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use blake3::Hasher;
use lru::LruCache;
use rustix::rand::{GetRandomFlags, getrandom};

/// The most results that are kept of each kind: those that were used least recently go. Wrong ones are
/// apart, so that who guesses does not drive out who knows.
const RIGHT: usize = 4096;
const WRONG: usize = 256;

/// A user and a password, and the hash that they were checked against: another hash in the file makes
/// another digest.
pub(super) type Digest = [u8; 32];

/// See the module.
pub(super) struct Results {
    key: [u8; 32],
    kept: Mutex<Kept>,
}

struct Kept {
    right: LruCache<Digest, (), RandomState>,
    wrong: LruCache<Digest, (), RandomState>,
}

impl fmt::Debug for Results {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Results").finish_non_exhaustive()
    }
}

impl Results {
    /// # Errors
    ///
    /// The kernel gives no random bytes.
    pub(super) fn new() -> io::Result<Results> {
        let mut key = [0; 32];
        // So few come all at once (getrandom(2)).
        getrandom(&mut key, GetRandomFlags::empty())?;
        let empty = || LruCache::unbounded_with_hasher(RandomState::new());
        Ok(Results { key, kept: Mutex::new(Kept { right: empty(), wrong: empty() }) })
    }

    /// The digest of a user with this password, to be checked against `hash`.
    pub(super) fn digest(&self, hash: &str, user: &str, password: &str) -> Digest {
        let mut hasher = Hasher::new_keyed(&self.key);
        for part in [hash, user, password] {
            // Where one ends and the next begins counts, too.
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
        }
        hasher.finalize().into()
    }

    /// Whether it was right, if that is known.
    pub(super) fn known(&self, digest: &Digest) -> Option<bool> {
        let mut kept = self.kept();
        if kept.right.get(digest).is_some() {
            return Some(true);
        }
        kept.wrong.get(digest).map(|()| false)
    }

    /// It was checked.
    pub(super) fn note(&self, digest: Digest, is_right: bool) {
        let mut kept = self.kept();
        let (cache, most) = match is_right {
            true => (&mut kept.right, RIGHT),
            false => (&mut kept.wrong, WRONG),
        };
        cache.put(digest, ());
        if cache.len() > most {
            cache.pop_lru();
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_kept_apart_and_bounded() {
        let results = Results::new().unwrap();
        let right = results.digest("hash", "ann", "secret");
        assert_eq!(results.known(&right), None);
        results.note(right, true);
        for number in 0..2 * WRONG {
            let digest = results.digest("hash", "ann", &number.to_string());
            results.note(digest, false);
            assert_eq!((results.known(&digest), results.known(&right)), (Some(false), Some(true)));
        }
        assert_eq!(results.kept().wrong.len(), WRONG);
        assert_eq!(results.known(&results.digest("hash", "ann", "0")), None, "it was forgotten");
        for (hash, user, password) in
            [("other", "ann", "secret"), ("hash", "anns", "ecret"), ("hash", "ann", "secreT")]
        {
            assert_ne!(results.digest(hash, user, password), right);
        }
        let another = Results::new().unwrap().digest("hash", "ann", "secret");
        assert_ne!(another, right, "the key is the process's own");
    }
}
