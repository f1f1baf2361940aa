//! Chooses in which coding a file is sent: from memory where all is known, otherwise after a look at the
//! files beside it, or at what the compressor makes of it. Used by the site for every file that it finds.

use std::rc::Rc;
use std::sync::Arc;

use http::StatusCode;
use tokio::time::timeout;
use weir_http::message::coding::{AcceptedCodings, Coding};
use weir_http::message::path::SitePath;
use weir_sched::Time;

use super::{CHECK, Inner};
use crate::compress::{Claim, Compressor, Content, Key, Ticket};
use crate::content::coding::{Accepts, SiteCoding};
use crate::content::entry::KnownFile;
use crate::content::file::{File, ReadError};
use crate::content::object::{Body, Found, Object};
use crate::content::open::CHUNK;
use crate::content::variants::{Choice, Sibling, Variants};
use crate::runtime::turn;
use crate::runtime::wait::Wait;

/// How many seconds a compressed file may be older than its file and still count as made of it. Who unpacks
/// both may write the compressed one first, and copies and archives round times, those of zip and FAT to two
/// seconds. Who changes a file within two seconds after it was compressed compresses it again.
const OLDER: i64 = 2;

impl Inner {
    /// The file, in the coding that the client likes best, if that is known and in memory.
    pub(super) fn in_memory(&self, file: &KnownFile, accepts: &Accepts<'_>) -> Option<Object> {
        let plain =
            || Some(Object { facts: file.facts.clone(), body: Body::Text(file.hot.get()?) });
        let (Some(coding), Some(variants), Some(accepted)) =
            (&self.coding, &file.variants, accepts.codings)
        else {
            return plain();
        };
        let accepted = AcceptedCodings::parse(accepted);
        if accepted.is_none() {
            return plain();
        }
        let now = turn::began();
        if coding.precompressed && variants.is_due(now) {
            return None;
        }
        let object = match variants.choose(&accepted, compresses(coding, file, accepts)) {
            Choice::Plain => return plain(),
            Choice::Sibling(coding) => self.sibling_in_memory(file, &variants.sibling(coding)?),
            Choice::Compressed(coding) => {
                let object = variants.compressed(coding);
                if object.is_none()
                    && let Some(why) = variants.given_up(now)
                {
                    // What is not in memory is found, and counted, in another way.
                    return plain().inspect(|_| self.metrics.compression.gave_up(why));
                }
                object
            }
        };
        object.map(|object| self.counted(object))
    }

    fn sibling_in_memory(&self, file: &KnownFile, sibling: &Sibling) -> Option<Object> {
        let entry = self.names.get(&sibling.path).filter(|entry| self.is_fresh(entry))?;
        let known = entry.file().filter(|known| stands_for(known, file))?;
        let is_same = Rc::ptr_eq(&known.facts, &sibling.plain);
        let body = Body::Text(known.hot.get().filter(|_| is_same)?);
        known.used.set(turn::began());
        entry.uses.count();
        Some(Object { facts: sibling.facts.clone(), body })
    }

    /// What was found under `path`; a file in the coding that the client likes best.
    pub(super) async fn as_accepted(
        self: &Rc<Self>,
        path: &SitePath<'_>,
        found: Result<Found, StatusCode>,
        accepts: &Accepts<'_>,
        since: Time,
        wait: Option<&Wait<'_>>,
    ) -> Result<Found, StatusCode> {
        match (found?, accepts.codings) {
            (Found::Object(object), Some(accepted)) if object.facts.varies => {
                let accepted = AcceptedCodings::parse(accepted);
                // Boxed: files that are never compressed need no room for it.
                let other =
                    Box::pin(self.variant(path, &object, &accepted, accepts, since, wait)).await;
                Ok(Found::Object(other.map_or(object, |other| self.counted(other))))
            }
            (found, _) => Ok(found),
        }
    }

