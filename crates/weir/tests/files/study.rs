//! Shows that the keys for experiments do what they say: who waits for the disk, and whether requests of
//! clients that have left go on. These tests need root and loop devices.

use std::fs;
use std::time::Duration;

use crate::support::{Client, Server, eventually, noise};
use slowdisk::{Disk, Model, Options};

/// Jobs of helpers that a cold small and a cold large file take, and which kinds of work have kept the
/// worker for more than 10 ms.
fn cold(work: &str) -> (f64, Vec<&'static str>) {
    let at = tempfile::tempdir().expect("a directory");
    // Far longer than a turn of the worker may take.
    let seek = Duration::from_millis(60);
    let model = Model { seek, bytes_per_second: 0, channels: 1 };
    let disk = Disk::mount(&Options::new(at.path(), 200 << 20)).expect("root and loop devices");
    fs::write(at.path().join("small"), noise(1, 5000)).expect("a file");
    fs::write(at.path().join("large"), noise(2, 2_000_000)).expect("a file");
    disk.remount().expect("the caches can be emptied");
    let server = Server::of(at.path(), &["--workers", "1", "--disk-work", work]);
    disk.set_model(Some(model));
    let mut client = server.connect();
    assert!(client.get("/small").body == noise(1, 5000), "{work}");
    assert!(client.get("/large").body == noise(2, 2_000_000), "{work}");
    disk.set_model(None);
    let metrics = server.metrics();
    let kept = |cause: &&str| {
        let label = format!("{{cause=\"{cause}\"}}");
        metrics.value("weir_stalled_turns_total", &label).unwrap_or_default() > 0.0
    };
    let kept = ["open", "read", "sendfile"].into_iter().filter(kept).collect();
    let jobs = metrics.sum("weir_disk_jobs_total");
    drop((server, client));
    disk.unmount().expect("the disk can be unmounted");
    (jobs, kept)
}

#[test]
fn a_worker_waits_for_the_disk_as_far_as_it_is_told_to() {
    let (all, _) = cold("helpers");
    let (reads, kept) = cold("open-blocks");
    assert!(reads >= 2.0 && kept.contains(&"open"), "{reads}, {kept:?}");
    let (opens, kept) = cold("read-blocks");
    // Each name once, and nothing else.
    assert!(opens == 2.0 && kept.contains(&"read"), "{opens}, {kept:?}");
    assert!(all > opens, "{all}, {opens}");
    let (none, kept) = cold("blocks");
    assert!(none == 0.0 && kept.contains(&"open") && kept.contains(&"read"), "{none}, {kept:?}");
}

#[test]
fn a_request_of_a_client_that_has_left_goes_on_if_nobody_wants_to_know() {
    for (departures, left) in [("noticed", 0.0), ("unnoticed", 50.0)] {
        let at = tempfile::tempdir().unwrap();
        let disk = Disk::mount(&Options::new(at.path(), 100 << 20)).expect("root and loop devices");
        for number in 0..50 {
            fs::write(at.path().join(number.to_string()), noise(number, 20_000)).unwrap();
        }
        disk.remount().unwrap();
        let flags = ["--workers", "1", "--file-departures", departures, "--disk-timeout", "1h"];
        let server = Server::of(at.path(), &flags);
        disk.hang(true);
        let mut clients: Vec<Client> = (0..50).map(|_| server.connect()).collect();
        for (number, client) in clients.iter_mut().enumerate() {
            client.ask(&format!("/{number}"));
        }
        // 32 helpers have a job each.
        eventually("the rest are queued", || {
            server.metrics().sum("weir_disk_queued_jobs") == 50.0 - 32.0
        });
        clients.into_iter().for_each(Client::reset);
        if left == 0.0 {
            eventually("nothing waits", || server.metrics().sum("weir_disk_queued_jobs") == 0.0);
        }
        disk.hang(false);
        eventually("nothing is to be done any more", || {
            let metrics = server.metrics();
            let jobs = ["weir_disk_queued_jobs", "weir_disk_jobs_under_way", "weir_connections"];
            jobs.iter().all(|name| metrics.sum(name) == 0.0)
        });
        let done = server.metrics().sum("weir_disk_jobs_total");
        assert_eq!(done, if left == 0.0 { 32.0 } else { left }, "{departures}");
        drop(server);
        disk.unmount().unwrap();
    }
}
