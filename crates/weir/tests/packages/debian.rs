//! The Debian package, installed by dpkg into a bare root: what is there, that it serves, and what is left
//! when it is removed and purged.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use crate::script;
use crate::support::{Server, eventually, output_of, tool, weir};

/// The package of the program under test. It is made once for all tests of this file.
static PACKAGE: LazyLock<PathBuf> = LazyLock::new(|| {
    let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join("packages");
    let _ = fs::remove_dir_all(&out);
    let mut command = script("deb");
    command.arg("weir").arg(weir().get_program()).arg(&out);
    // Nobody keeps it: the least compression will do.
    command.env("DPKG_DEB_COMPRESSOR_LEVEL", "1");
    output_of(command);
    let mut made = fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().path());
    let package = made.next().expect("a package");
    let name = package.file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with(concat!("weir_", env!("CARGO_PKG_VERSION"), "_")), "{name}");
    package
});

/// A directory with nothing but dpkg's own files, as the root of a machine.
struct Root(tempfile::TempDir);

impl Root {
    fn bare() -> Root {
        let root = Root(tempfile::tempdir().unwrap());
        for directory in ["var/lib/dpkg/info", "var/lib/dpkg/updates", "etc", "usr/lib"] {
            fs::create_dir_all(root.path(directory)).unwrap();
        }
        fs::write(root.path("var/lib/dpkg/status"), "").unwrap();
        // As on every Debian since 12.
        symlink("usr/lib", root.path("lib")).unwrap();
        root
    }

    fn with_package() -> Root {
        let root = Root::bare();
        root.install();
        root
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn install(&self) {
        self.dpkg(&["--install", PACKAGE.to_str().unwrap()]);
    }

    fn dpkg(&self, arguments: &[&str]) {
        let here = self.0.path().display();
        let mut command = tool("dpkg", "dpkg");
        command.args([format!("--root={here}"), format!("--log={here}/dpkg.log")]);
        // The package's scripts run outside and are told the root; what it depends on is not installed there.
        command.args(["--force-script-chrootless", "--force-depends"]).args(arguments);
        output_of(command);
    }

    /// Everything but directories, and what dpkg and the list of users are kept in.
    fn files(&self) -> Vec<String> {
        let mut files = Vec::new();
        collect(self.0.path(), &mut files);
        let names = files.iter().map(|file| file.strip_prefix(self.0.path()).unwrap());
        let names = names.map(|name| name.to_str().unwrap().to_owned());
        let is_kept = |name: &String| {
            let users = ["etc/passwd", "etc/group", "etc/shadow", "etc/gshadow", "etc/.pwd.lock"];
            let of_dpkg = ["var/lib/dpkg/", "dpkg.log"];
            !users.iter().chain(&of_dpkg).any(|kept| name.starts_with(kept)) && name != "lib"
        };
        names.filter(is_kept).collect()
    }
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match fs::symlink_metadata(&path).unwrap().is_dir() {
            true => collect(&path, files),
            false => files.push(path),
        }
    }
}

