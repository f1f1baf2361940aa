use std::fs;
use std::path::Path;

use super::*;
use crate::find::from_disk;
use crate::roots::Below;

/// An opener that trusts a name for so long.
fn opener(root: &Path, valid: Duration) -> (Opener, Results) {
    let unused = Duration::from_secs(60);
    let keeping = Keeping { most: NonZeroUsize::MIN, valid, unused, window: 1 };
    let roots = Roots::new(&[root.to_owned()]).unwrap();
    Opener::new(roots, keeping, 1)
}

fn open(root: &Path, name: &str) -> OpenFile {
    let found = from_disk(Below { root, name: Path::new(name) }, 1).unwrap();
    let Opened::File(file) = found else { panic!("{found:?}") };
    file
}

#[test]
fn a_name_of_which_a_helper_found_the_same_file_is_trusted_anew() {
    let root = tempfile::tempdir().unwrap();
    fs::write(root.path().join("f"), "f").unwrap();
    let file = open(root.path(), "f");
    let (opener, _results) = opener(root.path(), Duration::from_secs(3600));
    let name: Name = (*b"/f").into();
    for asked in [1, 2].map(Time::from_nanos) {
        opener.keep_file(&name, &file, asked);
        assert_eq!(opener.cache.borrow_mut().get(&name, asked).unwrap().1, asked);
    }
    assert_eq!(opener.counts().opened, 1);
}

/// A question that waits with an earlier one is told what the name stood for when it was asked itself.
#[test]
fn what_a_helper_looked_up_before_the_file_was_replaced_is_no_answer() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("f");
    fs::write(&path, "old").unwrap();
    fs::write(root.path().join("g"), "new").unwrap();
    let (old, new) = (open(root.path(), "f").identity, open(root.path(), "g").identity);
    let (opener, mut results) = opener(root.path(), Duration::ZERO);
    let ask = || match opener.ask(path.as_os_str().as_encoded_bytes()) {
        Reply::Later(later) => later,
        Reply::Now(told) => panic!("{told:?}"),
    };
    let first = ask();
    opener.misses.borrow_mut().advance(opener.clock());
    // It has looked the name up, and goes on to warm the file as far as the opener knows.
    let (job, outcome) = results.blocking_recv().unwrap();
    fs::rename(root.path().join("g"), &path).unwrap();
    let second = ask();
    assert_eq!((first.known, second.known), (Some(old), Some(new)));
    assert_eq!(opener.counts().merged, 1);
    let ended = opener.misses.borrow_mut().ended(job, outcome, opener.clock()).unwrap();
    opener.keep(&ended);
    ended.tell();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let told = runtime.block_on(async {
        tokio::select! {
            () = opener.work(results) => panic!("it works for ever"),
            told = async { [opener.told(first).await, opener.told(second).await] } => told,
        }
    });
    let identity = |told: &Told| match &told.opened {
        Opened::File(file) => file.identity,
        other => panic!("{other:?}"),
    };
    assert_eq!(told.each_ref().map(identity), [old, new]);
}
