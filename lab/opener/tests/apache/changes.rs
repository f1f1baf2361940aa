//! Files that change between requests, and what Apache refuses.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, chown, symlink};

use weir_peers::apache::Asking;

use crate::server::{Apache, Start, request};
use crate::support::process::Process;
use crate::support::{eventually, open_directory};

#[test]
fn changes_show() {
    for asking in [Asking::Always, Asking::WhereItBlocks] {
        changes_show_asking(asking);
    }
}

fn changes_show_asking(asking: Asking) {
    let directory = open_directory();
    let root = directory.path().join("root");
    fs::create_dir_all(root.join("d")).unwrap();
    let (path, other) = (root.join("d/f"), root.join("d/g"));
    fs::write(&path, "one").unwrap();
    let socket = directory.path().join("socket");
    let _opener = Process::start(&socket, &root, 500);
    let start = Start { asking, ..Start::with(&socket) };
    let apache = Apache::start(&root, &directory.path().join("with"), start);
    let get = || apache.get("/d/f");
    assert_eq!(get().unwrap(), b"one");
    // In place: at once, and no more is announced than is there.
    fs::write(&path, "a longer second").unwrap();
    assert_eq!(get().unwrap(), b"a longer second");
    File::options().write(true).open(&path).unwrap().set_len(8).unwrap();
    assert_eq!(get().unwrap(), b"a longer");
    // Unreadable: at once. The kernel asks for Apache's user, not the opener's.
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    assert_eq!(get(), None);
    assert!(apache.answer(&request("GET", "/d/f", "")).starts_with(b"HTTP/1.1 403 "));
    fs::set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
    assert_eq!(get().unwrap(), b"a longer");
    // Replaced and deleted: when the name is looked at again. Without links, Apache sees it itself.
    fs::write(&other, "third").unwrap();
    fs::rename(&other, &path).unwrap();
    eventually("the new file is sent", || get().unwrap() == b"third");
    fs::remove_file(&path).unwrap();
    eventually("the file is gone", || get().is_none());
    assert!(apache.answer(&request("GET", "/d/f", "")).starts_with(b"HTTP/1.1 404 "));
}

/// The descriptor is of a file that a link led to while such links are forbidden, and the link is a file by
/// the time that Apache looks.
#[test]
fn a_link_that_becomes_a_file_does_not_give_out_what_it_led_to() {
    // The second: as FollowSymLinks of the whole site with SymLinksIfOwnerMatch added for its users.
    for options in ["None", "FollowSymLinks SymLinksIfOwnerMatch", "SymLinksIfOwnerMatch"] {
        let directory = open_directory();
        let root = directory.path().join("root");
        fs::create_dir_all(&root).unwrap();
        fs::write(root.join("secret"), "secret").unwrap();
        // Of another owner than the link.
        chown(root.join("secret"), Some(12345), None).unwrap();
        symlink("secret", root.join("f")).unwrap();
        let socket = directory.path().join("socket");
        // A name is trusted for an hour.
        let mut opener = Process::start(&socket, &root, 3_600_000);
        let start = Start { options, ..Start::with(&socket) };
        let apache = Apache::start(&root, &directory.path().join("with"), start);
        assert!(apache.answer(&request("GET", "/f", "")).starts_with(b"HTTP/1.1 403 "));
        assert_eq!(opener.counts()["opened"], 1);
        fs::remove_file(root.join("f")).unwrap();
        fs::write(root.join("f"), "public").unwrap();
        assert_eq!(apache.get("/f").unwrap(), b"public", "Options {options}");
        apache.must_have_opened(0, 2);
    }
}

/// Where the module leaves a file to Apache, Apache announces the file as it is, not the one that the opener
/// had passed.
#[test]
fn a_file_that_was_replaced_is_announced_as_it_is_by_others() {
    let asis = "LoadModule asis_module /usr/lib/apache2/modules/mod_asis.so\n\
                AddHandler send-as-is asis\n";
    let by_type = "LoadModule asis_module /usr/lib/apache2/modules/mod_asis.so\n\
                   AddType httpd/send-as-is asis\n";
    let head = "Content-Type: text/plain\n\n";
    for (lines, name, head) in [
        ("ContentDigest On\n", "f", ""),
        ("AddHandler nobody txt\n", "f.txt", ""),
        (asis, "f.asis", head),
        (by_type, "f.asis", head),
    ] {
        let directory = open_directory();
        let root = directory.path().join("root");
        fs::create_dir_all(&root).unwrap();
        let (path, other) = (root.join(name), directory.path().join("new"));
        fs::write(&path, format!("{head}one")).unwrap();
        let socket = directory.path().join("socket");
        let _opener = Process::start(&socket, &root, 3_600_000);
        let start = Start { lines, ..Start::with(&socket) };
        let apache = Apache::start(&root, &directory.path().join("with"), start);
        let get = || apache.get(&format!("/{name}")).unwrap();
        assert_eq!(get(), b"one", "{lines}");
        fs::write(&other, format!("{head}a longer second")).unwrap();
        fs::rename(&other, &path).unwrap();
        assert_eq!(get(), b"a longer second", "{lines}");
        apache.must_have_opened(0, 2);
    }
}

/// A POST to a directory or to a name that is missing is answered by Apache itself, but what stands in for it is
/// looked up by a GET of mod_dir's.
#[test]
fn what_stands_in_and_was_replaced_is_announced_as_it_is_to_a_post() {
    for (case, path, lines) in
        [("index", "/", ""), ("fallback", "/missing", "FallbackResource /index.html\n")]
    {
        let directory = open_directory();
        let root = directory.path().join("root");
        fs::create_dir_all(&root).unwrap();
        let (index, other) = (root.join("index.html"), directory.path().join("new"));
        fs::write(&index, "one").unwrap();
        let socket = directory.path().join("socket");
        let _opener = Process::start(&socket, &root, 3_600_000);
        let start = Start { lines, ..Start::with(&socket) };
        let apache = Apache::start(&root, &directory.path().join("with"), start);
        assert_eq!(apache.get(path).unwrap(), b"one", "{case}");
        fs::write(&other, "a longer second").unwrap();
        fs::rename(&other, &index).unwrap();
        let answer = apache.answer(&request("POST", path, "Content-Length: 0\r\n"));
        let shown = String::from_utf8_lossy(&answer);
        assert!(answer.ends_with(b"a longer second"), "{case}: {shown}");
    }
}

/// What the opener has opened for a request that Apache refuses is not sent.
#[test]
fn what_apache_refuses_stays_refused() {
    let directory = open_directory();
    let root = directory.path().join("root");
    fs::create_dir_all(&root).unwrap();
    fs::write(root.join("a"), "a").unwrap();
    let socket = directory.path().join("socket");
    let mut opener = Process::start(&socket, &root, 1000);
    let lines = "<Location /a>\nRequire all denied\n</Location>\n";
    let start = Start { lines, ..Start::with(&socket) };
    let apache = Apache::start(&root, &directory.path().join("with"), start);
    eventually("the parent and its four processes run", || apache.processes().len() == 5);
    let refused_often = || {
        for _ in 0..50 {
            assert!(apache.answer(&request("GET", "/a", "")).starts_with(b"HTTP/1.1 403 "));
        }
    };
    refused_often();
    let before = apache.descriptors();
    refused_often();
    assert!(opener.counts()["questions"] >= 100);
    // A process that had no request before has a connection to the opener more.
    eventually("no descriptor is left over", || apache.descriptors() <= before + 4);
}