#[test]
fn files_the_user_and_the_service_are_there() {
    let root = Root::with_package();
    for (name, mode) in [
        ("usr/bin/weir", 0o755),
        ("etc/weir/weir.toml", 0o644),
        ("etc/logrotate.d/weir", 0o644),
        ("usr/lib/systemd/system/weir.service", 0o644),
        ("usr/share/man/man1/weir.1.gz", 0o644),
        ("usr/share/man/man1/weir-reload.1.gz", 0o644),
        ("usr/share/man/man1/weir-uplink-install.1.gz", 0o644),
        ("usr/share/bash-completion/completions/weir", 0o644),
        ("usr/share/fish/vendor_completions.d/weir.fish", 0o644),
        ("usr/share/zsh/vendor-completions/_weir", 0o644),
        ("usr/share/doc/weir/copyright", 0o644),
        ("usr/share/doc/weir/examples/mirror.toml", 0o644),
        ("usr/share/doc/weir/examples/public/index.html", 0o644),
        ("usr/share/doc/weir/examples/weir-rules.yml", 0o644),
        ("usr/share/doc/weir/examples/weir-dashboard.json", 0o644),
    ] {
        let found = fs::metadata(root.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let about = (found.mode() & 0o7777, found.uid(), found.gid());
        assert_eq!(about, (mode, 0, 0), "{name}");
    }
    let users = fs::read_to_string(root.path("etc/passwd")).unwrap();
    let user = users.lines().find(|line| line.starts_with("weir:")).expect("a user");
    assert!(user.ends_with(":/var/lib/weir:/usr/sbin/nologin"), "{user}");
    let wanted = root.path("etc/systemd/system/multi-user.target.wants/weir.service");
    assert!(fs::symlink_metadata(wanted).is_ok_and(|link| link.is_symlink()), "it is not enabled");
}

#[test]
fn the_libraries_that_it_needs_are_named() {
    let mut command = tool("dpkg-deb", "dpkg");
    command.args(["--field", PACKAGE.to_str().unwrap(), "Depends"]);
    let depends = output_of(command);
    assert!(depends.contains("libc6 (>= ") && depends.contains("systemd"), "{depends}");
}

#[test]
fn pages_have_every_key_and_flag_and_bash_reads_the_completions() {
    let root = Root::with_package();
    let page = |name: &str| {
        let mut command = tool("zcat", "gzip");
        command.arg(root.path(&format!("usr/share/man/{name}.gz")));
        output_of(command)
    };
    let keys = page("man5/weir.toml.5");
    // The first key, and the last.
    for key in ["listen", "uplink_pace", "max_body"] {
        assert!(keys.contains(key), "{key} is not in weir.toml(5)");
    }
    assert!(!keys.contains("UPDATE_DOCS"), "how it is made is no matter of its readers");
    assert!(page("man1/weir-serve.1").contains("uplink\\-pace"));
    let mut command = tool("bash", "bash");
    command.arg("-n").arg(root.path("usr/share/bash-completion/completions/weir"));
    assert_eq!(output_of(command), "");
}

#[test]
fn what_is_installed_serves_its_page_and_writes_its_log() {
    let root = Root::with_package();
    let installed = fs::read_to_string(root.path("etc/weir/weir.toml")).unwrap();
    let mut text = installed.clone();
    // The files are where they are in the root; systemd makes the directory of the logs.
    for place in ["usr/share/weir", "var/log/weir"] {
        text = text.replace(&format!("/{place}"), root.path(place).to_str().unwrap());
    }
    assert_ne!(text, installed);
    fs::create_dir_all(root.path("var/log/weir")).unwrap();
    let file = root.path("weir.toml");
    fs::write(&file, text).unwrap();
    let mut command = Command::new(root.path("usr/bin/weir"));
    command.args(["serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"]);
    command.arg("--config").arg(file);
    let server = Server::run(command, 1, true);
    let page = server.get("/");
    assert!(page.status == 200 && page.text().contains("weir works"), "{}", page.text());
    let log = root.path("var/log/weir/access.log");
    eventually("a line", || fs::read_to_string(&log).is_ok_and(|log| log.contains("GET / ")));
    assert_eq!(server.stop().code(), Some(0));
}

#[test]
fn an_upgrade_keeps_the_administrators_configuration() {
    let root = Root::with_package();
    let file = root.path("etc/weir/weir.toml");
    fs::write(&file, "root = \"/srv/mine\"\n").unwrap();
    root.install();
    assert_eq!(fs::read_to_string(&file).unwrap(), "root = \"/srv/mine\"\n");
}

#[test]
fn a_removal_keeps_what_is_the_administrators_and_a_purge_leaves_nothing() {
    let root = Root::bare();
    let before = root.files();
    root.install();
    for directory in ["var/lib/weir/certificates", "var/log/weir"] {
        fs::create_dir_all(root.path(directory)).unwrap();
    }
    let (kept, log) = ("var/lib/weir/certificates/example.org.pem", "var/log/weir/access.log");
    fs::write(root.path(kept), "").unwrap();
    fs::set_permissions(root.path(kept), fs::Permissions::from_mode(0o600)).unwrap();
    fs::write(root.path(log), "").unwrap();

    root.dpkg(&["--remove", "weir"]);
    assert!(!root.path("usr/bin/weir").exists());
    for name in ["etc/weir/weir.toml", kept, log] {
        assert!(root.path(name).exists(), "{name} is gone");
    }

    root.dpkg(&["--purge", "weir"]);
    assert_eq!(root.files(), before);
    for name in ["etc/weir", "var/lib/weir", "var/log/weir", "usr/share/weir"] {
        assert!(!root.path(name).exists(), "{name} is left");
    }
}
