//! Large files that are kept open between requests: a limited number, and none that was not requested
//! lately, since it may have been deleted. Used by the site.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

use weir_sched::Time;

use super::entry::Entry;
use super::file::File;

/// How long a descriptor is kept that nobody uses.
const UNUSED: Duration = Duration::from_secs(2);

/// See the module.
#[derive(Debug)]
pub(super) struct OpenFiles {
    entries: RefCell<VecDeque<Rc<Entry>>>,
    most: usize,
}

impl OpenFiles {
    pub(super) fn new(most: usize) -> OpenFiles {
        OpenFiles { entries: RefCell::default(), most }
    }

    /// Keeps `file`, which `entry` stands for.
    pub(super) fn keep(&self, entry: &Rc<Entry>, file: &Rc<File>) {
        let Some(known) = entry.file() else { return };
        let mut entries = self.entries.borrow_mut();
        if known.open.borrow_mut().replace(file.clone()).is_none() {
            entries.push_back(entry.clone());
        }
        while entries.len() > self.most {
            entries.pop_front().iter().for_each(|entry| close(entry));
        }
    }

    /// Closes what was not used lately.
    pub(super) fn sweep(&self, now: Time) {
        self.entries.borrow_mut().retain(|entry| {
            let used = entry.file().is_some_and(|file| now.since(file.used.get()) < UNUSED);
            if !used {
                close(entry);
            }
            used
        });
    }

    /// Closes all that no response is using.
    pub(super) fn clear(&self) {
        self.entries.borrow_mut().drain(..).for_each(|entry| close(&entry));
    }
}

fn close(entry: &Entry) {
    if let Some(file) = entry.file() {
        file.open.borrow_mut().take();
    }
}
