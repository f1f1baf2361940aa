//! Listening sockets that somebody else has opened: a service manager (socket activation), or a server that
//! hands them over. Taken by [`super::Listeners`] where the configuration names their addresses.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use socket2::SockRef;

use super::unix::Claim;
use crate::config::ListenAddress;
use crate::error::ServeError;

/// What a socket is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Workers take connections from it.
    Workers,
    /// It is that of the admin address.
    Admin,
    /// It is the control socket.
    Control,
}

/// The name by which a service manager says that a socket is the control socket.
const CONTROL: &str = "control";

/// One socket.
#[derive(Debug)]
pub(crate) struct PassedSocket {
    /// Sockets of one address have the same number.
    pub(crate) group: u64,
    /// `None`: its address says it.
    pub(crate) role: Option<Role>,
    /// Its address, as the configuration has it: with port 0 if the kernel chose the port.
    pub(crate) address: ListenAddress,
    /// It is a Unix socket whose file the server removes at its end. One that a service manager has made
    /// stays.
    pub(crate) has_own_file: bool,
    pub(crate) socket: OwnedFd,
}

/// The sockets of one address.
#[derive(Debug)]
pub(super) struct PassedGroup {
    pub(super) sockets: Vec<OwnedFd>,
    /// Says whether the file of this Unix socket is to be removed at the end; `None`: never.
    pub(super) file: Option<Claim>,
}

/// All that were passed and not taken yet; the default is none.
#[derive(Debug, Default)]
pub(crate) struct Passed {
    sockets: Vec<PassedSocket>,
    by_predecessor: bool,
    claim: Claim,
}

impl Passed {
    /// What a service manager has opened, with the names that it gave.
    ///
    /// # Errors
    ///
    /// A descriptor is not a socket with an address.
    pub(crate) fn by_service_manager(
        sockets: Vec<(String, OwnedFd)>,
    ) -> Result<Passed, ServeError> {
        let mut found: Vec<PassedSocket> = Vec::new();
        for (place, (name, socket)) in sockets.into_iter().enumerate() {
            let address = address_of(&socket).map_err(|error| {
                let what = format!("cannot use the socket \"{name}\" of the service manager");
                ServeError::new(what, &error)
            })?;
            // Several sockets of one port share its connections.
            let same = found.iter().find(|other| other.address == address);
            let group = same.map_or(place as u64, |other| other.group);
            let role = (name == CONTROL).then_some(Role::Control);
            found.push(PassedSocket { group, role, address, has_own_file: false, socket });
        }
        Ok(Passed { sockets: found, ..Passed::default() })
    }

    /// What a predecessor hands over.
    pub(crate) fn by_predecessor(sockets: Vec<PassedSocket>) -> Passed {
        Passed { sockets, by_predecessor: true, claim: Claim::default() }
    }

    /// Whether there are sockets for `address`.
    pub(super) fn have(&self, role: Role, address: &ListenAddress) -> bool {
        self.sockets.iter().any(|socket| socket.is_for(role, address))
    }

    /// The sockets for `address`, if there are any.
    pub(super) fn take(&mut self, role: Role, address: &ListenAddress) -> Option<PassedGroup> {
        let first = self.sockets.iter().find(|socket| socket.is_for(role, address))?;
        let (group, of_role) = (first.group, first.role);
        let file = first.has_own_file.then(|| self.claim.clone());
        let is_of_group = |socket: &PassedSocket| (socket.group, socket.role) == (group, of_role);
        let (taken, left): (Vec<_>, Vec<_>) = self.sockets.drain(..).partition(is_of_group);
        self.sockets = left;
        let sockets = taken.into_iter().map(|socket| socket.socket).collect();
        Some(PassedGroup { sockets, file })
    }

    /// The control socket at `path`, and what says whether its file is to be removed at the end; `None`: it
    /// never is. That of a predecessor was reached there, however it spells the path.
    pub(crate) fn take_control(&mut self, path: &Path) -> Option<(OwnedFd, Option<Claim>)> {
        let there = ListenAddress::Unix(path.to_owned());
        let is_control = |socket: &PassedSocket| {
            let is_there = self.by_predecessor || socket.address == there;
            is_there && socket.role == Some(Role::Control)
        };
        let place = self.sockets.iter().position(is_control)?;
        let PassedSocket { has_own_file, socket, .. } = self.sockets.swap_remove(place);
        Some((socket, has_own_file.then(|| self.claim.clone())))
    }

    /// The numbers of the workers' addresses that nobody has taken.
    pub(crate) fn left(&self) -> Vec<u64> {
        let of_workers = |socket: &&PassedSocket| socket.role == Some(Role::Workers);
        let mut left: Vec<u64> =
            self.sockets.iter().filter(of_workers).map(|socket| socket.group).collect();
        left.dedup();
        left
    }

    /// Closes what nobody has taken. Returns what the files of the taken sockets go by.
    pub(crate) fn close_rest(self) -> Claim {
        self.claim
    }

