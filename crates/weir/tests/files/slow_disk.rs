//! Shows what clients see of a disk, or of another process that answers for files, that fails or
//! hangs: what is in memory is served, the rest gets a clear status, nobody else waits. These tests
//! need root, /dev/fuse and loop devices.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::answered::Answered;
use crate::coding::{compressed, text};
use crate::support::{Client, Server, end_of, eventually, noise, tool};
use rustix::fs::{Advice, fadvise};
use rustix::process::Signal;
use slowdisk::{Disk, Options};

fn disk(at: &Path) -> Disk {
    Disk::mount(&Options::new(at, 200 << 20)).expect("a disk can be made: this test needs root")
}

/// Has the kernel forget the content of a file. It keeps a page for as long as a socket refers to it.
fn forget_content(name: &Path) {
    let file = fs::File::open(name).expect("the file is there");
    eventually("its content is forgotten", || {
        fadvise(&file, 0, None, Advice::DontNeed).expect("content can be forgotten");
        let mut resident = tool("vmtouch", "vmtouch");
        resident.arg(name);
        let resident = end_of(resident);
        String::from_utf8_lossy(&resident.stdout).contains("Resident Pages: 0/")
    });
}

#[test]
fn a_disk_that_hangs_delays_only_what_it_has_to_give() {
    let at = tempfile::tempdir().unwrap();
    let disk = disk(at.path());
    for number in 0..40 {
        fs::write(at.path().join(number.to_string()), noise(number, 20_000)).unwrap();
    }
    fs::write(at.path().join("large"), noise(50, 2_000_000)).unwrap();
    fs::write(at.path().join("hot"), "hot").unwrap();
    disk.remount().unwrap();
    let mut server = Server::of(at.path(), &["--workers", "1", "--disk-timeout", "1s"]);
    let mut client = server.connect();
    server.make_hot(&mut client, "/hot");
    disk.hang(true);
    let mut waiting: Vec<Client> = (0..40).map(|_| server.connect()).collect();
    for (number, client) in waiting.iter_mut().enumerate() {
        client.ask(&format!("/{number}"));
    }
    let mut large = server.connect();
    large.ask("/large");
    // More than helpers are waiting; what is in memory is served all the while.
    for _ in 0..100 {
        assert_eq!(client.get("/hot").text(), "hot");
    }
    for client in waiting.iter_mut().chain([&mut large]) {
        let answer = client.response();
        assert_eq!((answer.status, answer.field("Retry-After")), (503, Some("1")));
    }
    assert!(server.metrics().sum("weir_disk_refused_total") >= 40.0);
    eventually("work that hangs is written off, whether or not anybody asks for more", || {
        server.metrics().sum("weir_disk_stuck_jobs") > 0.0
    });
    assert_eq!(client.get("/hot").text(), "hot");
    disk.hang(false);
    for number in 0..40 {
        eventually("files come again", || client.get(&format!("/{number}")).status == 200);
        assert!(client.get(&format!("/{number}")).body == noise(number, 20_000));
    }
    assert!(client.get("/large").body == noise(50, 2_000_000));
    server.assert_alive();
    drop((server, client, waiting, large));
    disk.unmount().unwrap();
}

#[test]
fn an_error_does_not_wait_for_a_page_on_a_disk_that_hangs() {
    let at = tempfile::tempdir().unwrap();
    let disk = disk(at.path());
    let page = noise(3, 300_000);
    fs::write(at.path().join("405.html"), &page).unwrap();
    disk.remount().unwrap();
    let root = at.path();
    let text = format!(
        "root = {root:?}\ndisk_timeout = \"1h\"\nerror_pages = {{ 405 = \"/405.html\" }}\n"
    );
    let server = Server::configured(&text, &["--workers", "1"]);
    let mut client = server.connect();
    // That it is not allowed, no disk need tell.
    let mut refused = || {
        client.send("DELETE /a HTTP/1.1\r\nHost: weir\r\n\r\n");
        client.response()
    };
    for _ in 0..3 {
        let answer = refused();
        assert!(answer.status == 405 && answer.body == page);
    }
    // Its name is known and its file open; only its bytes have to come from the disk.
    forget_content(&at.path().join("405.html"));
    disk.hang(true);
    let answer = refused();
    assert_eq!(answer.status, 405);
    assert!(answer.body == b"405 Method Not Allowed\n", "{} bytes", answer.body.len());
    disk.hang(false);
    eventually("the page is shown again", || refused().body == page);
    drop((server, client));
    disk.unmount().unwrap();
}