    /// What is sent in place of the file as it is, if anything is.
    async fn variant(
        self: &Rc<Self>,
        path: &SitePath<'_>,
        object: &Object,
        accepted: &AcceptedCodings,
        accepts: &Accepts<'_>,
        since: Time,
        wait: Option<&Wait<'_>>,
    ) -> Option<Object> {
        let coding = self.coding.as_ref().filter(|_| !accepted.is_none())?;
        // A file that is not remembered changed just now: what is made of it would not last.
        let entry = self.names.get(path)?;
        let file = entry.file().filter(|file| Rc::ptr_eq(&file.facts, &object.facts))?;
        let variants = file.variants.as_ref()?;
        if coding.precompressed && variants.is_due(turn::began()) {
            self.look_beside(file, variants, since).await;
        }
        match variants.choose(accepted, compresses(coding, file, accepts)) {
            Choice::Plain => None,
            Choice::Sibling(coding) => self.sibling(file, variants, coding, since).await,
            Choice::Compressed(wanted) => {
                if let Some(object) = variants.compressed(wanted) {
                    return Some(object);
                }
                if let Some(why) = variants.given_up(turn::began()) {
                    self.metrics.compression.gave_up(why);
                    return None;
                }
                let compressor = coding.compressor(&file.facts)?;
                // A task of its own reads the file: who waits for that and for the compressor waits for no
                // disk.
                let _pause = wait.map(Wait::pause);
                self.compressed(compressor, file, variants, wanted, object, since).await
            }
        }
    }

    /// Looks which compressed files lie beside one. What a slow disk does not tell in 0.1 s stays as it was
    /// known.
    async fn look_beside(self: &Rc<Self>, file: &KnownFile, variants: &Variants, since: Time) {
        variants.begin_look(turn::began());
        let look = async |coding: Coding| {
            let path = SitePath::beside(&file.name, coding.extension());
            let Ok(found) = timeout(CHECK, self.plain(&path, since)).await else { return };
            if found.is_err_and(|status| status.is_server_error()) {
                // Nobody can tell.
                return;
            }
            let entry = self.names.get(&path);
            let known = entry.as_ref().and_then(|entry| entry.file());
            let sibling = known.filter(|known| stands_for(known, file)).map(|known| Sibling {
                path: Rc::new(path),
                plain: known.facts.clone(),
                facts: Rc::new(file.facts.in_file(coding, &known.facts)),
            });
            variants.found(coding, sibling);
        };
        let [first, second, third] = Coding::ALL;
        tokio::join!(look(first), look(second), look(third));
    }

    /// The file beside this one, if it is still there.
    async fn sibling(
        self: &Rc<Self>,
        file: &KnownFile,
        variants: &Variants,
        coding: Coding,
        since: Time,
    ) -> Option<Object> {
        let sibling = variants.sibling(coding)?;
        let found = self.plain(&sibling.path, since).await;
        let entry = self.names.get(&sibling.path);
        let known = entry.as_ref().and_then(|entry| entry.file());
        match (found, known.filter(|known| stands_for(known, file))) {
            (Ok(Found::Object(Object { facts, body })), Some(known))
                if Rc::ptr_eq(&facts, &known.facts) =>
            {
                if Rc::ptr_eq(&facts, &sibling.plain) {
                    return Some(Object { facts: sibling.facts, body });
                }
                // Another one lies there.
                let other = Rc::new(file.facts.in_file(coding, &facts));
                let path = sibling.path.clone();
                variants.found(coding, Some(Sibling { path, plain: facts, facts: other.clone() }));
                Some(Object { facts: other, body })
            }
            _ => {
                variants.found(coding, None);
                None
            }
        }
    }

    /// The file as the compressor makes it, or has made it.
    async fn compressed(
        self: &Rc<Self>,
        compressor: &Arc<Compressor>,
        file: &KnownFile,
        variants: &Variants,
        coding: Coding,
        object: &Object,
        since: Time,
    ) -> Option<Object> {
        let key = Key { etag: file.facts.validators.as_ref()?.etag, coding };
        if let Some(result) = compressor.find(&key) {
            return variants.learn(coding, &file.facts, &result);
        }
        let length = usize::try_from(file.facts.length).ok()?;
        let made = match compressor.claim(key, length) {
            Claim::Mine(ticket, waiting) => {
                // In a task of its own, which goes on when this client has waited long enough: others want
                // the result, too.
                let (site, object) = (self.clone(), object.clone());
                tokio::task::spawn_local(async move {
                    if let Some(content) = site.whole(&object, &ticket, since).await {
                        ticket.submit(content);
                    }
                });
                waiting.result().await
            }
            Claim::Others(waiting) => waiting.result().await,
            Claim::Refused(why) => Err(why),
        };
        match made {
            Ok(result) => variants.learn(coding, &file.facts, &result),
            Err(why) => {
                variants.give_up(turn::began(), why);
                None
            }
        }
    }

