//! Who may ask the opener: processes of certain users, as the kernel says of the other end of a connection
//! (SO_PEERCRED, unix(7)). Used where connections are accepted.

use std::fs;
use std::os::fd::AsFd;

use rustix::net::sockopt::socket_peercred;
use rustix::process::getuid;

use crate::error::Error;

const USERS: &str = "/etc/passwd";

/// Ids of the users that may ask.
#[derive(Clone, Debug)]
pub(crate) struct Peers(Vec<u32>);

impl Peers {
    /// Root, the opener's own user, and these, by name or number.
    ///
    /// # Errors
    ///
    /// One is neither a number nor in /etc/passwd.
    pub(crate) fn new(users: &[String]) -> Result<Peers, Error> {
        let mut ids = vec![0, getuid().as_raw()];
        if !users.is_empty() {
            let table = fs::read_to_string(USERS)
                .map_err(|error| Error(format!("cannot read {USERS}: {error}")))?;
            for user in users {
                ids.push(id(user, &table).ok_or_else(|| {
                    Error(format!("no user {user} in {USERS}: write a number instead"))
                })?);
            }
        }
        Ok(Peers(ids))
    }

    /// Whether the process at the other end may ask.
    pub(crate) fn may_ask(&self, connection: impl AsFd) -> bool {
        socket_peercred(connection).is_ok_and(|peer| self.0.contains(&peer.uid.as_raw()))
    }
}

/// The id of a user, from a table as passwd(5) has it.
fn id(user: &str, table: &str) -> Option<u32> {
    if let Ok(number) = user.parse() {
        return Some(number);
    }
    let mut lines = table.lines().map(|line| line.split(':'));
    lines.find_map(|mut fields| {
        (fields.next() == Some(user)).then(|| fields.nth(1)?.parse().ok()).flatten()
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn users_have_names_or_numbers() {
        let table = "root:x:0:0:root:/root:/bin/bash\nwww-data:x:33:33::/var/www:/bin/sh\nbad\n";
        assert_eq!((id("www-data", table), id("7", table)), (Some(33), Some(7)));
        assert_eq!((id("www", table), id("bad", table), id("", table)), (None, None, None));
        assert!(Peers::new(&["nobody-of-this-name".into()]).is_err());
    }

    #[test]
    fn ones_own_processes_may_ask() {
        let (one, _other) = UnixStream::pair().unwrap();
        assert!(Peers::new(&[]).unwrap().may_ask(&one));
        assert!(!Peers(vec![getuid().as_raw() + 1]).may_ask(&one));
    }
}
