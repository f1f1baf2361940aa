//! The root of the container image: the server runs in it alone, as an engine would start it.

use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{Server, output_of, tool, weir};
use crate::{dist, script};

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
