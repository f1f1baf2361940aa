//! What is said over the control socket, as text: commands and answers, and what a server tells the one that
//! takes over from it. Used by both ends: the server that runs, its successor, and `weir reload`.
//!
//! A command is a line: `reload`, or `take-over`. The answer to the first is a line, `done`, or
//! `refused` if not all was taken, and text behind it. The answer to the second is `refused` with text, or [`Handed`] lines up to `end`; each
//! socket comes with its line, as a descriptor. When the successor serves, it says `ready`, its process and
//! the numbers of the addresses that it has no use for, and hears `yours`.

use std::fmt;
use std::os::fd::OwnedFd;
use std::str::FromStr;

use crate::config::ListenAddress;
use crate::listen::Role;

/// Commands.
pub(super) const RELOAD: &str = "reload";
pub(super) const TAKE_OVER: &str = "take-over";

/// Answers.
pub(super) const DONE: &str = "done";
pub(super) const REFUSED: &str = "refused";
pub(super) const YOURS: &str = "yours";

/// A line of what a predecessor hands over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Handed {
    /// A listening socket: the number of its address, what it is for, whether it is a Unix socket whose file
    /// the server removes at its end, and the address.
    Socket { group: u64, role: Role, has_own_file: bool, address: ListenAddress },
    /// Where the service manager listens, and in what time it wants a sign of life, in microseconds; 0: in
    /// none.
    ServiceManager { watchdog: u64, socket: String },
    /// There is no more.
    End,
}

/// A copy of a listening socket, to be handed over.
#[derive(Debug)]
pub(super) struct SocketCopy {
    /// As the configuration has it.
    pub(super) address: ListenAddress,
    /// It is a Unix socket whose file this server removes at its end.
    pub(super) has_own_file: bool,
    pub(super) socket: OwnedFd,
}

/// The successor serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ready {
    pub(super) pid: u32,
    /// The numbers of addresses whose sockets it does not use.
    pub(super) left: Vec<u64>,
}

const ROLES: [(Role, &str); 3] =
    [(Role::Workers, "workers"), (Role::Admin, "admin"), (Role::Control, "control")];

/// Whose the file of a socket is; the second also stands where there is none.
const FILES: [(bool, &str); 2] = [(true, "own-file"), (false, "-")];

impl fmt::Display for Handed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Handed::Socket { group, role, has_own_file, address } => {
                let (role, file) = (word(&ROLES, role), word(&FILES, has_own_file));
                write!(f, "socket {group} {role} {file} {address}")
            }
            Handed::ServiceManager { watchdog, socket } => {
                write!(f, "service-manager {watchdog} {socket}")
            }
            Handed::End => f.write_str("end"),
        }
    }
}

impl FromStr for Handed {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let unknown = || format!("\"{}\" is not what a server hands over", line.escape_debug());
        match line.split_once(' ') {
            None if line == "end" => Ok(Handed::End),
            Some(("service-manager", rest)) => {
                let (watchdog, socket) = rest.split_once(' ').ok_or_else(unknown)?;
                let watchdog = watchdog.parse().map_err(|_| unknown())?;
                Ok(Handed::ServiceManager { watchdog, socket: socket.to_owned() })
            }
            Some(("socket", rest)) => {
                let mut words = rest.splitn(4, ' ');
                let mut next = || words.next().ok_or_else(unknown);
                let (group, role, file, address) = (next()?, next()?, next()?, next()?);
                let role = known(&ROLES, role).ok_or_else(unknown)?;
                let has_own_file = known(&FILES, file).ok_or_else(unknown)?;
                let group = group.parse().map_err(|_| unknown())?;
                Ok(Handed::Socket { group, role, has_own_file, address: address.parse()? })
            }
            _ => Err(unknown()),
        }
    }
}

fn word<T: PartialEq>(words: &[(T, &'static str)], value: &T) -> &'static str {
    words.iter().find(|(known, _)| known == value).map_or("", |(_, word)| word)
}

fn known<T: Copy>(words: &[(T, &str)], word: &str) -> Option<T> {
    words.iter().find(|(_, known)| *known == word).map(|(value, _)| *value)
}

impl fmt::Display for Ready {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ready {}", self.pid)?;
        self.left.iter().try_for_each(|group| write!(f, " {group}"))
    }
}

impl FromStr for Ready {
    type Err = String;

    fn from_str(line: &str) -> Result<Self, String> {
        let unknown = || format!("\"{}\" does not say that it is ready", line.escape_debug());
        let rest = line.trim_end().strip_prefix("ready ").ok_or_else(unknown)?;
        let mut numbers = rest.split(' ');
        let pid = numbers.next().and_then(|pid| pid.parse().ok()).ok_or_else(unknown)?;
        let left: Result<Vec<u64>, _> = numbers.map(str::parse).collect();
        Ok(Ready { pid, left: left.map_err(|_| unknown())? })
    }
}

/// What an answer says; an error is a refusal.
///
/// # Errors
///
/// Why it was refused, or that the answer broke off.
pub(super) fn outcome(answer: &str) -> Result<String, String> {
    let (word, text) = answer.split_once('\n').unwrap_or((answer, ""));
    match word {
        DONE => Ok(text.trim_end().to_owned()),
        REFUSED => Err(text.trim_end().to_owned()),
        _ => Err("the server ended before it answered".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_said_is_understood() {
        for (text, said) in [
            ("socket 7 workers - 127.0.0.1:80", Some((7, Role::Workers, false))),
            ("socket 0 admin - unix:/run/a b.sock", Some((0, Role::Admin, false))),
            (
                "socket 18446744073709551615 control own-file unix:/c",
                Some((u64::MAX, Role::Control, true)),
            ),
            ("service-manager 0 @a/b", None),
            ("end", None),
        ] {
            let handed: Handed = text.parse().unwrap();
            assert_eq!(handed.to_string(), text);
            let socket = match handed {
                Handed::Socket { group, role, has_own_file, .. } => {
                    Some((group, role, has_own_file))
                }
                Handed::ServiceManager { .. } | Handed::End => None,
            };
            assert_eq!(socket, said);
        }
        for text in [
            "",
            "end ",
            "socket",
            "socket 1 x - 127.0.0.1:1",
            "socket a admin - unix:/a",
            "socket 1 admin unix:/a",
            "socket 1 admin file unix:/a",
            "socket 1 admin - b",
            "service-manager @a",
        ] {
            assert!(text.parse::<Handed>().is_err(), "{text}");
        }
        for left in [vec![], vec![3, 4]] {
            let ready = Ready { pid: 7, left };
            assert_eq!(ready.to_string().parse(), Ok(ready));
        }
        for text in ["", "ready", "ready x", "ready 1 x", "yours"] {
            assert!(text.parse::<Ready>().is_err(), "{text}");
        }
        assert_eq!(outcome("done\nfine\n"), Ok("fine".to_owned()));
        assert_eq!(outcome("refused\none\ntwo\n"), Err("one\ntwo".to_owned()));
        assert!(outcome("").is_err() && outcome("don").is_err());
    }

    proptest! {
        #[test]
        fn nothing_that_is_said_panics(text in "(socket|ready|end)?[ 0-9a-z:/]{0,20}|.{0,9}") {
            let _ = (text.parse::<Handed>(), text.parse::<Ready>(), outcome(&text));
        }
    }
}
