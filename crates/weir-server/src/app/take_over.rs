//! How a server takes over from the one that runs: it gets copies of its listening sockets over the control
//! socket, serves, and says so. Used when the server starts, if it was told to.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use super::messages::{Handed, REFUSED, Ready, TAKE_OVER, YOURS, outcome};
use crate::config::Config;
use crate::error::ServeError;
use crate::listen::{Passed, PassedSocket};
use crate::sys::rights;
use crate::sys::service_manager::ServiceManager;

/// How long a predecessor may take to answer: it waits for its workers.
const PATIENCE: Duration = Duration::from_secs(15);

/// The server that hands over.
#[derive(Debug)]
pub(super) struct Predecessor {
    stream: UnixStream,
}

/// What it hands over.
#[derive(Debug)]
pub(super) struct Inheritance {
    pub(super) predecessor: Predecessor,
    pub(super) sockets: Passed,
    /// Whom it tells what, if anybody.
    pub(super) manager: Option<ServiceManager>,
}

/// Asks the server at the control socket for its listening sockets. `None`: there is no server, so that this
/// one starts as the first.
///
/// # Errors
///
/// The configuration names no control socket; the server refuses, or ends in the middle.
pub(super) fn ask(config: &Config) -> Result<Option<Inheritance>, ServeError> {
    let Some(path) = config.control_path() else {
        return Err(ServeError::told(
            "a server is taken over at its control socket; write `control = \"/run/weir/control\"`, or \
             --control, the same for both. If systemd has started it, restart it instead (`systemctl \
             restart`): with a socket unit nobody is refused meanwhile",
        ));
    };
    let failed = |error: io::Error| {
        ServeError::new(format!("cannot take over from the server at {}", path.display()), &error)
    };
    match connect(&path) {
        Ok(stream) => receive(stream).map(Some).map_err(failed),
        Err(error)
            if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) =>
        {
            let path = path.display();
            tracing::info!("no server is there to take over from at {path}: this is the first");
            Ok(None)
        }
        Err(error) => Err(failed(error)),
    }
}

fn connect(path: &Path) -> io::Result<UnixStream> {
    let mut stream = UnixStream::connect(path)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(format!("{TAKE_OVER}\n").as_bytes())?;
    Ok(stream)
}

fn receive(mut stream: UnixStream) -> io::Result<Inheritance> {
    let (mut bytes, mut descriptors) = (Vec::new(), Vec::new());
    let (mut sockets, mut manager) = (Vec::new(), None);
    let mut received = VecDeque::new();
    loop {
        let count = rights::receive(&stream, &mut bytes, &mut descriptors)?;
        received.extend(descriptors.drain(..));
        if bytes.starts_with(REFUSED.as_bytes()) {
            stream.read_to_end(&mut bytes)?;
            let why = outcome(&String::from_utf8_lossy(&bytes)).err().unwrap_or_default();
            return Err(io::Error::other(why));
        }
        while let Some(line) = next_line(&mut bytes) {
            match line.parse::<Handed>().map_err(io::Error::other)? {
                Handed::Socket { group, role, has_own_file, address } => {
                    let socket: OwnedFd = received.pop_front().ok_or(ErrorKind::UnexpectedEof)?;
                    let role = Some(role);
                    sockets.push(PassedSocket { group, role, address, has_own_file, socket });
                }
                Handed::ServiceManager { watchdog, socket } => {
                    manager = Some(ServiceManager::at(Some(socket), Some(watchdog)));
                }
                Handed::End => {
                    let sockets = Passed::by_predecessor(sockets);
                    return Ok(Inheritance {
                        predecessor: Predecessor { stream },
                        sockets,
                        manager,
                    });
                }
            }
        }
        if count == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
    }
}

/// The first whole line, which is taken out.
fn next_line(bytes: &mut Vec<u8>) -> Option<String> {
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let line: Vec<u8> = bytes.drain(..=end).collect();
    Some(String::from_utf8_lossy(&line[..end]).into_owned())
}

