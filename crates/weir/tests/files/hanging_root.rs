//! Shows that a reload is refused in time while a root hangs, that everybody is served meanwhile, and that no
//! worker waits for what is mounted over a root. These tests need root and /dev/fuse.

use std::fs;
use std::thread;
use std::time::Duration;

use rustix::process::Signal;

use crate::answered::Answered;
use crate::support::{Client, Configuration, SMALL, Server, eventually};

#[test]
fn a_root_that_does_not_answer_refuses_a_reload_and_holds_up_nobody() {
    let files = tempfile::tempdir().unwrap();
    fs::write(files.path().join("page.html"), "page").unwrap();
    let text = |root: &str| {
        format!(
            "workers = 1\naccess_log = \"off\"\nroot = \"{root}\"\nlisten = \"127.0.0.1:0\"\n\
             fallback = \"/page.html\"\n"
        )
    };
    let configuration = Configuration::new(&text("remote"));
    let remote = configuration.path("remote");
    fs::create_dir(&remote).unwrap();
    let answered = Answered::mount(files.path(), &remote);
    let mut server = configuration.start(1);

    answered.signal(Signal::STOP);
    // Nothing has changed, but it is looked whether the page is there.
    let (code, said) = thread::scope(|scope| {
        let reload = scope.spawn(|| configuration.reload());
        while !reload.is_finished() {
            assert_eq!(Client::connect(server.admin()).get("/healthz").status, 200);
            thread::sleep(Duration::from_millis(20));
        }
        reload.join().expect("the command ends")
    });
    let named = format!("the root {} does not answer within 10s", remote.display());
    assert!(code == Some(1) && said.contains(&named), "{code:?}: {said}");
    // The way out of it.
    let said = configuration.change(&text("public"));
    assert!(said.contains("`root`"), "{said}");
    assert_eq!(server.get("/small").body.len(), SMALL);

    answered.signal(Signal::CONT);
    configuration.change(&text("remote"));
    assert_eq!(server.get("/page.html").text(), "page");
    server.assert_alive();
}

#[test]
fn what_is_mounted_over_a_root_and_hangs_delays_nobody() {
    let (files, outer) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let root = outer.path().join("root");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("page"), "before").unwrap();
    fs::write(files.path().join("page"), "after").unwrap();
    let mut server = Server::of(&root, &["--workers", "1"]);
    let mut client = server.connect();
    server.make_hot(&mut client, "/page");
    // Nobody asks for anything before it hangs.
    let answered = Answered::mount(files.path(), &root);
    answered.signal(Signal::STOP);
    eventually("a helper looks where the root is", || {
        assert_eq!(client.get("/page").text(), "before");
        server.metrics().sum("weir_disk_jobs_under_way") > 0.0
    });
    for _ in 0..10 {
        assert_eq!(client.get("/page").text(), "before");
    }
    answered.signal(Signal::CONT);
    eventually("the new root is served", || client.get("/page").text() == "after");
    server.assert_alive();
}