    /// All bytes of a file, which helpers fetch as far as they are not in memory; `None`: it cannot be
    /// read, has changed, or would have to be fetched for nobody.
    async fn whole(&self, object: &Object, ticket: &Ticket, since: Time) -> Option<Content> {
        let file = match &object.body {
            Body::Text(bytes) => return Some(Box::new(bytes.clone())),
            Body::File(file) => file.clone(),
            Body::Compressed(_) | Body::Pattern | Body::Relayed(_) => return None,
        };
        let length = usize::try_from(object.facts.length).ok()?;
        let mut bytes = Vec::with_capacity(length);
        while bytes.len() < length {
            let count = (length - bytes.len()).min(CHUNK as usize);
            self.read_on(&file, &mut bytes, count, ticket, since).await?;
            // Others have their turn between two chunks.
            tokio::task::yield_now().await;
        }
        let is_same = tokio::select! {
            biased;
            is_same = file.is_still_as_opened(&self.disks, since) => is_same,
            // As what has to be read: what a helper has to look at is for those who still wait.
            () = ticket.deserted() => false,
        };
        is_same.then(|| Box::new(bytes) as Content)
    }

    /// Appends the next `count` bytes of a file, which begin a chunk.
    async fn read_on(
        &self,
        file: &File,
        bytes: &mut Vec<u8>,
        count: usize,
        ticket: &Ticket,
        since: Time,
    ) -> Option<()> {
        let at = bytes.len();
        bytes.resize(at + count, 0);
        match file.read(at as u64, &mut bytes[at..]) {
            Ok(read) => (read == count).then_some(()),
            Err(ReadError::Failed(_)) => None,
            Err(ReadError::Cold) => {
                // What lies on a disk is for those who still wait: it has more to do.
                let fetch = file.fetch(&self.disks, at as u64, self.window.get(), since);
                let fetched = tokio::select! {
                    biased;
                    () = ticket.deserted() => return None,
                    fetched = fetch => fetched,
                };
                let (_, chunk) = fetched.ok()?;
                bytes[at..].copy_from_slice(chunk.get(..count)?);
                Some(())
            }
        }
    }

    /// The object, which is counted by its coding.
    fn counted(&self, object: Object) -> Object {
        if let Some(coding) = object.facts.coding {
            self.metrics.compression.answered(coding);
        }
        object
    }
}

/// Whether the file may be compressed on the fly for this request.
fn compresses(coding: &SiteCoding, file: &KnownFile, accepts: &Accepts<'_>) -> bool {
    !accepts.part && coding.compressor(&file.facts).is_some()
}

/// Whether a compressed file was made of `file` as it is: it is hardly older, and smaller.
fn stands_for(compressed: &KnownFile, file: &KnownFile) -> bool {
    let (seconds, nanoseconds) = compressed.identity.modified;
    (seconds.saturating_add(OLDER), nanoseconds) >= file.identity.modified
        && compressed.facts.length < file.facts.length
}

#[cfg(test)]
mod tests {
    use weir_sched::ObjectId;

    use super::*;
    use crate::content::object::Facts;
    use crate::content::open::Identity;

    /// A file of so many bytes that was modified then, in seconds and nanoseconds.
    fn file(modified: (i64, u32), length: u64) -> KnownFile {
        let changed = (0, 0);
        let identity = Identity { device: 1, inode: 1, length, modified, changed, mode: 0 };
        let facts = Rc::new(Facts::new(length, "text/css", None, ObjectId(1)));
        KnownFile::new(identity, Rc::from(&b"x.css"[..]), facts, Time::ZERO)
    }

    #[test]
    fn a_compressed_file_is_two_seconds_older_at_most_and_smaller() {
        let plain = file((100, 500), 1000);
        for (modified, length, expected) in [
            ((100, 500), 999, true),
            ((98, 500), 999, true),
            ((98, 499), 999, false),
            ((97, 999_999_999), 999, false),
            ((i64::MAX, 0), 999, true),
            ((100, 500), 1000, false),
        ] {
            let compressed = file(modified, length);
            assert_eq!(stands_for(&compressed, &plain), expected, "{modified:?}, {length}");
        }
    }
}
