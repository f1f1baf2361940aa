//! The unit of systemd: as systemd itself reads it, and the commands that it names.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::dist;
use crate::support::{Server, end_of, output_of, tool, weir};

/// Ten times the most exposure that systemd may find: 0 is none, 10 is all (systemd-analyze(1)).
const MOST_EXPOSURE: u32 = 20;

/// The unit as it is installed.
fn text() -> String {
    let file = dist().join("debian/weir/files/usr/lib/systemd/system/weir.service");
    fs::read_to_string(file).unwrap()
}

/// The unit in `directory`, with the program under test in place of the one that is installed.
fn unit(directory: &Path) -> PathBuf {
    let text = text();
    let program = weir().get_program().to_str().unwrap().to_owned();
    let unit = directory.join("weir.service");
    fs::write(&unit, text.replace("/usr/bin/weir ", &format!("{program} "))).unwrap();
    unit
}

fn systemd_analyze() -> Command {
    let mut command = tool("systemd-analyze", "systemd");
    command.env("SYSTEMD_PAGER", "").env("SYSTEMD_COLORS", "0");
    command
}

#[test]
fn systemd_finds_nothing_wrong() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = systemd_analyze();
    command.args(["verify", "--man=no"]).arg(unit(directory.path()));
    let said = output_of(command);
    // It may have something to say of other units of this machine.
    let of_weir: Vec<&str> = said.lines().filter(|line| line.contains("weir.service")).collect();
    assert!(of_weir.is_empty(), "{of_weir:#?}");
}

/// The socket unit that the guide has for the package: systemd takes it, and it has the sockets of the keys in
/// the package's configuration. One that no key names would keep weir from starting.
#[test]
fn the_socket_unit_of_the_guide_is_that_of_the_packages_addresses() {
    let guide = fs::read_to_string(dist().join("../docs/guide/reload.md")).unwrap();
    let (_, from) = guide.split_once("# /etc/systemd/system/weir.socket\n").expect("the unit");
    let (text, _) = from.split_once("```").expect("its end");
    let mut listens: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("ListenStream=")).collect();
    listens.sort_unstable();
    let keys = fs::read_to_string(dist().join("debian/weir/files/etc/weir/weir.toml")).unwrap();
    let is_address = |line: &&str| line.starts_with("listen = ") || line.starts_with("admin = ");
    let mut named: Vec<&str> = keys
        .lines()
        .filter(is_address)
        .flat_map(|line| line.split('"').skip(1).step_by(2))
        .collect();
    named.sort_unstable();
    assert_eq!(listens, named);
    // Otherwise the socket of IPv6 would be one of IPv4, too, and there are two.
    assert!(text.lines().any(|line| line == "BindIPv6Only=ipv6-only"), "{text}");

    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("weir.socket");
    fs::write(&socket, text).unwrap();
    let mut command = systemd_analyze();
    command.args(["verify", "--man=no"]).arg(unit(directory.path())).arg(&socket);
    let said = output_of(command);
    let of_weir: Vec<&str> = said.lines().filter(|line| line.contains("weir.s")).collect();
    assert!(of_weir.is_empty(), "{of_weir:#?}");
}

#[test]
fn the_service_is_confined() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = systemd_analyze();
    command.args(["security", "--offline=yes", &format!("--threshold={MOST_EXPOSURE}")]);
    command.arg(unit(directory.path()));
    // With more exposure it fails.
    let said = output_of(command);
    assert!(said.contains("Overall exposure level for weir.service"), "{said}");
}

#[test]
fn the_service_has_one_capability() {
    let text = text();
    for key in ["CapabilityBoundingSet", "AmbientCapabilities"] {
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with(key)).collect();
        assert_eq!(lines, [format!("{key}=CAP_NET_BIND_SERVICE")]);
    }
}

/// The command that the unit names by `key`, with `directory` in place of /etc/weir and of /run/weir.
fn command(key: &str, directory: &Path) -> Command {
    let text = text();
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    let line = line.expect("the key is there").replace("/etc/weir", directory.to_str().unwrap());
    let arguments = line.strip_prefix("/usr/bin/weir ").expect("the program");
    let mut command = weir();
    command.args(arguments.split(' ')).env("RUNTIME_DIRECTORY", directory);
    command
}

#[test]
fn its_commands_start_the_server_and_have_it_take_a_new_configuration() {
    let directory = tempfile::tempdir().unwrap();
    let write = |more: &str| {
        let text = "listen = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\naccess_log = \"off\"\n";
        fs::write(directory.path().join("weir.toml"), format!("{text}{more}")).unwrap();
    };
    write("");
    let server = Server::run(command("ExecStart", directory.path()), 1, true);
    write("idle_timeout = 7\n");
    let said = output_of(command("ExecReload", directory.path()));
    assert!(said.contains("changed: `idle_timeout`"), "{said}");
    for wrong in ["idle_timeout = \"soon\"\n", "root = \"nowhere\"\n"] {
        write(wrong);
        let refused = end_of(command("ExecReload", directory.path()));
        assert_eq!(refused.status.code(), Some(1), "{wrong}");
    }
    assert_eq!(server.get("/").status, 200);
    assert_eq!(server.stop().code(), Some(0));
}

#[test]
fn it_is_started_anew_for_minutes_and_waits_for_no_clock() {
    let text = text();
    let (unit, service) = text.split_once("[Service]").expect("two sections");
    let value = |section: &str, key: &str| {
        let line = section.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        line.unwrap_or_else(|| panic!("{key} is not there")).to_owned()
    };
    // With the pause between them, so many starts take at least five minutes.
    let burst: u32 = value(unit, "StartLimitBurst").parse().expect("a number");
    assert_eq!(value(unit, "StartLimitIntervalSec"), "10min");
    assert_eq!(value(service, "RestartPreventExitStatus"), "2");
    assert_eq!(value(service, "Restart"), "on-failure");
    let pause = value(service, "RestartSec");
    let pause: u32 = pause.strip_suffix('s').expect("seconds").parse().expect("a number");
    assert!((1..=10).contains(&pause) && (300..600).contains(&(burst * pause)), "{burst} {pause}");
    assert!(value(unit, "After").contains(" time-set.target"));
    assert!(!value(unit, "Wants").contains("time-"));
}

/// What `RuntimeDirectory=` makes is where `weir reload` looks by itself.
#[test]
fn systemd_is_told_how_the_service_is() {
    let text = text();
    for line in ["Type=notify", "WatchdogSec=30s", "RuntimeDirectory=weir"] {
        assert!(text.lines().any(|found| found == line), "{line} is not in the unit");
    }
}
