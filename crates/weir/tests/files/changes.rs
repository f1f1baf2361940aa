//! Shows that what is remembered of names and files is never older than a second, whatever is done to
//! them, and that what was remembered is used.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::support::{Client, Server, eventually, noise};

fn age(name: &Path) {
    let hour_ago = SystemTime::now() - Duration::from_secs(3600);
    let file = fs::File::options().write(true).open(name).expect("the file is there");
    file.set_modified(hour_ago).expect("a time can be set");
}

#[test]
fn what_is_asked_for_often_is_answered_from_memory() {
    let site = tempfile::tempdir().unwrap();
    fs::write(site.path().join("small"), noise(1, 3000)).unwrap();
    fs::write(site.path().join("large"), noise(2, 300_000)).unwrap();
    let server = Server::of(site.path(), &["--workers", "1"]);
    let mut client = server.connect();
    for (path, content) in [("/small", noise(1, 3000)), ("/large", noise(2, 300_000))] {
        server.make_hot(&mut client, path);
        let misses = server.metrics().sum("weir_name_cache_misses_total");
        for _ in 0..20 {
            assert!(client.get(path).body == content, "the bytes of {path}");
        }
        assert_eq!(server.metrics().sum("weir_name_cache_misses_total"), misses);
        let part = client.get_with(path, "Range: bytes=1000-1999\r\n");
        assert!(part.status == 206 && part.body == content[1000..2000]);
    }
}

#[test]
fn a_change_of_any_kind_shows() {
    let site = tempfile::tempdir().unwrap();
    let name = site.path().join("file");
    let new = site.path().join("new");
    for size in [3000, 300_000] {
        fs::write(&name, noise(1, size)).unwrap();
        age(&name);
        let server = Server::of(site.path(), &["--workers", "1"]);
        let mut client = server.connect();
        let shows = |client: &mut Client, what: &str, content: &[u8]| {
            eventually(what, || client.get("/file").body == content);
            assert!(client.get("/file").body == content, "{what}: it stays so");
        };
        server.make_hot(&mut client, "/file");
        // The same length and the same time of modification: only the inode tells.
        fs::write(&new, noise(2, size)).unwrap();
        age(&new);
        fs::rename(&new, &name).unwrap();
        shows(&mut client, "another file in its place", &noise(2, size));
        server.make_hot(&mut client, "/file");
        fs::write(&name, noise(3, size)).unwrap();
        shows(&mut client, "other content", &noise(3, size));
        server.make_hot(&mut client, "/file");
        fs::remove_file(&name).unwrap();
        eventually("it is missed", || client.get("/file").status == 404);
        fs::write(&name, noise(4, size)).unwrap();
        shows(&mut client, "there again", &noise(4, size));
        server.make_hot(&mut client, "/file");
        fs::remove_file(&name).unwrap();
        fs::create_dir(&name).unwrap();
        eventually("it is a directory", || client.get("/file").status == 301);
        fs::write(name.join("index.html"), "index").unwrap();
        eventually("it has an index", || client.get("/file/").text() == "index");
        fs::remove_dir_all(&name).unwrap();
    }
}

#[test]
fn names_that_lead_nowhere_are_remembered_for_a_second_at_most() {
    let site = tempfile::tempdir().unwrap();
    let server = Server::of(site.path(), &["--workers", "1"]);
    let mut client = server.connect();
    for _ in 0..10 {
        assert_eq!(client.get("/later").status, 404);
    }
    assert!(server.metrics().sum("weir_name_cache_hits_total") > 0.0);
    fs::write(site.path().join("later"), "here").unwrap();
    eventually("it is found", || client.get("/later").status == 200);
}

#[test]
fn a_file_that_may_no_longer_be_read_is_no_longer_served() {
    let site = tempfile::tempdir().unwrap();
    fs::set_permissions(site.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let name = site.path().join("file");
    fs::write(&name, "secret").unwrap();
    age(&name);
    let mut command = crate::support::as_nobody();
    command.arg("serve").arg(site.path());
    let server = Server::launch(command, &["--workers", "1"]);
    let mut client = server.connect();
    server.make_hot(&mut client, "/file");
    fs::set_permissions(&name, fs::Permissions::from_mode(0o600)).unwrap();
    eventually("it is refused", || client.get("/file").status == 403);
}

#[test]
fn a_site_that_is_exchanged_by_its_link_is_served_anew() {
    let outer = tempfile::tempdir().unwrap();
    for release in ["one", "two"] {
        let directory = outer.path().join(release);
        fs::create_dir(&directory).unwrap();
        fs::write(directory.join("file"), release).unwrap();
        age(&directory.join("file"));
    }
    let current = outer.path().join("current");
    symlink("one", &current).unwrap();
    let server = Server::of(&current, &["--workers", "2"]);
    let mut clients: Vec<Client> = (0..6).map(|_| server.connect()).collect();
    for client in &mut clients {
        assert_eq!(client.get("/file").text(), "one");
    }
    symlink("two", outer.path().join("next")).unwrap();
    fs::rename(outer.path().join("next"), &current).unwrap();
    for client in &mut clients {
        eventually("the new site is served", || client.get("/file").text() == "two");
    }
}

#[test]
fn more_names_than_are_remembered_are_all_served() {
    let site = tempfile::tempdir().unwrap();
    for number in 0..3000 {
        fs::write(site.path().join(number.to_string()), number.to_string()).unwrap();
    }
    // With so many workers each remembers few names; with so small a cache, few bytes.
    let server = Server::of(site.path(), &["--workers", "64", "--cache", "1mb"]);
    let mut client = server.connect();
    for round in 0..3 {
        for number in 0..3000 {
            let answer = client.get(&format!("/{number}"));
            assert_eq!(answer.text(), number.to_string(), "round {round}");
            assert_eq!(client.get(&format!("/none-{number}")).status, 404);
        }
    }
}
