//! Shows that what is mounted in place of something that hangs is served, and that a mount that hangs keeps no
//! names outside of it from being looked up. These tests need root and /dev/fuse.

use std::fs;
use std::path::Path;

use rustix::process::Signal;
use tempfile::TempDir;

use crate::answered::Answered;
use crate::support::{Client, Server, eventually, tool};

/// A directory of files with this content.
fn files(content: &str) -> TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    fs::write(directory.path().join("hot"), content).expect("a file");
    for number in 0..20 {
        fs::write(directory.path().join(number.to_string()), content).expect("a file");
    }
    directory
}

/// Takes away what is mounted, without asking it.
fn detach(at: &Path) {
    let mut command = tool("umount", "mount");
    command.args(["--internal-only", "--no-canonicalize", "--lazy"]).arg(at);
    assert!(command.status().expect("umount runs").success());
}

fn stuck(server: &Server) -> f64 {
    server.metrics().sum("weir_disk_stuck_jobs")
}

/// Jobs that are neither done nor written off.
fn going_on(server: &Server) -> f64 {
    let metrics = server.metrics();
    metrics.sum("weir_disk_jobs_under_way") + metrics.sum("weir_disk_queued_jobs")
}

/// Asks for each of these paths at once, and waits until all have been refused.
fn refused(server: &Server, paths: impl Iterator<Item = String>) {
    let ask = |path: String| {
        let mut client = server.connect();
        client.ask(&path);
        client
    };
    let mut clients: Vec<Client> = paths.map(ask).collect();
    for client in &mut clients {
        assert_eq!(client.response().status, 503);
    }
}

#[test]
fn a_mount_that_takes_the_place_of_one_that_hangs_is_served() {
    let (old, new, site) = (files("before"), files("after"), tempfile::tempdir().unwrap());
    let (at, other) = (site.path().join("remote"), site.path().join("other"));
    for directory in [&at, &other] {
        fs::create_dir(directory).unwrap();
    }
    // Declared before the processes, so that it ends after them.
    let mut server = Server::of(site.path(), &["--workers", "1", "--disk-timeout", "1s"]);
    let hung = Answered::mount(old.path(), &at);
    let mut client = server.connect();
    server.make_hot(&mut client, "/remote/hot");
    hung.signal(Signal::STOP);
    refused(&server, (0..8).map(|number| format!("/remote/{number}")));
    eventually("they hang", || stuck(&server) >= 4.0 && going_on(&server) == 0.0);
    // While it is mounted nothing more is tried, whatever is mounted elsewhere.
    let before = stuck(&server);
    refused(&server, (8..12).map(|number| format!("/remote/{number}")));
    let _beside = Answered::mount(new.path(), &other);
    refused(&server, (12..16).map(|number| format!("/remote/{number}")));
    assert_eq!(client.get("/other/0").text(), "after");
    eventually("all have ended", || going_on(&server) == 0.0);
    assert_eq!(stuck(&server), before);

    detach(&at);
    let _well = Answered::mount(new.path(), &at);
    for path in ["/remote/0", "/remote/19", "/remote/hot"] {
        eventually("what is there now is served", || client.get(path).text() == "after");
    }
    server.assert_alive();
}

#[test]
fn a_root_that_takes_the_place_of_one_that_hangs_is_served() {
    let (old, new, root) = (files("before"), files("after"), tempfile::tempdir().unwrap());
    // Declared before the processes, so that it ends after them.
    let mut server = Server::of(root.path(), &["--workers", "1", "--disk-timeout", "1s"]);
    let hung = Answered::mount(old.path(), root.path());
    let mut client = server.connect();
    eventually("it is served", || client.get("/hot").text() == "before");
    server.make_hot(&mut client, "/hot");
    hung.signal(Signal::STOP);
    eventually("the looks for the root and for the file hang", || {
        assert_eq!(client.get("/hot").text(), "before");
        stuck(&server) >= 2.0 && going_on(&server) == 0.0
    });

    detach(root.path());
    let _well = Answered::mount(new.path(), root.path());
    for path in ["/hot", "/0"] {
        eventually("what is there now is served", || client.get(path).text() == "after");
    }
    server.assert_alive();
}

#[test]
fn lists_of_a_mount_that_hangs_keep_no_name_beside_it_from_being_looked_up() {
    let (files, site) = (files("content"), tempfile::tempdir().unwrap());
    let at = site.path().join("mount");
    fs::create_dir(&at).unwrap();
    let text = format!("root = {:?}\nlisting = true\ndisk_timeout = \"1s\"\n", site.path());
    let server = Server::configured(&text, &["--workers", "1"]);
    let answered = Answered::mount(files.path(), &at);
    // It is known for a second that there is a list. If that is over, it is that which hangs.
    eventually("lists hang", || {
        answered.signal(Signal::CONT);
        if server.get("/mount/").status != 200 {
            return false;
        }
        answered.signal(Signal::STOP);
        refused(&server, (0..8).map(|_| "/mount/".to_owned()));
        eventually("all are given up", || going_on(&server) == 0.0);
        stuck(&server) >= 4.0
    });
    // Whether there is such a file, a helper has to look.
    assert_eq!(server.get("/missing").status, 404);
    answered.signal(Signal::CONT);
}
