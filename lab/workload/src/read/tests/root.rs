//! The files of a document root that a trace can be replayed against.

use std::path::Path;

use super::*;

fn root(requests: &[(&str, Option<u64>)]) -> Replayable {
    let mut root = Root::new();
    for &(path, size) in requests {
        root.add(&Request { at: 0.0, client: 0, class: 0, path: path.into(), size });
    }
    root.finish().expect("what cannot be a file was left out")
}

#[test]
fn paths_become_files_with_the_largest_size() {
    let made = root(&[
        ("/a%20b.txt?x=1", Some(5)),
        ("/a%20b.txt?x=2", Some(9)),
        ("/a%20b.txt", None),
        ("/", Some(1)),
        ("/sub//", Some(2)),
        ("/sub/x", None),
        ("/%C3%A4", Some(3)),
    ]);
    let files: Vec<_> = made.documents.files().to_vec();
    let file = |name: &str, size| (Path::new(name).to_path_buf(), size);
    let expected = [
        file("a b.txt", 9),
        file("index.html", 1),
        file("sub/index.html", 2),
        file("sub/x", 0),
        file("ä", 3),
    ];
    assert_eq!(files, expected);
    assert_eq!((made.several_sizes, made.unknown_sizes), (1, 1));
    assert!(made.conflicts.is_empty() && made.unusable.is_empty());
}

#[test]
fn what_cannot_be_a_file_is_left_out_and_counted() {
    let long = format!("/{}", "x".repeat(256));
    let made = root(&[
        ("/a", Some(1)),
        ("/a", Some(1)),
        ("/a/b", Some(1)),
        ("/a/b/c", Some(1)),
        ("/a-c", Some(1)),
        ("/../etc/passwd", Some(1)),
        ("/x/%2e%2e/y", Some(1)),
        ("/nul%00", Some(1)),
        (&long, Some(1)),
    ]);
    let names: Vec<_> = made.documents.files().iter().map(|(name, _)| name.as_path()).collect();
    assert_eq!(names, [Path::new("a/b/c"), Path::new("a-c")]);
    assert_eq!(made.conflicts, [("/a".to_owned(), 2), ("/a/b".to_owned(), 1)]);
    assert_eq!(made.unusable.len(), 4);
}

#[test]
fn sizes_that_no_file_can_have_are_left_out() {
    let most = i64::MAX as u64;
    let made = root(&[("/a", Some(most)), ("/b", Some(most + 1)), ("/b", Some(7))]);
    let files = [(Path::new("a").to_path_buf(), most), (Path::new("b").to_path_buf(), 7)];
    assert_eq!(made.documents.files(), files);
    assert_eq!(made.unusable, [("/b".to_string(), 1)]);
}
