//! Entity tags of files: two contents never share one, whatever their times and lengths say. Used by
//! the site when it learns about a file.
//!
//! A tag is the first 96 bits of BLAKE3. The hash has to be a cryptographic one: whoever writes part
//! of a page, such as a comment, could otherwise choose it so that a changed page keeps its tag, and
//! caches would never show the change. Two contents of one's own with the same tag can be found among
//! 2^48, but who can serve both under one name gains nothing by it. The event loop waits for it: BLAKE3
//! uses all of the processor's vector instructions for a single content.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};

use blake3::{Hash, Hasher};
use weir_http::message::conditions::ETag;

use super::open::Identity;

/// Bytes of a hash that make a tag.
const LENGTH: usize = 12;

/// The tag of a content, the same wherever it is served from.
pub(super) fn of_content(bytes: &[u8]) -> ETag {
    tag(&blake3::hash(bytes))
}

/// The tag of a file that has not changed lately: of its device and inode, and of when it changed,
/// which nobody can set. Each copy of the file has its own.
pub(super) fn of_state(identity: &Identity) -> ETag {
    let mut hasher = Hasher::new_derive_key("weir: the state of a file");
    let (modified, changed) = (identity.modified, identity.changed);
    for number in [identity.device, identity.inode, identity.length] {
        hasher.update(&number.to_le_bytes());
    }
    for (seconds, nanoseconds) in [modified, changed] {
        hasher.update(&seconds.to_le_bytes());
        hasher.update(&nanoseconds.to_le_bytes());
    }
    tag(&hasher.finalize())
}

/// A tag that nothing else has or will have.
pub(super) fn of_this_response() -> ETag {
    static PROCESS: LazyLock<u64> = LazyLock::new(|| RandomState::new().hash_one(0));
    static ISSUED: AtomicU64 = AtomicU64::new(0);
    let mut hasher = Hasher::new_derive_key("weir: one response");
    hasher.update(&PROCESS.to_le_bytes());
    hasher.update(&ISSUED.fetch_add(1, Ordering::Relaxed).to_le_bytes());
    tag(&hasher.finalize())
}

fn tag(hash: &Hash) -> ETag {
    let mut bytes = [0; LENGTH];
    bytes.copy_from_slice(&hash.as_bytes()[..LENGTH]);
    ETag::from_hash(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_have_their_tags_for_ever() {
        // What `b3sum --length 12` says (af1349b9f5f9a1a6a0404dea), in the digits of tags.
        assert_eq!(of_content(b"").as_str(), "\"hnD9kVNveQQWG4tg\"");
        assert_ne!(of_content(b"version one"), of_content(b"version two"));
    }

    #[test]
    fn whatever_changes_about_a_file_changes_its_tag() {
        let identity = |change: usize, by: i64| {
            let n = |field| if field == change { by } else { 0 };
            Identity {
                device: n(0) as u64,
                inode: n(1) as u64,
                length: n(2) as u64,
                modified: (n(3), n(4) as u32),
                changed: (n(5), n(6) as u32),
                mode: 0,
            }
        };
        let mut tags = vec![of_state(&identity(7, 0))];
        for field in 0..7 {
            for by in [1, 2, 256] {
                let tag = of_state(&identity(field, by));
                assert!(!tags.contains(&tag), "field {field} by {by}");
                tags.push(tag);
            }
        }
    }

    #[test]
    fn no_two_responses_share_their_own() {
        assert_ne!(of_this_response(), of_this_response());
    }
}
