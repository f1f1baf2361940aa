//! What there is of one file beside the file as it is: compressed files that lie beside it, and what was
//! compressed on the fly. A part of what is known of a name; the site fills it and chooses from it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::{Arc, Weak};
use std::time::Duration;

use weir_http::message::coding::{AcceptedCodings, Coding};
use weir_http::message::path::SitePath;
use weir_sched::Time;

use super::object::{Body, Facts, Object};
use crate::compress::Compressed;
use crate::metrics::GivenUp;

/// How long it is not looked again which files lie beside one: as long as names are not checked.
const LOOK: Duration = Duration::from_millis(900);

/// How long nothing is compressed for a file after that was given up.
const PAUSE: Duration = Duration::from_secs(1);

/// See the module. In the order of [`Coding::ALL`].
#[derive(Debug, Default)]
pub(super) struct Variants {
    siblings: RefCell<[Option<Sibling>; Coding::COUNT]>,
    looked: Cell<Option<Time>>,
    results: RefCell<[Made; Coding::COUNT]>,
    gave_up: Cell<Option<(Time, GivenUp)>>,
}

/// A compressed file that lies beside the file.
#[derive(Clone, Debug)]
pub(super) struct Sibling {
    pub(super) path: Rc<SitePath<'static>>,
    /// What is said of it where it is asked for by its own name.
    pub(super) plain: Rc<Facts>,
    /// What is said of it where it stands for the file.
    pub(super) facts: Rc<Facts>,
}

/// What is known of compressing the file on the fly.
#[derive(Debug, Default)]
enum Made {
    #[default]
    Nothing,
    /// It would hardly be smaller.
    Useless,
    /// It is there as long as the compressor keeps it, or somebody sends it.
    Kept { result: Weak<Compressed>, facts: Rc<Facts> },
}

/// What is sent to a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Choice {
    /// The file as it is.
    Plain,
    /// The file beside it in this coding.
    Sibling(Coding),
    /// The file in this coding, compressed on the fly.
    Compressed(Coding),
}

impl Variants {
    /// Bytes of memory that they take, beside the names of the siblings.
    pub(super) const COST: usize = 512;

    /// What to send to a client; `compresses`: the file may be compressed on the fly.
    pub(super) fn choose(&self, accepted: &AcceptedCodings, compresses: bool) -> Choice {
        let (siblings, results) = (self.siblings.borrow(), self.results.borrow());
        let offer = |coding: Coding| {
            let place = coding.place();
            let cost = match (&siblings[place], &results[place]) {
                (Some(sibling), _) => sibling.plain.length,
                (None, Made::Useless) => return None,
                // Its length is not known before it is made, so files that are there come first.
                (None, _) => u64::MAX - (Coding::COUNT - place) as u64,
            };
            (siblings[place].is_some() || compresses).then_some((coding, cost))
        };
        match accepted.best(Coding::ALL.into_iter().filter_map(offer)) {
            None => Choice::Plain,
            Some(coding) if siblings[coding.place()].is_some() => Choice::Sibling(coding),
            Some(coding) => Choice::Compressed(coding),
        }
    }

    /// Whether it is time to look which files lie beside this one.
    pub(super) fn is_due(&self, now: Time) -> bool {
        self.looked.get().is_none_or(|looked| now.since(looked) >= LOOK)
    }

    /// Somebody begins to look; others go by what was found before.
    pub(super) fn begin_look(&self, now: Time) {
        self.looked.set(Some(now));
    }

    /// This is what lies beside the file.
    pub(super) fn found(&self, coding: Coding, sibling: Option<Sibling>) {
        self.siblings.borrow_mut()[coding.place()] = sibling;
    }

    /// The file beside this one in a coding.
    pub(super) fn sibling(&self, coding: Coding) -> Option<Sibling> {
        self.siblings.borrow()[coding.place()].clone()
    }

    /// The file as it was compressed on the fly, if that is there still.
    pub(super) fn compressed(&self, coding: Coding) -> Option<Object> {
        match &self.results.borrow()[coding.place()] {
            Made::Kept { result, facts } => {
                let result = result.upgrade()?;
                result.note_use();
                Some(Object { facts: facts.clone(), body: Body::Compressed(result) })
            }
            Made::Nothing | Made::Useless => None,
        }
    }

    /// The file with these facts was compressed; `None` if that was not worth it.
    pub(super) fn learn(
        &self,
        coding: Coding,
        facts: &Facts,
        result: &Arc<Compressed>,
    ) -> Option<Object> {
        let mut results = self.results.borrow_mut();
        let Some(bytes) = result.bytes() else {
            results[coding.place()] = Made::Useless;
            return None;
        };
        result.note_use();
        let facts = Rc::new(facts.compressed(coding, bytes.len() as u64));
        let kept = Made::Kept { result: Arc::downgrade(result), facts: facts.clone() };
        results[coding.place()] = kept;
        Some(Object { facts, body: Body::Compressed(result.clone()) })
    }

