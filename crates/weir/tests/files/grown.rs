//! Shows that a file that grows while its beginning is read for somebody comes whole to who asks then. This
//! test needs root and loop devices.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::time::SystemTime;

use crate::support::{Server, eventually, noise};
use slowdisk::{Disk, Options};

/// Pages of memory, so that nothing has to be read where it grows.
const BEFORE: usize = 10 * 4096;
const AFTER: usize = 100_000;

#[test]
fn a_file_that_grows_while_it_is_read_is_served_whole_from_then_on() {
    let at = tempfile::tempdir().unwrap();
    let disk = Disk::mount(&Options::new(at.path(), 200 << 20)).expect("this test needs root");
    let (name, content) = (at.path().join("page"), noise(1, AFTER));
    fs::write(&name, &content[..BEFORE]).unwrap();
    disk.remount().unwrap();
    let server = Server::of(at.path(), &["--workers", "1", "--disk-timeout", "1h"]);
    // What it is is in memory, and not what it says.
    assert_eq!(fs::metadata(&name).unwrap().len(), BEFORE as u64);
    disk.hang(true);
    let mut first = server.connect();
    first.ask("/page");
    let wanted = || {
        let metrics = server.metrics();
        ["weir_disk_jobs_under_way", "weir_disk_queued_jobs", "weir_disk_merged_requests_total"]
            .map(|name| metrics.sum(name))
            .iter()
            .sum::<f64>()
    };
    eventually("it is being read", || wanted() == 1.0);
    let mut file = OpenOptions::new().append(true).open(&name).unwrap();
    file.write_all(&content[BEFORE..]).unwrap();
    let changed = fs::metadata(&name).unwrap().ctime();
    // Then it is remembered.
    eventually("it changed two seconds ago", || {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap();
        now.as_secs() as i64 >= changed + 2
    });
    let mut second = server.connect();
    second.ask("/page");
    eventually("it is wanted again", || wanted() == 2.0);
    disk.hang(false);
    for client in [&mut first, &mut second] {
        let answer = client.response();
        assert_eq!(answer.status, 200);
        assert!(content.starts_with(&answer.body) && answer.body.len() >= BEFORE);
    }
    eventually("it comes whole", || server.get("/page").body == content);
    // From what is remembered, too.
    server.make_hot(&mut first, "/page");
    assert!(first.get("/page").body == content);
    drop((server, first, second, file));
    disk.unmount().unwrap();
}
