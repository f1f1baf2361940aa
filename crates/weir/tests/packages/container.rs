//! The root of the container image: the server runs in it alone, as an engine would start it.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::{Client, Server, eventually, noise, output_of, tool, weir};
use crate::{dist, script};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// The user of dist/Containerfile.
const USER: u32 = 65532;

/// The image below `directory`, with the names of hosts that an engine adds. The directory of accounts is
/// the user's, as dist/Containerfile has it.
fn image(directory: &Path) -> PathBuf {
    let root = directory.join("image");
    let mut command = script("container-root");
    command.arg(weir().get_program()).arg(&root);
    output_of(command);
    fs::write(root.join("etc/hosts"), "127.0.0.1 localhost\n").unwrap();
    chown(root.join("var/lib/weir"), Some(USER), Some(USER)).unwrap();
    root
}

/// The program inside `root`, by its user, with /proc in a namespace of its own; arguments can follow.
fn inside(root: &Path) -> Command {
    let start = format!(
        "mount --rbind /proc \"$0/proc\" && exec chroot --userspec={USER}:{USER} \"$0\" /usr/bin/weir \"$@\""
    );
    let mut command = tool("unshare", "util-linux");
    command.args(["--mount", "sh", "-c", &start]).arg(root);
    command
}

#[test]
fn it_serves_and_stops_with_nothing_else_around_it() {
    let directory = tempfile::tempdir().unwrap();
    let root = image(directory.path());
    let mut command = inside(&root);
    command.args(["serve", "--config", "/etc/weir/weir.toml"]);
    let server = Server::launch(command, &["--access-log", "stdout"]);
    let page = server.get("/");
    assert!(page.status == 200 && page.text().contains("weir works"), "{}", page.text());
    assert!(server.log().join("\n").contains("serving /srv on"), "{:#?}", server.log());
    assert_eq!(server.stop().code(), Some(0));
    assert!(!root.join("bin/sh").exists() && !root.join("usr/bin/sh").exists());
}

/// The same as engines have it: a root that cannot be written to but for /var/tmp, and a namespace of
/// processes of which the program is the first.
fn as_first_process(root: &Path) -> Command {
    let start = format!(
        "mount --bind \"$0\" \"$0\" && mount -o remount,bind,ro \"$0\" && \
         mount -t proc proc \"$0/proc\" && mount -t tmpfs -o mode=1777 tmpfs \"$0/var/tmp\" && \
         exec chroot --userspec={USER}:{USER} \"$0\" /usr/bin/weir \"$@\""
    );
    let mut command = tool("unshare", "util-linux");
    command.args(["--mount", "--pid", "--fork", "--kill-child", "sh", "-c", &start]).arg(root);
    command
}

/// The program that a server of [`as_first_process`] has started. Signals are for it: unshare, which waits
/// for it, passes none on. It is killed when this is dropped.
struct First {
    process: Pid,
    handle: OwnedFd,
}

impl First {
    fn of(server: &Server) -> First {
        let unshare = server.process().as_raw_pid();
        let children = fs::read_to_string(format!("/proc/{unshare}/task/{unshare}/children"));
        let process = Pid::from_raw(children.unwrap().trim().parse().unwrap()).unwrap();
        First { process, handle: pidfd_open(process, PidfdFlags::empty()).unwrap() }
    }

    /// What the kernel tells of it in this file.
    fn told(&self, file: &str) -> String {
        fs::read_to_string(format!("/proc/{}/{file}", self.process.as_raw_pid())).unwrap()
    }

    fn signal(&self, signal: Signal) {
        pidfd_send_signal(&self.handle, signal).unwrap();
    }
}

impl Drop for First {
    fn drop(&mut self) {
        // It may have ended.
        let _ = pidfd_send_signal(&self.handle, Signal::KILL);
    }
}