/// Each disk has a gate of its own: with one for both, what waits for the one would take all helpers.
/// What is mounted inside the site is known to be another disk once something of it was opened.
#[test]
fn a_disk_that_hangs_takes_nothing_from_another() {
    let site = tempfile::tempdir().unwrap();
    let [hung, well] = ["hung", "well"].map(|name| {
        let at = site.path().join(name);
        let disk = disk(&at);
        for number in 0..100 {
            fs::write(at.join(number.to_string()), noise(number, 20_000)).unwrap();
        }
        fs::write(at.join("large"), noise(100, 3_000_000)).unwrap();
        disk.remount().unwrap();
        disk
    });
    // Nothing is ever written off here.
    let server = Server::of(site.path(), &["--workers", "1", "--disk-timeout", "1h"]);
    let mut client = server.connect();
    for directory in ["hung", "well"] {
        assert!(client.get(&format!("/{directory}/large")).body == noise(100, 3_000_000));
    }
    hung.hang(true);
    let mut waiting: Vec<Client> = (0..100).map(|_| server.connect()).collect();
    for (number, client) in waiting.iter_mut().enumerate() {
        client.ask(&format!("/hung/{number}"));
    }
    eventually("all helpers of the disk that hangs are busy", || {
        server.metrics().sum("weir_disk_queued_jobs") == 100.0 - 32.0
    });
    for number in 0..100 {
        assert!(client.get(&format!("/well/{number}")).body == noise(number, 20_000));
    }
    hung.hang(false);
    for (number, client) in waiting.iter_mut().enumerate() {
        assert!(client.response().body == noise(number as u64, 20_000));
    }
    drop((server, client, waiting));
    hung.unmount().unwrap();
    well.unmount().unwrap();
}

/// The first who wants a compressed file has its content read, and waits for that no longer than for the
/// rest.
#[test]
fn a_file_that_cannot_be_read_to_be_compressed_is_sent_as_it_is() {
    let at = tempfile::tempdir().unwrap();
    let disk = disk(at.path());
    let name = at.path().join("long.txt");
    fs::write(&name, text(500_000)).unwrap();
    disk.remount().unwrap();
    let keys = "workers = 1\ndisk_timeout = \"1h\"\ncompress = true";
    let server = Server::site(at.path(), keys);
    let mut client = server.connect();
    server.make_hot(&mut client, "/long.txt");
    // Its beginning can be sent. The rest has to come from the disk.
    forget_content(&name);
    let file = fs::File::open(&name).unwrap();
    fadvise(&file, 0, None, Advice::Random).unwrap();
    file.read_exact_at(&mut vec![0; 128 * 1024], 0).unwrap();
    disk.hang(true);
    client.ask_with("/long.txt", "Accept-Encoding: gzip\r\n");
    let head = client.head();
    assert_eq!((head.status, head.field("Content-Encoding")), (200, None));
    // The next one need not try again, which counts once, and for the same reason.
    let mut next = server.connect();
    next.ask_with("/long.txt", "Accept-Encoding: gzip\r\n");
    let given_up = |why: &str| {
        let labels = format!("{{why=\"{why}\"}}");
        server.metrics().value("weir_compression_given_up_total", &labels)
    };
    eventually("it is given up again", || given_up("too slow") == Some(2.0));
    assert_eq!(given_up("processor busy"), Some(0.0));
    disk.hang(false);
    assert!(client.read(500_000) == text(500_000));
    compressed(&mut client, "/long.txt", "gzip");
    drop((server, client, next, file));
    disk.unmount().unwrap();
}

