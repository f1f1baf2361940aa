//! Shows what a service manager and a server say to each other: sockets that were opened for it, signs of life,
//! and variables of the environment in the file.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;

use crate::support::{Configuration, Server, as_nobody, end_of, eventually, tool, weir};

/// Opens sockets as a service manager does and becomes the server, whose flags can name their addresses.
const ACTIVATE: &str = r#"
import os, socket, sys
control, program, *flags = sys.argv[1:]
web, admin = (socket.create_server(("127.0.0.1", 0)) for _ in range(2))
listening = socket.socket(socket.AF_UNIX)
listening.bind(control)
listening.listen()
names = {"control": control}
names.update({name: "%s:%d" % one.getsockname() for name, one in (("web", web), ("admin", admin))})
for place, one in enumerate((web, admin, listening)):
    os.dup2(one.fileno(), 20 + place, inheritable=False)
for place in range(3):
    os.dup2(20 + place, 3 + place)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="3", LISTEN_FDNAMES="web:admin:control")
os.execv(program, [program, "serve"] + [flag.format(**names) for flag in flags])
"#;

fn activated(control: &Path, flags: &[&str]) -> Command {
    let mut command = tool("python3", "python3");
    command.args(["-c", ACTIVATE]).arg(control).arg(weir().get_program());
    command.args(["--access-log", "off"]).args(flags);
    command
}

#[test]
fn sockets_that_were_opened_for_it_are_served() {
    let directory = tempfile::tempdir().unwrap();
    let control = directory.path().join("control");
    let all = ["--listen", "{web}", "--admin", "{admin}", "--control", "{control}"];
    let mut server = Server::run(activated(&control, &all), 1, true);
    for _ in 0..20 {
        assert_eq!(server.get("/").status, 200);
    }
    assert!(server.metrics().sum("weir_responses_total") >= 20.0);
    let mut command = weir();
    command.arg("reload").arg("--control").arg(&control);
    assert_eq!(end_of(command).status.code(), Some(0));
    let (listen, admin) = (server.address().to_string(), server.admin().to_string());
    let mut command = weir();
    command.args(["serve", "--take-over", "--access-log", "off", "--listen", &listen]);
    command.args(["--admin", &admin, "--control"]).arg(&control);
    let successor = Server::run(command, 1, true);
    assert_eq!(server.wait().code(), Some(0));
    assert!(control.exists());
    assert_eq!(successor.stop().code(), Some(0));
    assert!(control.exists(), "it is the service manager's");
}

/// A socket unit makes a file that everybody may connect to, unless it says otherwise.
#[test]
fn another_user_is_refused_at_the_control_socket_whatever_its_mode() {
    let configuration = Configuration::new("access_log = \"off\"\nlisten = \"127.0.0.1:0\"\n");
    let server = configuration.start(1);
    let control = configuration.control();
    let open = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    open(control.parent().unwrap(), 0o755);
    open(&control, 0o666);
    let mut command = as_nobody();
    command.arg("reload").arg("--control").arg(&control);
    let output = end_of(command);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("only root and the user of the server"), "{said}");
    assert!(server.log().iter().any(|line| line.contains("of another user is refused")));
    assert_eq!(configuration.reload().0, Some(0));
}

/// Whoever connects to it would wait for ever.
#[test]
fn a_socket_that_no_key_names_is_an_error() {
    for (flags, wrong) in [
        (&["--control", "{control}"][..], "the service manager listens on 127.0.0.1:"),
        (&["--admin", "{admin}"], "the service manager has a control socket at"),
        (&["--admin", "{admin}", "--control", "{control}.2"], "write `control = "),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let control = directory.path().join("control");
        let mut command = activated(&control, &["--listen", "{web}"]);
        command.args(flags).env_remove("RUNTIME_DIRECTORY");
        let output = end_of(command);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(wrong), "{said}");
    }
}