    /// It was given up to compress it.
    pub(super) fn give_up(&self, now: Time, why: GivenUp) {
        self.gave_up.set(Some((now, why)));
    }

    /// Why that was just now, if it was, so that nobody need try again.
    pub(super) fn given_up(&self, now: Time) -> Option<GivenUp> {
        let (since, why) = self.gave_up.get()?;
        (now.since(since) < PAUSE).then_some(why)
    }
}

#[cfg(test)]
mod tests {
    use weir_http::message::conditions::{ETag, Validators};
    use weir_sched::ObjectId;

    use super::*;

    fn facts(length: u64) -> Rc<Facts> {
        let validators = Validators { etag: ETag::new(1, 0, length), modified: Some(7) };
        Rc::new(Facts::new(length, "text/css", Some(validators), ObjectId(length)))
    }

    fn sibling(coding: Coding, length: u64) -> Option<Sibling> {
        let path = Rc::new(SitePath::beside(b"a.css", coding.extension()));
        let plain = facts(length);
        let facts = Rc::new(facts(1000).in_file(coding, &plain));
        Some(Sibling { path, plain, facts })
    }

    fn choose(variants: &Variants, accept: &str, compresses: bool) -> Choice {
        variants.choose(&AcceptedCodings::parse(accept), compresses)
    }

    const ALL: &str = "gzip, br, zstd";

    #[test]
    fn what_lies_there_comes_before_what_has_to_be_made() {
        let variants = Variants::default();
        assert_eq!(choose(&variants, ALL, false), Choice::Plain);
        assert_eq!(choose(&variants, ALL, true), Choice::Compressed(Coding::Zstd));
        variants.found(Coding::Gzip, sibling(Coding::Gzip, 500));
        assert_eq!(choose(&variants, ALL, true), Choice::Sibling(Coding::Gzip));
        variants.found(Coding::Brotli, sibling(Coding::Brotli, 400));
        assert_eq!(choose(&variants, ALL, true), Choice::Sibling(Coding::Brotli));
        // What the client likes better outweighs both.
        assert_eq!(choose(&variants, "gzip, br;q=0.9", true), Choice::Sibling(Coding::Gzip));
        let likes_zstd = "gzip;q=0.9, br;q=0.9, zstd";
        assert_eq!(choose(&variants, likes_zstd, true), Choice::Compressed(Coding::Zstd));
        assert_eq!(choose(&variants, likes_zstd, false), Choice::Sibling(Coding::Brotli));
        assert_eq!(choose(&variants, "identity, gzip;q=0.5", true), Choice::Plain);
        variants.found(Coding::Brotli, None);
        assert_eq!(choose(&variants, "br", false), Choice::Plain);
    }

    #[test]
    fn a_result_is_known_while_it_is_kept_or_sent_and_what_is_useless_is_not_tried_again() {
        let variants = Variants::default();
        let plain = facts(1000);
        let result = Compressed::of(Some(vec![1; 10]));
        let object = variants.learn(Coding::Gzip, &plain, &result).expect("it is smaller");
        assert_eq!((object.facts.length, object.facts.coding), (10, Some(Coding::Gzip)));
        let tag = |facts: &Facts| facts.validators.unwrap().etag;
        assert_eq!(tag(&object.facts), tag(&plain).weak_in(Coding::Gzip));
        let again = variants.compressed(Coding::Gzip).expect("it is kept");
        assert!(Rc::ptr_eq(&again.facts, &object.facts));
        assert!(variants.compressed(Coding::Zstd).is_none());
        // Evicted, and being sent.
        drop((result, object));
        let Body::Compressed(sent) = &again.body else { panic!("it was compressed") };
        let found = variants.compressed(Coding::Gzip).expect("it is being sent");
        assert!(matches!(&found.body, Body::Compressed(found) if Arc::ptr_eq(found, sent)));
        let mut bytes = [0; 20];
        assert_eq!(found.body.read(2, &mut bytes).ok(), Some(8));
        assert!(bytes[..8] == [1; 8] && bytes[8..] == [0; 12]);
        drop((again, found));
        assert!(variants.compressed(Coding::Gzip).is_none());
        assert!(variants.learn(Coding::Zstd, &plain, &Compressed::of(None)).is_none());
        assert_eq!(choose(&variants, ALL, true), Choice::Compressed(Coding::Brotli));
    }

    #[test]
    fn it_is_looked_again_and_tried_again_after_a_while() {
        let variants = Variants::default();
        let now = Time::ZERO + Duration::from_secs(10);
        assert!(variants.is_due(now) && variants.given_up(now).is_none());
        variants.begin_look(now);
        for why in [GivenUp::Failed, GivenUp::TooSlow] {
            variants.give_up(now, why);
            assert!(!variants.is_due(now) && variants.given_up(now) == Some(why));
        }
        let later = now + Duration::from_secs(1);
        assert!(variants.is_due(later) && variants.given_up(later).is_none());
    }
}