/// Who leaves takes the reads along that were to have a file compressed: they would go before those of others
/// who came later, and hold memory and a descriptor meanwhile.
#[test]
fn nothing_is_read_to_be_compressed_for_who_has_left() {
    let at = tempfile::tempdir().unwrap();
    let disk = disk(at.path());
    // Who stays for a quarter of a second goes on wanting the result. On a busy machine the first may.
    let names = ["a.txt", "b.txt", "c.txt"];
    for name in names {
        fs::write(at.path().join(name), text(500_000)).unwrap();
    }
    for number in 0..40 {
        fs::write(at.path().join(number.to_string()), noise(number, 20_000)).unwrap();
    }
    disk.remount().unwrap();
    let keys = "workers = 1\ndisk_timeout = \"1h\"\ncompress = true";
    let server = Server::site(at.path(), keys);
    for name in names {
        server.make_hot(&mut server.connect(), &format!("/{name}"));
        forget_content(&at.path().join(name));
    }
    disk.hang(true);
    let mut waiting: Vec<Client> = (0..40).map(|_| server.connect()).collect();
    for (number, client) in waiting.iter_mut().enumerate() {
        client.ask(&format!("/{number}"));
    }
    let queued = || server.metrics().sum("weir_disk_queued_jobs");
    eventually("all helpers are busy", || queued() == 40.0 - 32.0);
    let is_taken_back = names.iter().any(|name| {
        let before = queued();
        let mut client = server.connect();
        client.ask_with(&format!("/{name}"), "Accept-Encoding: gzip\r\n");
        eventually("the file is to be read", || queued() > before);
        client.reset();
        let patience = Instant::now() + Duration::from_secs(5);
        while queued() > before && Instant::now() < patience {}
        queued() == before
    });
    assert!(is_taken_back);
    disk.hang(false);
    for (number, client) in waiting.iter_mut().enumerate() {
        assert!(client.response().body == noise(number as u64, 20_000));
    }
    drop((server, waiting));
    disk.unmount().unwrap();
}

#[test]
fn a_disk_that_fails_is_told_or_ends_the_response() {
    let at = tempfile::tempdir().unwrap();
    let disk = disk(at.path());
    let small = at.path().join("small");
    let large = at.path().join("large");
    fs::write(&small, noise(1, 5000)).unwrap();
    fs::write(&large, noise(2, 20_000_000)).unwrap();
    fs::write(at.path().join("hot"), "hot").unwrap();
    disk.remount().unwrap();
    for flags in [&[][..], &["--uplink", "1gbit"]] {
        let mut server = Server::of(at.path(), flags);
        let mut client = server.connect();
        assert_eq!(client.get("/hot").text(), "hot");
        assert!(client.get("/small").body == noise(1, 5000));
        forget_content(&small);
        forget_content(&large);
        let mut download = Client::with_small_buffer(server.address());
        download.ask("/large");
        assert_eq!(download.head().status, 200);
        disk.fail_reads(true);
        assert_eq!(client.get("/small").status, 500);
        assert_eq!(client.get("/hot").text(), "hot");
        let got = download.rest();
        assert!(got.len() < 20_000_000 && got[..] == noise(2, 20_000_000)[..got.len()]);
        disk.fail_reads(false);
        assert!(client.get("/small").body == noise(1, 5000));
        assert!(client.get("/large").body == noise(2, 20_000_000));
        server.assert_alive();
    }
    disk.unmount().unwrap();
}

#[test]
fn many_who_ask_for_one_cold_file_cost_the_disk_one_reading() {
    let at = tempfile::tempdir().unwrap();
    let disk = disk(at.path());
    fs::write(at.path().join("file"), noise(1, 100_000)).unwrap();
    disk.remount().unwrap();
    let server = Server::of(at.path(), &["--workers", "2"]);
    disk.reset_counts();
    disk.hang(true);
    let mut clients: Vec<Client> = (0..100).map(|_| server.connect()).collect();
    for client in &mut clients {
        client.ask("/file");
    }
    eventually("all wait for one job", || {
        server.metrics().sum("weir_disk_merged_requests_total") == 99.0
    });
    assert_eq!(server.metrics().sum("weir_disk_jobs_under_way"), 1.0);
    disk.hang(false);
    for client in &mut clients {
        assert!(client.response().body == noise(1, 100_000), "the bytes of the file");
    }
    let read = disk.counts().read_bytes;
    assert!(read < 300_000, "{read} bytes were read from the disk");
    drop((server, clients));
    disk.unmount().unwrap();
}

#[test]
fn a_client_that_leaves_takes_its_waiting_with_it() {
    let at = tempfile::tempdir().unwrap();
    let disk = disk(at.path());
    for number in 0..50 {
        fs::write(at.path().join(number.to_string()), noise(number, 20_000)).unwrap();
    }
    fs::write(at.path().join("patient"), "patient").unwrap();
    disk.remount().unwrap();
    let server = Server::of(at.path(), &["--workers", "1"]);
    disk.hang(true);
    let mut clients: Vec<Client> = (0..50).map(|_| server.connect()).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        client.ask(&format!("/{number}"));
    }
    // Few at first, for what the disk takes is not known; what hangs leaves room for more, up to 32.
    eventually("the rest are queued", || server.metrics().sum("weir_disk_queued_jobs") == 18.0);
    // One has only finished sending.
    let mut patient = server.connect();
    patient.ask("/patient");
    patient.stream.shutdown(std::net::Shutdown::Write).unwrap();
    assert_eq!(patient.head().status, 102);
    drop(clients);
    eventually("only one waits", || server.metrics().sum("weir_disk_queued_jobs") == 1.0);
    disk.hang(false);
    assert_eq!(patient.response().text(), "patient");
    assert!(server.get("/49").body == noise(49, 20_000));
    drop(server);
    disk.unmount().unwrap();
}