impl Predecessor {
    /// Tells it that this server serves, and waits until it has let go. Sockets that are not used here are
    /// closed before: while a copy is open, the kernel lets clients in.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::TimedOut`]: it goes on and has everything, this server came too late. Otherwise it did
    /// not confirm that it stops; the sockets are here all the same.
    pub(super) fn relieve(mut self, passed: Passed) -> io::Result<()> {
        let ready = Ready { pid: std::process::id(), left: passed.left() };
        let files = passed.close_rest();
        files.set(true);
        let sent = self.stream.write_all(format!("{ready}\n").as_bytes());
        let mut answer = String::new();
        let mut reader = BufReader::new(&self.stream);
        let read = reader.read_line(&mut answer);
        match answer.trim_end() {
            YOURS => Ok(()),
            REFUSED => {
                files.set(false);
                // Why is for people: half of it is better than nothing.
                let _ = reader.read_to_string(&mut answer);
                let why = outcome(&answer).err().unwrap_or_default();
                Err(io::Error::new(ErrorKind::TimedOut, why))
            }
            _ => {
                sent.and(read)?;
                Err(io::Error::other("it has not confirmed that it stops"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::listen::SocketFile;
    use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixListener;
    use std::thread;

    #[test]
    fn sockets_come_with_their_lines_however_these_are_cut() {
        let (here, there) = UnixStream::pair().unwrap();
        let listeners: Vec<_> = (0..3).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let address: Vec<SocketAddr> =
            listeners.iter().map(|it| it.local_addr().unwrap()).collect();
        let first =
            format!("socket 0 workers - {}\nsocket 1 admin - {}\nsock", address[0], address[1]);
        let both = [listeners[0].as_fd(), listeners[1].as_fd()];
        rights::send(&there, first.as_bytes(), &both).unwrap();
        let rest = b"et 2 control own-file unix:/c\nservice-manager 8000000 /notify\nend\n";
        rights::send(&there, rest, &[listeners[2].as_fd()]).unwrap();
        let Inheritance { predecessor, sockets, manager } = receive(here).unwrap();
        let manager = manager.unwrap();
        let told = (manager.socket(), manager.watchdog());
        assert_eq!(told, (Some("/notify"), Some(Duration::from_secs(8))));
        assert_eq!(sockets.left(), [0]);
        let relieved = thread::spawn(move || predecessor.relieve(sockets));
        let mut line = String::new();
        let mut reader = BufReader::new(&there);
        reader.read_line(&mut line).unwrap();
        assert_eq!(line, format!("ready {} 0\n", std::process::id()));
        // What is not used is closed by then: nobody is let in where nobody listens.
        drop(listeners);
        assert!(TcpStream::connect(address[0]).is_err());
        (&there).write_all(b"yours\n").unwrap();
        relieved.join().unwrap().unwrap();
    }

    #[test]
    fn who_comes_too_late_is_told_to_end_and_leaves_the_files() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("socket");
        for (answer, kind, is_left) in [
            ("refused\ntoo late\n", Some(ErrorKind::TimedOut), true),
            ("", Some(ErrorKind::Other), false),
            ("yours\n", None, false),
        ] {
            let socket = UnixListener::bind(&path).unwrap();
            let (here, mut there) = UnixStream::pair().unwrap();
            let text = format!("socket 0 control own-file unix:{}\nend\n", path.display());
            rights::send(&there, text.as_bytes(), &[socket.as_fd()]).unwrap();
            there.write_all(answer.as_bytes()).unwrap();
            there.shutdown(Shutdown::Write).unwrap();
            let Inheritance { predecessor, mut sockets, .. } = receive(here).unwrap();
            // However the path is spelled.
            let claim = sockets.take_control(Path::new("c")).unwrap().1.unwrap();
            let file = SocketFile::inherited(&path, &claim);
            drop(SocketFile::inherited(&path, &claim));
            assert!(path.exists(), "the predecessor listens there");
            let relieved = predecessor.relieve(sockets);
            assert_eq!(relieved.map_err(|error| error.kind()).err(), kind);
            drop(file);
            assert_eq!(path.exists(), is_left, "{answer}");
            let _ = std::fs::remove_file(&path);
        }
    }

    #[test]
    fn a_refusal_and_an_end_in_the_middle_are_told() {
        for (said, told) in [
            ("refused\nit is stopping\n", "it is stopping"),
            ("socket 0 workers - 127.0.0.1:1\n", "unexpected end"),
            ("", "unexpected end"),
            ("nonsense\n", "is not what a server hands over"),
        ] {
            let (here, mut there) = UnixStream::pair().unwrap();
            there.write_all(said.as_bytes()).unwrap();
            drop(there);
            let wrong = receive(here).unwrap_err().to_string();
            assert!(wrong.contains(told), "{said}: {wrong}");
        }
    }
}