    /// Whether all that a service manager has opened is used: connections to the rest would wait for ever.
    ///
    /// # Errors
    ///
    /// The first that is not.
    pub(crate) fn must_be_taken(&self) -> Result<(), ServeError> {
        match self.sockets.first() {
            Some(PassedSocket { role: Some(Role::Control), address, .. })
                if !self.by_predecessor =>
            {
                let mend = match address {
                    ListenAddress::Unix(path) => format!("write `control = {path:?}`"),
                    _ => "give it a path there".to_owned(),
                };
                Err(ServeError::told(format_args!(
                    "the service manager has a control socket at {address}, which the configuration does \
                     not name; {mend}, or take it out of the socket unit"
                )))
            }
            Some(socket) if !self.by_predecessor => Err(ServeError::told(format_args!(
                "the service manager listens on {}, which no key names; add it to `listen`, \
                 `listen_clear` or `admin`, or take it out of the socket unit",
                socket.address
            ))),
            _ => Ok(()),
        }
    }
}

impl PassedSocket {
    fn is_for(&self, role: Role, address: &ListenAddress) -> bool {
        self.role.is_none_or(|own| own == role) && self.address == *address
    }
}

/// Where a socket listens.
fn address_of(socket: &OwnedFd) -> io::Result<ListenAddress> {
    let address = SockRef::from(socket).local_addr()?;
    if let Some(port) = address.as_socket() {
        return Ok(ListenAddress::Tcp(port));
    }
    if let Some(path) = address.as_pathname() {
        return Ok(ListenAddress::Unix(path.to_owned()));
    }
    match address.as_abstract_namespace() {
        Some(name) if !name.is_empty() => {
            Ok(ListenAddress::Abstract(String::from_utf8_lossy(name).into_owned()))
        }
        _ => Err(io::Error::other("it has no address; write ListenStream= in the socket unit")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::os::unix::net::{UnixListener, UnixStream};

    fn socket(port: &str, role: Role, group: u64) -> PassedSocket {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap().into();
        let address = port.parse().unwrap();
        PassedSocket { group, role: Some(role), address, has_own_file: true, socket }
    }

    #[test]
    fn sockets_are_found_by_the_address_that_was_configured_and_by_what_they_are_for() {
        let any: ListenAddress = "127.0.0.1:0".parse().unwrap();
        let mut passed = Passed::by_predecessor(vec![
            socket("127.0.0.1:0", Role::Workers, 0),
            socket("127.0.0.1:0", Role::Workers, 0),
            socket("127.0.0.1:0", Role::Workers, 1),
            socket("127.0.0.1:0", Role::Admin, 0),
            socket("127.0.0.1:9", Role::Workers, 2),
        ]);
        assert!(passed.have(Role::Workers, &any));
        assert!(passed.take_control(Path::new("/c")).is_none());
        let counts = [(); 3].map(|()| {
            let group = passed.take(Role::Workers, &any);
            group.map(|group| (group.sockets.len(), group.file.is_some()))
        });
        assert_eq!(counts, [Some((2, true)), Some((1, true)), None]);
        assert_eq!(passed.take(Role::Admin, &any).unwrap().sockets.len(), 1);
        assert_eq!(passed.left(), [2]);
        assert!(passed.must_be_taken().is_ok());
    }

    #[test]
    fn what_a_service_manager_opened_is_known_by_its_address_and_must_be_used() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.sock");
        let port = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = ListenAddress::Tcp(port.local_addr().unwrap());
        let sockets = vec![
            ("http".to_owned(), port.try_clone().unwrap().into()),
            ("http".to_owned(), port.into()),
            ("control".to_owned(), UnixListener::bind(&path).unwrap().into()),
        ];
        let mut passed = Passed::by_service_manager(sockets).unwrap();
        assert!(!passed.have(Role::Workers, &ListenAddress::Unix(path.clone())));
        let control = passed.sockets.pop().unwrap();
        let port = std::mem::replace(&mut passed.sockets, vec![control]);
        // Nobody would look for it there.
        assert!(passed.take_control(&directory.path().join("b.sock")).is_none());
        let wrong = passed.must_be_taken().unwrap_err().to_string();
        assert!(wrong.contains(&format!("write `control = {path:?}`")), "{wrong}");
        passed.sockets.extend(port);
        assert!(matches!(passed.take_control(&path), Some((_, None))));
        let wrong = passed.must_be_taken().unwrap_err().to_string();
        assert!(wrong.contains(&format!("listens on {address}, which no key names")), "{wrong}");
        let group = passed.take(Role::Admin, &address).unwrap();
        assert_eq!((group.sockets.len(), group.file.is_some()), (2, false));
        assert!(passed.must_be_taken().is_ok());
        let (nameless, _there) = UnixStream::pair().unwrap();
        let wrong = Passed::by_service_manager(vec![("x".to_owned(), nameless.into())]);
        assert!(wrong.unwrap_err().to_string().contains("it has no address"));
    }
}