#[test]
fn a_process_that_answers_for_files_and_hangs_delays_nobody_else() {
    let (files, site) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for number in 0..40 {
        fs::write(files.path().join(number.to_string()), noise(number, 300_000)).unwrap();
    }
    fs::write(files.path().join("hot"), "hot").unwrap();
    fs::write(site.path().join("local"), "local").unwrap();
    let remote = site.path().join("remote");
    fs::create_dir(&remote).unwrap();
    let answered = Answered::mount(files.path(), &remote);
    // Below a local directory, and as the root itself.
    for (root, prefix) in [(site.path(), "/remote"), (remote.as_path(), "")] {
        let mut server = Server::of(root, &["--workers", "1", "--disk-timeout", "1s"]);
        let mut client = server.connect();
        let hot = format!("{prefix}/hot");
        server.make_hot(&mut client, &hot);
        assert!(client.get(&format!("{prefix}/1")).body == noise(1, 300_000));
        answered.signal(Signal::STOP);
        let mut waiting: Vec<Client> = (0..40).map(|_| server.connect()).collect();
        for (number, client) in waiting.iter_mut().enumerate() {
            client.ask(&format!("{prefix}/{number}"));
        }
        for _ in 0..50 {
            assert_eq!(client.get(&hot).text(), "hot");
            if !prefix.is_empty() {
                assert_eq!(client.get("/local").text(), "local");
            }
        }
        for client in &mut waiting {
            assert_eq!(client.response().status, 503);
        }
        answered.signal(Signal::CONT);
        for number in 0..40 {
            let path = format!("{prefix}/{number}");
            eventually("files come again", || client.get(&path).status == 200);
            assert!(client.get(&path).body == noise(number, 300_000));
        }
        server.assert_alive();
    }
}

/// The kernel asks the process when the first file is closed (FUSE_FLUSH), and learns then whether it has to.
#[test]
fn a_file_whose_closing_hangs_keeps_none_of_another_open() {
    let (files, site) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(files.path().join("large"), noise(1, 20_000_000)).unwrap();
    for number in 0..20 {
        fs::write(files.path().join(number.to_string()), noise(number, 300_000)).unwrap();
    }
    // Declared before the processes, so that it ends after them: nothing interrupts a thread that closes.
    let server = Server::of(site.path(), &["--workers", "1", "--disk-timeout", "1h"]);
    let site = fs::canonicalize(site.path()).unwrap();
    let [hung, _well] = ["hung", "well"].map(|name| {
        let at = site.join(name);
        fs::create_dir(&at).unwrap();
        Answered::mount(files.path(), &at)
    });
    let open_below = |name: &str| {
        let descriptors = format!("/proc/{}/fd", server.process().as_raw_pid());
        let entries = fs::read_dir(descriptors).unwrap().flatten();
        let targets = entries.filter_map(|entry| fs::read_link(entry.path()).ok());
        targets.filter(|target| target.starts_with(site.join(name))).count()
    };
    let mut download = Client::with_small_buffer(server.address());
    download.ask("/hung/large");
    assert_eq!(download.head().status, 200);
    let mut before = -1.0;
    eventually("it takes no more, so nothing is read for it", || {
        let metrics = server.metrics();
        let jobs = metrics.sum("weir_disk_jobs_total");
        let was = std::mem::replace(&mut before, jobs);
        jobs == was && metrics.sum("weir_disk_jobs_under_way") == 0.0
    });
    assert_eq!(open_below("hung"), 1);
    hung.signal(Signal::STOP);
    download.reset();
    eventually("its file is being closed", || open_below("hung") == 0);
    for number in 0..20 {
        assert!(server.get(&format!("/well/{number}")).body == noise(number, 300_000));
    }
    eventually("all files of the other are closed", || open_below("well") == 0);
}