#[test]
fn as_the_first_process_in_a_read_only_root_it_reloads_and_stops_in_time() {
    // So long docker and podman wait after SIGTERM.
    const PATIENCE: Duration = Duration::from_secs(10);
    let directory = tempfile::tempdir().unwrap();
    let root = image(directory.path());
    let large = noise(1, 2_000_000);
    fs::write(root.join("srv/large"), &large).unwrap();
    let mut command = as_first_process(&root);
    command.args(["serve", "--config", "/etc/weir/weir.toml"]);
    let mut server = Server::launch(command, &["--access-log", "stdout"]);
    let weir = First::of(&server);
    let status = weir.told("status");
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    let own = numbers.and_then(|numbers| numbers.split_whitespace().last());
    assert_eq!(own, Some("1"), "{status}");
    let mounts = weir.told("mountinfo");
    let of_root = mounts.lines().find(|line| line.split(' ').nth(4) == Some("/"));
    let options = of_root.and_then(|line| line.split(' ').nth(5));
    assert!(options.is_some_and(|options| options.starts_with("ro")), "{mounts}");

    // What is mounted changes outside.
    let mut kept = server.connect();
    assert_eq!(kept.get("/").status, 200);
    let file = root.join("etc/weir/weir.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{text}idle_timeout = 70\n")).unwrap();
    weir.signal(Signal::HUP);
    eventually("it has taken the new configuration", || {
        server.log().iter().any(|line| line.contains("read anew; changed: `idle_timeout`"))
    });
    assert_eq!(kept.get("/").status, 200);

    let mut reading = Client::with_small_buffer(server.address());
    let mut stuck = Client::with_small_buffer(server.address());
    for client in [&mut reading, &mut stuck] {
        client.ask("/large");
        assert_eq!(client.head().status, 200);
    }
    let told = Instant::now();
    weir.signal(Signal::TERM);
    kept.assert_closed();
    assert!(reading.read(large.len()) == large);
    // The other one reads nothing.
    assert_eq!(server.wait().code(), Some(0));
    let took = told.elapsed();
    assert!(took < PATIENCE, "{took:?}");
    let log = server.log().join("\n");
    assert!(log.contains("1 connection was cut"), "{log}");
}

/// Names are looked up, authorities are known, and there is room for accounts and bodies.
#[test]
fn everything_that_certificates_and_backends_need_is_there() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = inside(&image(directory.path()));
    command.args(["serve", "--check", "--config", "/etc/weir/weir.toml"]);
    command.args(["--listen", "127.0.0.1:0", "--listen-clear", "127.0.0.1:0"]);
    command.args(["--admin", "127.0.0.1:0", "--tls", "auto", "--tls-names", "www.example.org"]);
    command.args(["--proxy", "/app=https://localhost:9"]);
    let said = output_of(command);
    assert!(said.ends_with("weir: the configuration is valid\n"), "{said}");
    assert!(!said.contains("cannot"), "{said}");
}

#[test]
fn for_https_the_configuration_has_lines_that_need_only_be_switched_on() {
    let directory = tempfile::tempdir().unwrap();
    let root = image(directory.path());
    let file = root.join("etc/weir/weir.toml");
    let text = fs::read_to_string(&file).unwrap();
    let others = text.lines().filter(|line| *line != "listen = [\"0.0.0.0:8080\"]");
    let switched_on = others.map(|line| match line.strip_prefix("# ") {
        Some(key) if key.contains(" = ") => key,
        _ => line,
    });
    let lines: Vec<&str> = switched_on.collect();
    assert!(lines.contains(&"public_tls_port = 443"), "{lines:#?}");
    fs::write(&file, lines.join("\n")).unwrap();
    let mut command = inside(&root);
    command.args(["serve", "--check", "--config", "/etc/weir/weir.toml"]);
    command.args(["--admin", "127.0.0.1:0"]);
    let said = output_of(command);
    assert!(said.ends_with("weir: the configuration is valid\n"), "{said}");
    assert!(!said.contains("has no effect"), "{said}");
}

#[test]
fn the_recipe_starts_what_the_root_has() {
    let recipe = fs::read_to_string(dist().join("Containerfile")).unwrap();
    for line in [
        format!("USER {USER}:{USER}"),
        format!("COPY --from=build --chown={USER}:{USER} /image/var/lib/weir /var/lib/weir"),
        "ENTRYPOINT [\"/usr/bin/weir\"]".to_owned(),
        "CMD [\"serve\", \"--config\", \"/etc/weir/weir.toml\"]".to_owned(),
    ] {
        assert!(recipe.lines().any(|found| found == line), "{line} is not in dist/Containerfile");
    }
}
