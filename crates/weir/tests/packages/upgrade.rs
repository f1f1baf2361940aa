//! The script that dpkg runs after the files of a new version are there, with programs of systemd that write down
//! what they are asked to do, while a server runs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Output;

use crate::dist;
use crate::support::{Server, end_of, tool, weir};

/// A machine with systemd, where `weir.toml` is the configuration.
struct Machine(tempfile::TempDir);

impl Machine {
    fn new() -> Machine {
        let machine = Machine(tempfile::tempdir().unwrap());
        for directory in ["bin", "run", "etc", "site"] {
            fs::create_dir(machine.path(directory)).unwrap();
        }
        let asked = machine.path("asked").display().to_string();
        machine.program("systemd-sysusers", "");
        machine.program("deb-systemd-helper", "");
        machine.program("deb-systemd-invoke", &format!("echo \"$@\" >>'{asked}'\n"));
        // While there is a file with the number of its process, the service is active.
        let process = machine.path("process").display().to_string();
        let (active, number) = (format!("[ -f '{process}' ]"), format!("cat '{process}'"));
        machine.program(
            "systemctl",
            &format!("case \"$*\" in\n*is-active*) {active} ;;\n*MainPID*) {number} ;;\nesac\n"),
        );
        machine
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn program(&self, name: &str, text: &str) {
        let file = self.path("bin").join(name);
        fs::write(&file, format!("#!/bin/sh\n{text}")).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// The site is where a variable of the server's environment says; other keys follow.
    fn configure(&self, keys: &str) {
        let text = format!(
            "root = \"${{WEIR_TEST_ROOT}}\"\nlisten = \"127.0.0.1:0\"\naccess_log = \"off\"\n\
             admin = \"127.0.0.1:0\"\n{keys}"
        );
        fs::write(self.path("etc/weir.toml"), text).unwrap();
    }

    /// Starts the service.
    fn serve(&self) -> Server {
        let mut command = weir();
        command.env("WEIR_TEST_ROOT", self.path("site"));
        command.args(["serve", "--config"]).arg(self.path("etc/weir.toml"));
        let server = Server::run(command, 1, true);
        let number = server.process().as_raw_nonzero().to_string();
        fs::write(self.path("process"), number).unwrap();
        server
    }

    /// Runs the script, as after an upgrade from `old` or, without, after the first installation. What it
    /// said, and what systemd was asked for.
    fn configured(&self, old: Option<&str>) -> (Output, String) {
        let text = fs::read_to_string(dist().join("debian/weir/postinst")).unwrap();
        let program = weir().get_program().to_str().unwrap().to_owned();
        let text = [
            ("/run/systemd/system", self.path("run").to_str().unwrap()),
            ("/usr/bin/weir", program.as_str()),
            ("/etc/weir", self.path("etc").to_str().unwrap()),
            // There is no such user here.
            ("--reuid=weir --regid=weir --init-groups", "--reuid=0"),
        ]
        .into_iter()
        .fold(text, |text, (theirs, ours)| {
            assert!(text.contains(theirs), "{theirs} is not in the script");
            text.replace(theirs, ours)
        });
        let script = self.path("postinst");
        fs::write(&script, text).unwrap();
        let mut command = tool("sh", "dash");
        let path = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{path}", self.path("bin").display()));
        command.env_remove("DPKG_ROOT").env_remove("WEIR_TEST_ROOT");
        command.arg(script).arg("configure").args(old);
        let output = end_of(command);
        let asked = fs::read_to_string(self.path("asked")).unwrap_or_default();
        (output, asked)
    }
}

#[track_caller]
fn assert_asked(machine: &Machine, old: Option<&str>, asked: &str) {
    let (output, found) = machine.configured(old);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(found, asked, "{output:?}");
    assert!(output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn an_upgrade_restarts_a_server_whose_configuration_the_new_version_takes() {
    let machine = Machine::new();
    machine.configure("");
    let _server = machine.serve();
    assert_asked(&machine, Some("0.1.0"), "restart weir.service\n");
}

#[test]
fn an_upgrade_leaves_a_server_alone_whose_configuration_the_new_version_refuses() {
    let machine = Machine::new();
    machine.configure("");
    fs::write(machine.path("site/index.html"), "still here").unwrap();
    let server = machine.serve();
    // For the new version the key has another name.
    machine.configure("idle_time = 7\n");
    let (output, asked) = machine.configured(Some("0.1.0"));
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(asked, "");
    let said = String::from_utf8_lossy(&output.stderr);
    for part in ["NOT restarted", "idle_time", "weir serve --check", "systemctl restart weir"] {
        assert!(said.contains(part), "{part:?} is not in {said}");
    }
    assert_eq!(server.get("/").text(), "still here");
}

#[test]
fn what_does_not_run_is_started_whatever_its_configuration() {
    let machine = Machine::new();
    machine.configure("idle_time = 7\n");
    assert_asked(&machine, Some("0.1.0"), "restart weir.service\n");
    fs::remove_file(machine.path("asked")).unwrap();
    assert_asked(&machine, None, "start weir.service\n");
}
