//! Shows what becomes of requests whose file, directory or permission changes while they wait: they get
//! what was there before, or what is there now, or are told that it is not to be had. These tests need
//! root and /dev/fuse.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use crate::answered::Answered;
use crate::support::{Client, Response, Server, as_nobody, eventually, noise};
use rustix::process::Signal;

/// Files that a process answers for, which is stopped while requests wait for it.
struct Waiting {
    // Dropped in this order.
    server: Server,
    answered: Answered,
    _site: tempfile::TempDir,
    files: tempfile::TempDir,
}

impl Waiting {
    /// A server whose user owns nothing, so that permissions count.
    fn new(fill: impl FnOnce(&Path)) -> Waiting {
        let [files, site] = [(); 2].map(|()| {
            let directory = tempfile::tempdir().expect("a directory");
            let everybody = fs::Permissions::from_mode(0o755);
            fs::set_permissions(directory.path(), everybody).expect("it is ours");
            directory
        });
        fill(files.path());
        let answered = Answered::mount(files.path(), site.path());
        let mut command = as_nobody();
        command.arg("serve").arg(site.path());
        let server = Server::launch(command, &["--workers", "1"]);
        Waiting { server, answered, _site: site, files }
    }

    /// What a request for each name is answered with if `change` happens while all of them wait.
    fn answers(&self, names: &[&str], change: impl FnOnce(&Path)) -> Vec<Response> {
        self.answered.signal(Signal::STOP);
        let ask = |name: &&str| {
            let mut client = self.server.connect();
            client.ask(&format!("/{name}"));
            client
        };
        let mut clients: Vec<Client> = names.iter().map(ask).collect();
        eventually("all wait", || {
            let metrics = self.server.metrics();
            let waiting = ["weir_disk_queued_jobs", "weir_disk_jobs_under_way"];
            waiting.iter().map(|name| metrics.sum(name)).sum::<f64>() >= names.len() as f64
        });
        change(self.files.path());
        self.answered.signal(Signal::CONT);
        clients.iter_mut().map(Client::response).collect()
    }
}

#[test]
fn files_that_change_come_whole_as_they_were_or_as_they_are() {
    let names = ["replaced", "shorter", "gone", "secret", "same"];
    let waiting = Waiting::new(|files| {
        for name in names {
            fs::write(files.join(name), noise(1, 20_000)).unwrap();
        }
    });
    let answers = waiting.answers(&names, |files| {
        fs::write(files.join("new"), noise(2, 30_000)).unwrap();
        fs::rename(files.join("new"), files.join("replaced")).unwrap();
        let shorter = fs::File::options().write(true).open(files.join("shorter")).unwrap();
        shorter.set_len(7000).unwrap();
        fs::remove_file(files.join("gone")).unwrap();
        let nobody = fs::Permissions::from_mode(0o600);
        fs::set_permissions(files.join("secret"), nobody).unwrap();
    });
    let [replaced, shorter, gone, secret, same] = &answers[..] else { panic!("{answers:?}") };
    let is = |answer: &Response, content: &[u8]| answer.status == 200 && answer.body == content;
    assert!(is(replaced, &noise(2, 30_000)) || is(replaced, &noise(1, 20_000)));
    assert!(is(shorter, &noise(1, 20_000)[..7000]) || is(shorter, &noise(1, 20_000)));
    assert_eq!((gone.status, secret.status), (404, 403));
    assert!(is(same, &noise(1, 20_000)));
    // And from now on as they are.
    let mut client = waiting.server.connect();
    eventually("the new file", || client.get("/replaced").body == noise(2, 30_000));
    eventually("the shorter file", || client.get("/shorter").body == noise(1, 20_000)[..7000]);
}

#[test]
fn a_directory_that_becomes_a_link_leads_nowhere_else() {
    let outside = tempfile::tempdir().unwrap();
    fs::set_permissions(outside.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(outside.path().join("file"), "outside").unwrap();
    let waiting = Waiting::new(|files| {
        for directory in ["one", "two", "real", "deep/real"] {
            fs::create_dir_all(files.join(directory)).unwrap();
            fs::write(files.join(directory).join("file"), directory).unwrap();
        }
        symlink("one", files.join("current")).unwrap();
    });
    let names = ["current/file", "real/file", "deep/real/file"];
    let answers = waiting.answers(&names, |files| {
        symlink("two", files.join("next")).unwrap();
        fs::rename(files.join("next"), files.join("current")).unwrap();
        for (directory, moved) in [("real", "moved"), ("deep/real", "deep/moved")] {
            fs::rename(files.join(directory), files.join(moved)).unwrap();
            symlink(outside.path(), files.join(directory)).unwrap();
        }
    });
    let [current, real, deep] = &answers[..] else { panic!("{answers:?}") };
    assert!(current.status == 200 && ["one", "two"].contains(&&*current.text()), "{current:?}");
    for answer in [real, deep] {
        let text = answer.text();
        assert!(!text.contains("outside"), "{text}");
        let is_inside = answer.status == 200 && text.contains("real");
        assert!(is_inside || [403, 404].contains(&answer.status), "{}", answer.head);
    }
    let mut client = waiting.server.connect();
    eventually("the new directory", || client.get("/current/file").text() == "two");
    eventually("the link leads nowhere", || client.get("/real/file").status == 403);
}
