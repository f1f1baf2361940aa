//! The storage on real directories, a full disk included.

use std::io::Write;
use std::os::unix::fs::symlink;
use std::process::Command;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::*;

/// Guards against hanging. Nothing that works takes so long.
const DEADLINE: Duration = Duration::from_secs(60);

fn server() -> DirectoryUrl {
    "https://acme.example/directory".parse().unwrap()
}

fn name() -> HostName {
    "www.example.org".parse().unwrap()
}

fn pem(letter: &str, bytes: usize) -> Pem {
    Pem {
        key: "-----BEGIN PRIVATE KEY-----\nQUJD\n-----END PRIVATE KEY-----\n".to_owned(),
        chain: format!("-----BEGIN CERTIFICATE-----\n{}\n", letter.repeat(bytes)),
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// A file system in memory, mounted until it is dropped. Mounting needs root.
pub(crate) struct Small(TempDir);

impl Small {
    pub(crate) fn new(size: &str) -> Small {
        let directory = TempDir::new().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={size}"), "weir"]).arg(directory.path());
        assert!(mount.status().unwrap().success(), "mounting a tmpfs needs root");
        Small(directory)
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Leaves no room, by a file that is returned.
    pub(crate) fn fill(&self) -> PathBuf {
        let path = self.path().join("filler");
        let mut file = fs::File::create(&path).unwrap();
        while file.write(&[0; 4096]).is_ok_and(|count| count > 0) {}
        path
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

#[test]
fn only_its_user_reads_what_is_kept() {
    let home = TempDir::new().unwrap();
    let root = home.path().join("tls");
    let storage = Storage::open(&root, &server()).unwrap();
    storage.save_certificate(&name(), &pem("A", 10)).unwrap();
    storage.save_account("{}").unwrap();
    storage.save_order(&name(), "{}").unwrap();
    let _lock = storage.lock_certificate(&name()).unwrap().unwrap();
    assert_eq!(mode(&root), 0o700);
    assert_eq!(mode(&root.join("acme.example_directory")), 0o700);
    storage.share_answer(&name(), "{}").unwrap();
    assert_eq!(mode(&root.join("acme.example_directory/_challenges")), 0o700);
    for file in [
        "www.example.org.pem",
        "www.example.org.lock",
        "www.example.org.order",
        "_account.json",
        "_challenges/www.example.org",
    ] {
        assert_eq!(mode(&root.join("acme.example_directory").join(file)), 0o600, "{file}");
    }
}

#[test]
fn a_directory_that_was_open_to_others_is_closed() {
    let home = TempDir::new().unwrap();
    let open = home.path().join("acme.example_directory");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, Permissions::from_mode(0o755)).unwrap();
    Storage::open(home.path(), &server()).unwrap();
    assert_eq!(mode(&open), 0o700);
}

#[test]
fn what_is_kept_comes_back_and_is_replaced() {
    let home = TempDir::new().unwrap();
    let storage = Storage::open(home.path(), &server()).unwrap();
    assert_eq!(storage.certificate(&name()).unwrap(), None);
    for letter in ["A", "B"] {
        storage.save_certificate(&name(), &pem(letter, 100)).unwrap();
        let kept = storage.certificate(&name()).unwrap().unwrap();
        assert_eq!(kept, pem(letter, 100));
    }
    let other = Storage::open(home.path(), &"https://other.example/".parse().unwrap()).unwrap();
    assert_eq!(other.certificate(&name()).unwrap(), None);
}

#[test]
fn an_order_is_kept_until_it_is_forgotten() {
    let home = TempDir::new().unwrap();
    let storage = Storage::open(home.path(), &server()).unwrap();
    storage.forget_order(&name()).unwrap();
    assert_eq!(storage.order(&name()).unwrap(), None);
    storage.save_order(&name(), "{}").unwrap();
    assert_eq!(storage.order(&name()).unwrap().as_deref(), Some("{}"));
    assert_eq!(storage.order(&"a.example".parse().unwrap()).unwrap(), None);
    storage.forget_order(&name()).unwrap();
    assert_eq!(storage.order(&name()).unwrap(), None);
}

#[test]
fn an_account_that_the_server_forgot_is_put_aside() {
    let home = TempDir::new().unwrap();
    let storage = Storage::open(home.path(), &server()).unwrap();
    storage.forget_account().unwrap();
    storage.save_account("{}").unwrap();
    storage.forget_account().unwrap();
    assert_eq!(storage.account().unwrap(), None);
}

#[test]
fn one_at_a_time_orders_and_a_dead_process_holds_nothing() {
    let home = TempDir::new().unwrap();
    let [one, other] = [(); 2].map(|()| Storage::open(home.path(), &server()).unwrap());
    let lock = one.lock_certificate(&name()).unwrap().unwrap();
    assert!(other.lock_certificate(&name()).unwrap().is_none());
    assert!(other.lock_certificate(&"a.example".parse().unwrap()).unwrap().is_some());
    assert!(other.lock_account().unwrap().is_some());
    drop(lock);
    assert!(other.lock_certificate(&name()).unwrap().is_some());

    // Another process takes it and is killed.
    let path = home.path().join("acme.example_directory/www.example.org.lock");
    let mut holder = Command::new("flock");
    let mut holder = holder.arg("--no-fork").arg(&path).args(["sleep", "600"]).spawn().unwrap();
    let start = Instant::now();
    while one.lock_certificate(&name()).unwrap().is_some() {
        assert!(start.elapsed() < DEADLINE, "flock does not take the lock");
        std::thread::yield_now();
    }
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert!(one.lock_certificate(&name()).unwrap().is_some());
}

#[test]
fn a_full_disk_keeps_the_old_file_and_is_named() {
    let small = Small::new("64k");
    let storage = Storage::open(small.path(), &server()).unwrap();
    storage.save_certificate(&name(), &pem("A", 100)).unwrap();
    let error = storage.save_certificate(&name(), &pem("B", 100_000)).unwrap_err().to_string();
    assert!(error.contains("www.example.org.pem") && error.contains("make room"), "{error}");
    assert_eq!(storage.certificate(&name()).unwrap(), Some(pem("A", 100)));
    // Nothing is left of the attempt.
    let files = fs::read_dir(small.path().join("acme.example_directory")).unwrap().count();
    assert_eq!(files, 2, "the certificate, and the directory of challenges");
}

#[test]
fn files_that_make_no_sense_are_named() {
    let home = TempDir::new().unwrap();
    let storage = Storage::open(home.path(), &server()).unwrap();
    let path = storage.certificate_path(&name());
    for (text, problem) in [
        ("", "the certificate is missing"),
        ("-----BEGIN PRIVATE KEY-----\n", "the certificate is missing"),
        ("-----BEGIN CERTIFICATE-----\n", "the private key is missing"),
    ] {
        fs::write(&path, text).unwrap();
        let error = storage.certificate(&name()).unwrap_err().to_string();
        assert!(error.contains(problem) && error.contains("www.example.org.pem"), "{error}");
    }
    fs::write(&path, [0xFF, 0xFE]).unwrap();
    assert!(storage.certificate(&name()).unwrap_err().to_string().contains("remove the file"));
    fs::remove_file(&path).unwrap();
    symlink("/nowhere/at/all", &path).unwrap();
    assert_eq!(storage.certificate(&name()).unwrap(), None);
}

#[test]
fn a_storage_that_cannot_be_one_says_why() {
    let home = TempDir::new().unwrap();
    let file = home.path().join("file");
    fs::write(&file, "").unwrap();
    symlink("/nowhere/at/all", home.path().join("symlink")).unwrap();
    for name in ["file", "file/below"] {
        let error = Storage::open(&home.path().join(name), &server()).unwrap_err().to_string();
        let place = format!("{name}/acme.example_directory: Not a directory");
        assert!(error.starts_with("cannot use ") && error.contains(&place), "{error}");
        let checked = Storage::check(&home.path().join(name), &server()).unwrap_err().to_string();
        assert_eq!(checked, error);
    }
    // What leads nowhere is no directory that could be made.
    let path = home.path().join("symlink");
    assert!(Storage::open(&path, &server()).is_err() && Storage::check(&path, &server()).is_err());
}

#[test]
fn a_look_at_a_storage_makes_nothing() {
    let home = TempDir::new().unwrap();
    let root = home.path().join("tls");
    Storage::check(&root, &server()).unwrap();
    Storage::check(Path::new("relative/tls"), &server()).unwrap();
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
    Storage::open(&root, &server()).unwrap();
    Storage::check(&root, &server()).unwrap();
}
