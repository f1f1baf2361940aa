//! Learns what a file is that was just opened: its entity tag, made from the very bytes that are sent if
//! it is small, and whether it is remembered. The last step of every lookup.

use std::rc::Rc;
use std::sync::Arc;

use http::StatusCode;
use weir_http::message::conditions::ETag;
use weir_http::message::path::SitePath;
use weir_sched::Time;

use super::Inner;
use crate::content::entry::{Entry, Known, KnownFile, facts};
use crate::content::file::File;
use crate::content::mount::{self, Access};
use crate::content::object::{Body, Facts, Found, Object};
use crate::content::open::{CHUNK, Opened};
use crate::content::tag;
use crate::metrics::Cause;
use crate::runtime::turn;

impl Inner {
    /// Serves a file that was opened under `name`, and remembers it unless it changed just now, since its
    /// next change might not show, or has fewer bytes than it says. `is_first`: that is where it was looked
    /// for first.
    pub(super) async fn learn_file(
        &self,
        path: &SitePath<'_>,
        name: Rc<[u8]>,
        is_first: bool,
        opened: &Arc<Opened>,
        known: Option<Rc<Entry>>,
        since: Time,
    ) -> Result<Found, StatusCode> {
        let access = self.access(&name, opened)?;
        let file = Rc::new(File::new(opened, access, name.clone(), &self.root.path));
        let is_same =
            |entry: &&Rc<Entry>| entry.file().is_some_and(|file| file.identity == opened.identity);
        let same = known.as_ref().filter(is_same);
        let known_tag = same.filter(|_| !file.is_small()).and_then(|entry| entry.etag());
        let by_content = match known_tag {
            Some(etag) => Some((etag, None)),
            None if opened.identity.length <= CHUNK => {
                Some(self.tag_of_content(&file, opened, since).await?)
            }
            None => None,
        };
        // What has fewer bytes than it was said to have may be the beginning of the content only.
        let text = by_content.as_ref().and_then(|(_, text)| text.as_ref());
        let is_whole = text.is_none_or(|text| text.len() as u64 == opened.identity.length);
        let steady = is_whole && opened.is_steady();
        let (etag, text) = by_content.unwrap_or_else(|| match steady {
            true => (tag::of_state(&opened.identity), None),
            false => (tag::of_this_response(), None),
        });
        // The same file at another place may have other fields.
        let is_here = |file: &KnownFile| file.is_first == is_first && file.name == name;
        let same = same.filter(|entry| entry.etag() == Some(etag));
        let same = same.filter(|entry| entry.file().is_some_and(is_here));
        let length = text.as_ref().map_or(opened.identity.length, |text| text.len() as u64);
        let facts = match same.and_then(|entry| entry.file()) {
            Some(known) => known.facts.clone(),
            None => {
                let facts = facts(&opened.identity, &name, length, etag, &self.rules);
                let varies = self.coding.as_ref().is_some_and(|coding| coding.varies(&facts));
                Rc::new(Facts { varies, ..facts })
            }
        };
        let body = text.clone().map_or_else(|| Body::File(file.clone()), Body::Text);
        if steady {
            let entry = match same {
                Some(entry) => {
                    entry.confirm(opened.at);
                    entry.uses.count();
                    entry.clone()
                }
                None => {
                    let (identity, now) = (opened.identity, turn::began());
                    let known = KnownFile::new(identity, name, facts.clone(), now);
                    let known = KnownFile { is_first, ..known };
                    self.names.learn(path, Known::File(known), opened.at)
                }
            };
            self.keep(&entry, &file, text.filter(|_| same.is_some()));
        } else if let Some(known) = &known {
            self.names.forget(known);
        }
        Ok(Found::Object(Object { facts, body }))
    }

    /// The tag of a file of up to a chunk by its content, which a helper reads if need be; with it the
    /// content itself if the file is small, or was not in memory. If it has become shorter since it was
    /// opened, what is left of it is the content.
    async fn tag_of_content(
        &self,
        file: &File,
        opened: &Opened,
        since: Time,
    ) -> Result<(ETag, Option<Arc<[u8]>>), StatusCode> {
        if let Some(first) = &opened.first {
            return Ok((tag::of_content(first), Some(first.clone())));
        }
        if let Some(found) = self.tag_from_memory(file, opened.identity.length) {
            return Ok(found);
        }
        let fetched = file.fetch(&self.disks, 0, self.window.get(), since).await;
        let (_, bytes) = fetched.map_err(|error| self.fetch_failed(file, &error))?;
        Ok((tag::of_content(&bytes), Some(bytes)))
    }

    /// The same if it is in memory.
    fn tag_from_memory(&self, file: &File, length: u64) -> Option<(ETag, Option<Arc<[u8]>>)> {
        let mut scratch = self.scratch.borrow_mut();
        let out = scratch.get_mut(..usize::try_from(length).ok()?)?;
        let read = || match file.is_small() || file.is_ready(0, out) {
            true => file.read(0, out).ok(),
            false => None,
        };
        let count = turn::spent_on(Cause::Read, &self.metrics, read)?;
        let content = out.get(..count)?;
        let is_whole = content.len() as u64 == length;
        let text = (file.is_small() || !is_whole).then(|| content.into());
        Some((tag::of_content(content), text))
    }

    /// Keeps the descriptor of a large file, or the content of a small one that was asked for before.
    fn keep(&self, entry: &Rc<Entry>, file: &Rc<File>, asked_again: Option<Arc<[u8]>>) {
        let Some(known) = entry.file() else { return };
        known.used.set(turn::began());
        if !file.is_small() {
            if file.tells_residency() {
                self.open.keep(entry, file);
            }
        } else if let Some(content) = asked_again {
            self.hot.admit(&known.hot, content);
        }
    }

    fn access(&self, name: &[u8], opened: &Opened) -> Result<Access, StatusCode> {
        if self.work.reads_in_worker() {
            // As if nothing could wait.
            return Ok(Access::Memory);
        }
        if let Some(access) = opened.access {
            return Ok(access);
        }
        // A worker opened it, so it is of the root's own mount, which is local.
        if let Some(access) = self.access.get() {
            return Ok(access);
        }
        let access = mount::access(&opened.fd).map_err(|error| self.failed(name, error))?;
        self.access.set(Some(access));
        Ok(access)
    }
}
