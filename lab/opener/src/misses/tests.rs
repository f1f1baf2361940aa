use std::path::Path;

use super::*;
use crate::find::{OpenFile, Opened, from_disk};
use crate::roots::Below;

/// A question that nobody has thought about yet, on the first disk.
fn ask(misses: &Rc<RefCell<Misses>>, root: &Path, name: &str) -> (Waiter, bool) {
    ask_at(misses, 0, root, name).unwrap()
}

fn ask_at(
    misses: &Rc<RefCell<Misses>>,
    disk: usize,
    root: &Path,
    name: &str,
) -> Result<(Waiter, bool), Errno> {
    let work = Work::Open { root: root.to_owned(), name: name.into() };
    Misses::join(misses, (name.as_bytes(), disk), work, Time::ZERO)
}

fn misses(helpers: usize) -> (Rc<RefCell<Misses>>, Results) {
    let (misses, results) = Misses::new(2, helpers, 1);
    (Rc::new(RefCell::new(misses)), results)
}

/// Takes in the end of a job and has those who wait told; the name.
fn end_one(misses: &Rc<RefCell<Misses>>, results: &mut Results) -> Vec<u8> {
    let (job, outcome) = results.blocking_recv().unwrap();
    let ended = misses.borrow_mut().ended(job, outcome, Time::ZERO).unwrap();
    let name = ended.name.to_vec();
    ended.tell();
    name
}

#[test]
fn questions_for_one_name_are_one_job() {
    let root = tempfile::tempdir().unwrap();
    std::fs::write(root.path().join("a"), "a").unwrap();
    let (misses, mut results) = misses(4);
    let waiters = [(); 3].map(|()| ask(&misses, root.path(), "a"));
    assert_eq!(waiters.each_ref().map(|(_, merged)| *merged), [false, true, true]);
    assert_eq!(misses.borrow_mut().advance(Time::ZERO), None);
    assert_eq!(end_one(&misses, &mut results), b"a");
    for (mut waiter, _) in waiters {
        assert!(matches!(waiter.answer.try_recv(), Ok(Ok(Opened::File(_)))));
    }
    assert_eq!(misses.borrow().waiting, 0);
    // That was all: nothing else is under way.
    assert!(results.try_recv().is_err());
}

/// A name that was replaced while its old file was warmed is looked up: the old file is no answer.
#[test]
fn a_lookup_does_not_wait_for_what_the_name_stood_for() {
    let root = tempfile::tempdir().unwrap();
    let file = |name: &str| {
        std::fs::write(root.path().join(name), name).unwrap();
        let found = from_disk(Below { root: root.path(), name: name.as_ref() }, 1).unwrap();
        let Opened::File(file) = found else { panic!("{found:?}") };
        file
    };
    let (old, new) = (file("old"), file("a"));
    let (misses, mut results) = misses(4);
    let warm = |file: &OpenFile| {
        let work = Work::Warm(file.clone());
        Misses::join(&misses, (b"a", 0), work, Time::ZERO).unwrap()
    };
    let questions =
        [warm(&old), ask(&misses, root.path(), "a"), warm(&new), warm(&old), warm(&new)];
    let merged = questions.each_ref().map(|(_, merged)| *merged);
    assert_eq!(merged, [false, false, false, true, true]);
    misses.borrow_mut().advance(Time::ZERO);
    for _ in 0..3 {
        assert_eq!(end_one(&misses, &mut results), b"a");
    }
    let found = questions.map(|(mut waiter, _)| match waiter.answer.try_recv() {
        Ok(Ok(Opened::File(file))) => file.identity,
        other => panic!("{other:?}"),
    });
    let (old, new) = (old.identity, new.identity);
    assert_eq!(found, [old, new, new, old, new]);
}

#[test]
fn who_leaves_waits_no_more() {
    let root = tempfile::tempdir().unwrap();
    let (misses, mut results) = misses(1);
    let (first, _) = ask(&misses, root.path(), "a");
    let (second, _) = ask(&misses, root.path(), "b");
    let (third, _) = ask(&misses, root.path(), "b");
    drop(second);
    drop(first);
    // "a" is not looked for: nobody waits for it.
    misses.borrow_mut().advance(Time::ZERO);
    assert_eq!(end_one(&misses, &mut results), b"b");
    assert!(misses.borrow().jobs.is_empty());
    drop(third);
    assert_eq!(misses.borrow().waiting, 0);
}

#[test]
fn a_name_that_hangs_is_refused_and_the_others_go_on() {
    let root = tempfile::tempdir().unwrap();
    let (misses, mut results) = misses(1);
    let _hanging = ask(&misses, root.path(), "a");
    // It runs, and nobody takes in its end: to the gate it hangs.
    let stuck_after = DiskConfig::default().stuck_after;
    misses.borrow_mut().advance(Time::ZERO);
    let _other = ask(&misses, root.path(), "b");
    assert_eq!(misses.borrow_mut().advance(Time::ZERO), Some(stuck_after));
    let later = Time::ZERO + stuck_after;
    misses.borrow_mut().advance(later);
    let again = Work::Open { root: root.path().to_owned(), name: "a".into() };
    assert!(Misses::join(&misses, (b"a", 0), again, later).is_err());
    let ended = [end_one(&misses, &mut results), end_one(&misses, &mut results)];
    assert!(ended.contains(&b"a".to_vec()) && ended.contains(&b"b".to_vec()), "{ended:?}");
}

/// Jobs that hang on one disk take no place from another.
#[test]
fn a_disk_that_hangs_takes_nothing_from_another() {
    let root = tempfile::tempdir().unwrap();
    let (misses, mut results) = misses(1);
    let at = |disk, name: &str| ask_at(&misses, disk, root.path(), name);
    let _busy = [at(0, "a").unwrap(), at(0, "b").unwrap()];
    let _other = at(1, "c").unwrap();
    misses.borrow_mut().advance(Time::ZERO);
    // One of each disk is under way, and nobody has taken in their ends.
    let under_way = |misses: &Misses| misses.jobs.values().filter(|job| job.work.is_none()).count();
    assert_eq!(under_way(&misses.borrow()), 2);
    let mut ended = [end_one(&misses, &mut results), end_one(&misses, &mut results)];
    ended.sort();
    assert_eq!(ended, [b"a".to_vec(), b"c".to_vec()]);
    assert!(at(2, "d").is_err(), "there is no such disk");
}
