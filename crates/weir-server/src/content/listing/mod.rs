//! The list of what a directory holds, as a body that comes while it is sent. A helper of the disk reads and
//! writes a part of it when the one before has been sent: neither the loop nor memory ever has the whole
//! of a large directory. The site begins one for each response; `send` reads it.

mod entries;
mod page;

use std::cell::RefCell;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use http::HeaderMap;
use rustix::io::Errno;
use weir_sched::Time;

pub(super) use self::entries::List;
pub(crate) use self::page::ListFormat;
use super::file::FetchError;
use super::object::copy;
use super::work::{DiskResult, FileDisks, Key};
use crate::body::{Charge, Coming, Truncated};
use crate::disk::{DiskId, Piece};
use crate::runtime::turn;

/// What a list takes while it is made, at most about (bytes). One whose last part has been made takes no
/// more than that part, and does not count.
pub(super) const EACH: u64 = 1 << 20;

/// Bytes that a helper is expected to read for a part.
const PART: u64 = 64 * 1024;

const FAILED: Truncated = Truncated("the directory cannot be read to its end");

/// Where the helpers of a directory's disk are.
#[derive(Clone, Debug)]
pub(super) struct Place {
    pub(super) disks: Arc<FileDisks>,
    pub(super) disk: DiskId,
    /// The part of the site, as the disk's gate knows it.
    pub(super) place: u64,
}

/// See the module.
pub(super) struct Listing {
    list: Arc<Mutex<List>>,
    at: Place,
    state: RefCell<State>,
}

/// Bytes of a list, and whether these are the last.
type Part = (Arc<[u8]>, bool);
/// A part that a helper makes.
type NextPart = Pin<Box<dyn Future<Output = Result<Part, FetchError>>>>;

struct State {
    /// The part that is being sent, and where it begins.
    bytes: Arc<[u8]>,
    start: u64,
    /// It is the last.
    is_last: bool,
    /// A helper is at work on the next.
    next: Option<NextPart>,
    has_failed: bool,
    /// What is charged for a list that is being made; `None`: this one is whole, and however slowly its
    /// client reads, it keeps no other from being made.
    charge: Option<Charge>,
}

impl Listing {
    /// Has a helper read the first part, for a request that came at `since`. `charge`: for the list.
    ///
    /// # Errors
    ///
    /// The directory cannot be read, or its disk has too much to do.
    pub(super) async fn begin(
        list: List,
        at: Place,
        charge: Charge,
        since: Time,
    ) -> Result<Listing, FetchError> {
        let list = Arc::new(Mutex::new(list));
        let (mut bytes, mut is_last) = next_part(list.clone(), at.clone(), since).await?;
        // What is wrong with the directory may show only after much that is not shown.
        while bytes.is_empty() && !is_last {
            (bytes, is_last) = next_part(list.clone(), at.clone(), since).await?;
        }
        let charge = Some(charge).filter(|_| !is_last);
        let state = State { bytes, start: 0, is_last, next: None, has_failed: false, charge };
        Ok(Listing { list, at, state: RefCell::new(state) })
    }
}

/// Has a helper read and write the next part.
async fn next_part(list: Arc<Mutex<List>>, at: Place, since: Time) -> Result<Part, FetchError> {
    let piece = Piece { key: Key::of_list(), bytes: PART, place: at.place, since };
    let work = move || {
        let mut list = list.lock().unwrap_or_else(PoisonError::into_inner);
        DiskResult::Listed(list.next_part())
    };
    match at.disks.run(at.disk, piece, work).await.map_err(FetchError::Disk)? {
        DiskResult::Listed(listed) => listed.map_err(FetchError::Failed),
        _ => Err(FetchError::Failed(Errno::IO)),
    }
}

impl State {
    /// Where the part ends.
    fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
}

impl Coming for Listing {
    fn read(&self, offset: u64, out: &mut [u8]) -> usize {
        let state = self.state.borrow();
        offset.checked_sub(state.start).map_or(0, |from| copy(&state.bytes, from, out))
    }

    fn extent(&self) -> (u64, bool) {
        let state = self.state.borrow();
        (state.end(), state.is_last)
    }

    fn poll_more(&self, context: &mut Context<'_>, offset: u64) -> Poll<Result<(), Truncated>> {
        let state = &mut *self.state.borrow_mut();
        // A part may be empty, if nothing of what was read is to be shown.
        while offset >= state.end() && !state.is_last {
            if state.has_failed {
                return Poll::Ready(Err(FAILED));
            }
            let next = state.next.get_or_insert_with(|| {
                Box::pin(next_part(self.list.clone(), self.at.clone(), turn::began()))
            });
            match next.as_mut().poll(context) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok((bytes, is_last))) => {
                    state.start = state.end();
                    (state.bytes, state.is_last, state.next) = (bytes, is_last, None);
                    if is_last {
                        state.charge = None;
                    }
                }
                Poll::Ready(Err(_)) => {
                    (state.has_failed, state.next, state.charge) = (true, None, None);
                }
            }
        }
        Poll::Ready(Ok(()))
    }

    fn trailers(&self) -> Option<HeaderMap> {
        None
    }
}

impl fmt::Debug for Listing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state.borrow();
        let mut shown = f.debug_struct("Listing");
        shown.field("sent", &state.start).field("is_last", &state.is_last).finish_non_exhaustive()
    }
}
