//! The systems under test by name: how each is configured and started. It does not know what is
//! asked of them.

mod configured;
mod probe;
mod server;
pub(crate) mod weir;

use std::net::SocketAddrV4;
use std::path::Path;
use std::process::Command;

use crate::error::{Error, Result};
use crate::settings::Settings;

pub(crate) use probe::{accepts, answers, get, probe_head};
pub(crate) use server::{Server, metrics};

/// Seconds after which idle connections are closed: Apache's old default, the same for all.
pub(crate) const KEEP_ALIVE: u32 = 15;

/// What a system is told.
pub(crate) struct Place<'a> {
    /// Where it listens.
    pub(crate) address: SocketAddrV4,
    /// What it serves.
    pub(crate) root: &'a Path,
    /// Where its configuration, its log and its temporary files go.
    pub(crate) directory: &'a Path,
    /// Connections that wait to be accepted.
    pub(crate) backlog: u32,
    /// Bits per second of the bottleneck.
    pub(crate) rate: u64,
}

/// A command that starts a system in the foreground.
pub(crate) struct Start {
    pub(crate) command: Command,
    /// It has an admin port with figures of its own.
    pub(crate) metrics: bool,
}

/// How the system of a cell is started.
///
/// # Errors
///
/// A system that nobody knows, or whose program is not installed (with the Debian package).
pub(crate) fn start(system: &str, place: &Place<'_>, settings: &Settings) -> Result<Start> {
    let of = |command| Ok(Start { command, metrics: false });
    match system.split_once(':') {
        Some(("weir", options)) => {
            Ok(Start { command: weir::command(options, place, settings)?, metrics: true })
        }
        Some(("command", line)) => of(given(line, place)?),
        _ => of(configured::command(system, place)?),
    }
}

/// A command of the user's own; its words are separated by blanks.
fn given(line: &str, place: &Place<'_>) -> Result<Command> {
    let filled = |word: &str| {
        word.replace("{address}", &place.address.ip().to_string())
            .replace("{port}", &place.address.port().to_string())
            .replace("{root}", &place.root.display().to_string())
    };
    let mut words = line.split_whitespace().map(filled);
    let program = words.next().ok_or_else(|| {
        Error("the system `command:` has no command: write command:PROGRAM {address} …".into())
    })?;
    let mut command = first(Path::new(&program));
    command.args(words);
    Ok(command)
}

/// A command that runs before all ordinary work on the machine, as the load generator does.
pub(crate) fn first(program: &Path) -> Command {
    let mut command = Command::new("chrt");
    command.args(["--rr", "1"]).arg(program);
    command
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn place(root: &Path) -> Place<'_> {
        let address = SocketAddrV4::new(Ipv4Addr::new(10, 77, 0, 1), 8080);
        Place { address, root, directory: root, backlog: 512, rate: 10_000_000 }
    }

    fn settings(weir: &str) -> Settings {
        Settings {
            out: "/tmp".into(),
            data: None,
            weir: weir.into(),
            weir_lab: "/nowhere/weir-lab".into(),
            side_by_side: 1,
            keep_records: false,
        }
    }

    fn words(start: &Start) -> Vec<String> {
        start.command.get_args().map(|word| word.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn a_command_is_told_where_to_listen_and_what_to_serve() {
        let root = Path::new("/srv/x");
        let start = start(
            "command:python3 -m http.server --bind {address} -d {root} {port}",
            &place(root),
            &settings("/nowhere"),
        );
        let words = words(&start.expect("a command"));
        assert_eq!(
            words[2..],
            ["python3", "-m", "http.server", "--bind", "10.77.0.1", "-d", "/srv/x", "8080"]
        );
    }

    #[test]
    fn weirs_own_flags_stand_in_place_of_the_defaults() {
        let (root, settings) = (Path::new("/srv/x"), settings("/bin/sh"));
        let start = |system: &str| start(system, &place(root), &settings);
        let plain = words(&start("weir:srpt").expect("weir"));
        let after = |words: &[String], flag: &str| {
            let at = words.iter().position(|word| word == flag).expect("the flag");
            assert_eq!(words.iter().filter(|word| *word == flag).count(), 1);
            words[at + 1].clone()
        };
        assert_eq!(after(&plain, "--policy"), "srpt");
        assert_eq!(after(&plain, "--uplink"), "10mbit");
        assert_eq!(after(&plain, "--workers"), "1");
        let own = words(&start("weir:fair --workers 4 --uplink 5mbit").expect("weir"));
        assert_eq!(
            (after(&own, "--workers"), after(&own, "--uplink")),
            ("4".into(), "5mbit".into())
        );
    }

    #[test]
    fn what_nobody_knows_is_refused_with_the_names_that_are_known() {
        let place = place(Path::new("/srv/x"));
        for system in ["iis", "command:", "weir", "weir:srpt"] {
            assert!(start(system, &place, &settings("/nowhere/weir")).is_err(), "{system}");
        }
        let error = start("iis", &place, &settings("/nowhere/weir")).err().expect("unknown");
        assert!(error.to_string().contains("apache-prefork"), "{error}");
    }
}