/// What a service manager hears.
struct Heard(Arc<Mutex<Vec<String>>>);

impl Heard {
    fn at(path: &Path) -> Heard {
        let socket = UnixDatagram::bind(path).expect("a socket");
        let heard = Arc::<Mutex<Vec<String>>>::default();
        let said = heard.clone();
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count) = socket.recv(&mut bytes) {
                said.lock()
                    .expect("no panic")
                    .push(String::from_utf8_lossy(&bytes[..count]).into_owned());
            }
        });
        Heard(heard)
    }

    /// Waits for a message that begins so, and forgets it and what came before it.
    fn next(&self, start: &str) -> String {
        let mut found = None;
        eventually(start, || {
            let mut heard = self.0.lock().expect("no panic");
            if let Some(place) = heard.iter().position(|message| message.starts_with(start)) {
                found = heard.drain(..=place).next_back();
            }
            found.is_some()
        });
        found.expect("it was said")
    }
}

#[test]
fn it_says_what_it_does_and_that_it_is_alive() {
    let text = "workers = 2\naccess_log = \"off\"\nroot = \"public\"\nlisten = \"127.0.0.1:0\"\n";
    let configuration = Configuration::new(text);
    let path = configuration.path("notify");
    let heard = Heard::at(&path);
    let mut command = configuration.command();
    command.env("NOTIFY_SOCKET", &path).env("WATCHDOG_USEC", "200000");
    let mut server = Server::run(command, 1, true);
    let ready = heard.next("READY=1\n");
    assert!(ready.contains(&format!("STATUS=serving on {}", server.address())), "{ready}");
    for _ in 0..3 {
        heard.next("WATCHDOG=1");
    }
    let cases = [("idle_timeout = 7\n", 0), ("nonsense = 1\n", 1), ("cache = \"1MB\"\n", 1)];
    for (more, code) in cases {
        configuration.write(&format!("{text}{more}"));
        let (ended, said) = configuration.reload();
        assert_eq!(ended, Some(code), "{said}");
        // A successor that somebody starts by hand would not run in the unit.
        assert_eq!(said.contains("`systemctl restart`"), more.starts_with("cache"), "{said}");
        assert!(!said.contains("--take-over"), "{said}");
        let reloading = heard.next("RELOADING=1\n");
        let micros = reloading.lines().find_map(|line| line.strip_prefix("MONOTONIC_USEC="));
        assert!(micros.is_some_and(|micros| micros.parse::<u64>().is_ok()), "{reloading}");
        heard.next("READY=1\n");
    }
    // Its successor was not started by the manager, and speaks to it all the same.
    configuration.write(text);
    let successor = configuration.take_over(1);
    let main = heard.next("MAINPID=");
    assert_eq!(server.wait().code(), Some(0));
    let pid = main.lines().next().and_then(|line| line.strip_prefix("MAINPID=")).unwrap();
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap();
    assert_eq!(name.trim(), "weir");
    heard.next("READY=1\n");
    heard.next("WATCHDOG=1");
    heard.next("WATCHDOG=1");
    assert_eq!(successor.stop().code(), Some(0));
    heard.next("STOPPING=1\n");
}

#[test]
fn the_file_can_name_variables_of_the_environment() {
    let text = "access_log = \"off\"\nroot = \"${WEIR_TEST_ROOT}\"\n\
                listen = \"${WEIR_TEST_HOST:-127.0.0.1}:0\"\n";
    let configuration = Configuration::new(text);
    let mut command = configuration.command();
    command.env("WEIR_TEST_ROOT", "public");
    let server = Server::run(command, 1, true);
    assert_eq!(server.get("/small").status, 200);
    assert!(configuration.change(text).contains("nothing has changed"));
    let mut command = configuration.command();
    command.arg("--check");
    let output = end_of(command);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    // Two lines stand above those of the text.
    assert!(said.contains("4: the environment variable WEIR_TEST_ROOT is not set"), "{said}");
}
