use std::cell::Cell;
use std::fs;
use std::os::unix::fs::symlink;

use rustix::fs::{FileType, mknodat};

use super::*;

fn below<'a>(root: &'a Path, name: &'a str) -> Below<'a> {
    Below { root, name: Path::new(name) }
}

#[test]
fn files_are_opened_and_directories_are_named() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir(root.path().join("d")).unwrap();
    fs::write(root.path().join("d/f"), [7; 200_000]).unwrap();
    let found = from_disk(below(root.path(), "d/f"), 1 << 20).unwrap();
    let Opened::File(file) = found else { panic!("{found:?}") };
    assert_eq!(length(&file), 200_000);
    let looked = in_memory(below(root.path(), "d/f")).unwrap();
    assert!(matches!(looked, Looked::File(identity) if identity == file.identity));
    assert!(matches!(from_disk(below(root.path(), "d"), 1).unwrap(), Opened::Directory(_)));
    assert!(matches!(in_memory(below(root.path(), ".")).unwrap(), Looked::Directory(_)));
    for (name, error) in [("x", Errno::NOENT), ("d/f/x", Errno::NOTDIR), ("d/f/", Errno::NOTDIR)] {
        assert_eq!(from_disk(below(root.path(), name), 1).err(), Some(error), "{name}");
    }
    // A name that was looked up once is known to be nobody's.
    assert_eq!(in_memory(below(root.path(), "x")).err(), Some(Errno::NOENT));
}

#[test]
fn nothing_outside_the_root_is_opened() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "secret").unwrap();
    let root = outside.path().join("root");
    fs::create_dir(&root).unwrap();
    symlink("../secret", root.join("up")).unwrap();
    symlink(outside.path(), root.join("absolute")).unwrap();
    fs::write(root.join("f"), "f").unwrap();
    symlink("f", root.join("inside")).unwrap();
    for name in ["up", "absolute/secret", "../secret"] {
        assert_eq!(from_disk(below(&root, name), 1).err(), Some(Errno::XDEV), "{name}");
    }
    assert!(matches!(from_disk(below(&root, "inside"), 1).unwrap(), Opened::File(_)));
}

#[test]
fn a_fifo_is_not_opened() {
    let root = tempfile::tempdir().unwrap();
    let mode = Mode::from_raw_mode(0o600);
    mknodat(CWD, root.path().join("fifo"), FileType::Fifo, mode, 0).unwrap();
    // A writer that finds no reader gets ENXIO: nobody has opened the other end.
    let writing = OFlags::WRONLY | OFlags::NONBLOCK;
    let is_open = || {
        let opened = open(root.path().join("fifo"), writing, Mode::empty());
        opened.err() != Some(Errno::NXIO)
    };
    assert!(matches!(from_disk(below(root.path(), "fifo"), 1).unwrap(), Opened::Other));
    assert!(matches!(in_memory(below(root.path(), "fifo")).unwrap(), Looked::Other));
    assert!(!is_open());
}

#[test]
fn what_cannot_be_opened_for_want_of_closes_is_opened_after_one() {
    for error in [Errno::MFILE, Errno::NFILE, Errno::BUSY] {
        let (unclosed, asked) = (Cell::new(3), Cell::new(0));
        let open = || {
            asked.set(asked.get() + 1);
            if unclosed.get() > 0 { Err(error) } else { Ok(()) }
        };
        let wait = || {
            unclosed.set(unclosed.get() - 1);
            true
        };
        assert_eq!(again_when_closed(open, wait), Ok(()));
        // Nothing is closed: it is refused at once.
        unclosed.set(1);
        asked.set(0);
        assert_eq!(again_when_closed(open, || false), Err(error));
        assert_eq!(asked.get(), 1);
        // Nor is it tried for ever.
        assert_eq!(again_when_closed(open, || true), Err(error));
        assert_eq!(asked.get(), 1 + SHORT + 1);
    }
    assert_eq!(again_when_closed(|| Err::<(), _>(Errno::NOENT), || true), Err(Errno::NOENT));
}
