use super::*;

fn read(root: &Path, name: &str) -> Vec<u8> {
    fs::read(root.join(name)).expect(name)
}

#[test]
fn each_document_is_the_beginning_of_the_pool() {
    let place = tempfile::tempdir().expect("a directory");
    let root = place.path().join("root");
    let documents = Documents::of_sizes(&[41, 1000, 41, 0], 0);
    assert_eq!((documents.len(), documents.bytes()), (3, 1041));
    assert_eq!(documents.make(&root, Content::Pool).expect("made"), Made::New);
    let pool = pool(1000);
    assert_eq!(read(&root, "41.bin"), pool[..41]);
    assert_eq!(read(&root, "1000.bin"), pool);
    assert!(read(&root, "0.bin").is_empty());
    assert!(pool[..8] != [0; 8]);
    assert_eq!(documents.absent_from(&root), None);
    let more = Documents::of_sizes(&[41, 42], 0);
    assert_eq!(more.absent_from(&root), Some(Path::new("42.bin")));
    // Nothing is left beside the root.
    assert_eq!(fs::read_dir(place.path()).expect("listed").count(), 1);
}

#[test]
fn a_shorter_pool_is_the_beginning_of_a_longer_one() {
    // So that roots of different workloads agree; the lengths straddle the generator's words.
    let long = pool(4096);
    for length in [1, 7, 8, 9, 41, 4095] {
        assert_eq!(pool(length), long[..length], "{length}");
    }
}

#[test]
fn what_is_there_is_left_as_it_is() {
    let place = tempfile::tempdir().expect("a directory");
    let documents = Documents::of_sizes(&[1], 0);
    assert_eq!(documents.make(place.path(), Content::Pool).expect("there"), Made::AlreadyThere);
    assert_eq!(fs::read_dir(place.path()).expect("listed").count(), 0);
    let below_file = place.path().join("file");
    fs::write(&below_file, "x").expect("written");
    let error = documents.make(&below_file, Content::Pool).expect_err("a file is in the way");
    assert!(error.to_string().contains("file"), "{error}");
    assert_eq!(fs::read(&below_file).expect("still there"), b"x");
    assert_eq!(fs::read_dir(place.path()).expect("listed").count(), 1);
}

#[test]
fn sparse_documents_have_their_size_and_no_room() {
    use std::os::unix::fs::MetadataExt;
    let place = tempfile::tempdir().expect("a directory");
    let root = place.path().join("root");
    let documents = Documents::of_paths([("/big/file.bin", 1_u64 << 40)]).expect("documents");
    documents.make(&root, Content::Sparse).expect("made");
    let metadata = fs::metadata(root.join("big/file.bin")).expect("there");
    assert_eq!(metadata.len(), 1 << 40);
    assert!(metadata.blocks() < 1000, "{} blocks", metadata.blocks());
}

#[test]
fn a_document_longer_than_the_pool_repeats_it() {
    let place = tempfile::tempdir().expect("a directory");
    let file = place.path().join("file");
    fill(&file, 10, b"abcd").expect("written");
    assert_eq!(read(place.path(), "file"), b"abcdabcdab");
}

#[test]
fn directories_each_hold_every_size() {
    let documents = Documents::of_sizes(&[5, 6], 3);
    let paths: Vec<_> = documents.files().iter().map(|(path, _)| path.as_path()).collect();
    assert_eq!(paths[0], Path::new("dir00000/5.bin"));
    assert_eq!((paths.len(), paths[5]), (6, Path::new("dir00002/6.bin")));
}

#[test]
fn the_largest_size_of_a_path_counts_and_queries_do_not() {
    let files = [("/a", 3), ("/a?x=1", 9), ("/a", 5), ("/%62/c%20d", 1)];
    let documents = Documents::of_paths(files).expect("documents");
    assert_eq!(documents.files(), [("a".into(), 9), ("b/c d".into(), 1)]);
}

#[test]
fn paths_that_lead_out_or_clash_are_refused() {
    for path in [
        "",
        "/",
        "a",
        "/../etc/passwd",
        "/a/../../b",
        "/a/",
        "/./a",
        "//a",
        "/a%00b",
        "/%2e%2e/a",
        "/a%2F",
    ] {
        assert!(Documents::of_paths([(path, 1)]).is_err(), "{path:?}");
    }
    let clash = Documents::of_paths([("/a/b", 1), ("/a", 1)]).expect_err("clash");
    assert!(clash.0.starts_with("/a/b lies below"), "{clash}");
}

#[test]
fn what_has_no_room_is_refused_before_it_is_written() {
    let place = tempfile::tempdir().expect("a directory");
    check_room(place.path(), 0).expect("room for nothing");
    let said = check_room(place.path(), u64::MAX).expect_err("too large").to_string();
    let parts = format!("needs {} bytes", u64::MAX);
    assert!(said.contains(&parts) && said.contains("--sparse takes no room"), "{said}");
}
