//! Shows that a site whose place others have taken keeps no memory, whoever still holds the site, and that
//! the beginning of a file is not remembered as the file. The module of the site has it as its tests.

use std::fs;
use std::path::Path;

use weir_http::message::path::resolve;
use weir_sched::ObjectId;

use super::*;
use crate::config::{Config, parse};
use crate::content::SitesConfig;
use crate::content::object::Facts;

const LENGTH: usize = 1000;

/// The site of this directory.
pub(super) fn site_of(root: &Path) -> Site {
    let text = format!("root = {root:?}\nworkers = 1\n");
    let config = Config::from_settings(parse(&text).unwrap()).unwrap();
    let metrics = Arc::new(Metrics::new());
    let disks = FileDisks::new(Duration::from_secs(10), metrics.clone());
    let mut opened = SitesConfig::open(&config, &disks, &metrics, None).unwrap();
    let (hot, names) = (Rc::new(HotSet::new(100_000)), Rc::new(NameBudget::new(opened.names)));
    Site::new(opened.sites.remove(0).unwrap(), hot, names)
}

/// A file is known, hot and open, and a response with it is under way.
#[test]
fn a_site_that_is_given_up_has_nothing_but_what_is_being_sent() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("a"), vec![b'a'; LENGTH]).unwrap();
    let site = site_of(directory.path());
    let (inner, now) = (&site.0, turn::began());
    inner.root.look(now);
    let opened = open::from_disk(&inner.root.directory(), b"a", false).unwrap();
    let name: Rc<[u8]> = Rc::from(&b"a"[..]);
    let facts = Rc::new(Facts::new(LENGTH as u64, "text/plain", None, ObjectId(1)));
    let known = KnownFile::new(opened.identity, name.clone(), facts, now);
    let path = resolve("/a").unwrap();
    let entry = inner.names.learn(&path, Known::File(known), now);
    inner.hot.admit(&entry.file().unwrap().hot, vec![b'a'; LENGTH].into());
    let file = Rc::new(File::new(&opened, Access::Memory, name, &inner.root.path));
    inner.open.keep(&entry, &file);
    let (known, open) = (Rc::downgrade(&entry), Rc::downgrade(&file));
    drop((entry, file));
    assert!(known.upgrade().is_some() && open.upgrade().is_some());

    let held = site.clone();
    let Some(Ok(Found::Object(sent))) = held.find_in_memory(&path, &Accepts::PLAIN) else {
        panic!("it is in memory");
    };
    site.give_up();
    assert!(known.upgrade().is_none() && open.upgrade().is_none());
    assert!(held.find_in_memory(&path, &Accepts::PLAIN).is_none());
    let Body::Text(bytes) = sent.body else { panic!("it is text") };
    assert!(*bytes == [b'a'; LENGTH]);
    assert_eq!(Arc::strong_count(&bytes), 1, "only the response holds it");
}

/// Such as files of the kernel, which say that they have a page; or what a file had before it grew.
#[tokio::test]
async fn what_has_fewer_bytes_than_it_says_is_sent_and_not_remembered() {
    // Nobody has changed it just now.
    let site = site_of(Path::new(env!("CARGO_MANIFEST_DIR")));
    let (inner, path) = (&site.0, resolve("/Cargo.toml").unwrap());
    for (missing, is_known) in [(1, false), (0, true)] {
        let directory = inner.root.directory();
        let mut opened = open::from_disk(&directory, b"Cargo.toml", true).unwrap();
        let mut content = opened.first.as_deref().unwrap().to_vec();
        content.truncate(content.len() - missing);
        opened.first = Some(content.as_slice().into());
        let (name, opened) = (Rc::from(&b"Cargo.toml"[..]), Arc::new(opened));
        let found = inner.learn_file(&path, name, true, &opened, None, turn::began()).await;
        let Ok(Found::Object(object)) = found else { panic!("it is there") };
        let Body::Text(sent) = object.body else { panic!("it was read") };
        assert!(*sent == *content && object.facts.length == content.len() as u64);
        assert_eq!(inner.names.get(&path).is_some(), is_known, "{missing}");
    }
}
