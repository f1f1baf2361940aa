//! The program under test, the `weir` beside it and servers of others, and `weir-lab sim` as scripts
//! call it. All tests of commands use it.

use std::net::SocketAddrV4;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use weir_peers::probe::accepts;
use weir_peers::{Program, Server};

/// The program under test.
pub(crate) fn weir_lab() -> Command {
    Command::new(env!("CARGO_BIN_EXE_weir-lab"))
}

/// The server that the lab tests.
pub(crate) fn weir_beside() -> PathBuf {
    let weir = PathBuf::from(env!("CARGO_BIN_EXE_weir-lab")).with_file_name("weir");
    assert!(weir.is_file(), "{} is missing: cargo build -p weir", weir.display());
    weir
}

/// A server, once it accepts connections.
pub(crate) fn start(program: Program, address: SocketAddrV4, directory: &Path) -> Server {
    let command = program.command([] as [&str; 0]);
    let mut server = Server::spawn(command, directory.join("log"), None).expect("it starts");
    server.wait_until_ready(&|| Ok(accepts(address.into()))).expect("it accepts");
    server
}

/// A simulation, by the name of its command.
pub(crate) struct Sim(pub(crate) &'static str);

impl Sim {
    /// What a command line comes to.
    pub(crate) fn run(&self, arguments: &str) -> Output {
        let mut command = weir_lab();
        command.args(["sim", self.0]).args(arguments.split_whitespace());
        command.output().expect("the binary runs")
    }

    /// What a command line that works says.
    pub(crate) fn works(&self, arguments: &str) -> String {
        let output = self.run(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments}: {said}");
        String::from_utf8(output.stdout).expect("text")
    }

    /// The same as JSON, which is one line.
    pub(crate) fn json(&self, arguments: &str) -> Value {
        let text = self.works(&format!("{arguments} --json"));
        assert_eq!(text.lines().count(), 1, "{text}");
        serde_json::from_str(&text).expect("JSON")
    }
}

/// A field that must be a number.
pub(crate) fn number(value: &Value, name: &str) -> f64 {
    assert!(value[name].is_number(), "no number `{name}` in {value}");
    value[name].as_f64().unwrap_or_default()
}
