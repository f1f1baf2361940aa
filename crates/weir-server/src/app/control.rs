//! The control socket of a server that runs: it reads commands and hands them to the main loop. A successor
//! gets its copies of the listening sockets here; if it dies before it serves, nothing has happened.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::geteuid;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader, Interest};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc::error::SendError;
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinHandle, spawn_local};
use tokio::time::{sleep, timeout};

use super::messages::{DONE, Handed, REFUSED, RELOAD, Ready, SocketCopy, TAKE_OVER, YOURS};
use crate::config::{Config, ListenAddress};
use crate::error::ServeError;
use crate::listen::{Passed, SocketFile, cannot_listen, open_for_owner};
use crate::sys::rights;

/// The longest line that somebody may say.
const LONGEST: u64 = 4096;

/// How long somebody may take to say a command.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long a successor may take until it serves; then it is told to end, and another one may come.
const SERVES_WITHIN: Duration = Duration::from_secs(60);

/// How long to wait after a connection could not be accepted.
const RECOVER: Duration = Duration::from_millis(500);

/// Why a command comes too late.
const STOPPING: &str = "the server is stopping";

/// What the main loop is asked for.
#[derive(Debug)]
pub(super) enum Request {
    /// To read the configuration anew; the outcome is what is answered.
    Reload(oneshot::Sender<Result<String, String>>),
    /// To hand the listening sockets to who is at the other end.
    TakeOver(UnixStream),
    /// To stop: this successor serves. `None`: the one that had asked has gone.
    Ready(Option<Successor>),
}

/// A server that has taken over.
#[derive(Debug)]
pub(super) struct Successor {
    pub(super) said: Ready,
    stream: UnixStream,
}

impl Successor {
    /// Tells it that everything is its own.
    pub(super) async fn confirm(&mut self) {
        // If it has gone, there is nobody to tell.
        let _ = self.stream.write_all(format!("{YOURS}\n").as_bytes()).await;
    }
}

/// The socket before it is served.
#[derive(Debug)]
pub(super) struct ControlSocket {
    path: PathBuf,
    socket: OwnedFd,
    file: Option<SocketFile>,
}

impl ControlSocket {
    /// Listens where the configuration says, on the socket that was passed if it is there; `None`: nowhere.
    ///
    /// # Errors
    ///
    /// The socket that the configuration names cannot be listened on.
    pub(super) fn open(
        config: &Config,
        passed: &mut Passed,
    ) -> Result<Option<ControlSocket>, ServeError> {
        let Some(path) = config.control_path() else { return Ok(None) };
        if let Some((socket, claim)) = passed.take_control(&path) {
            let file = claim.and_then(|claim| SocketFile::inherited(&path, &claim));
            return Ok(Some(ControlSocket { path, socket, file }));
        }
        match open_for_owner(&path) {
            Ok((socket, file)) => Ok(Some(ControlSocket { path, socket, file: Some(file) })),
            Err(error) if config.operation.control.is_none() => {
                // Nobody has asked for it.
                let path = path.display();
                tracing::warn!("there is no control socket: cannot listen on {path}: {error}");
                Ok(None)
            }
            Err(error) => Err(cannot_listen(path.display(), &error)),
        }
    }
}

/// The socket while it is served, or nothing that would be.
#[derive(Debug)]
pub(super) struct Control {
    served: Option<Served>,
    /// Waits for a successor.
    offer: Option<JoinHandle<()>>,
    sender: mpsc::UnboundedSender<Request>,
    requests: mpsc::UnboundedReceiver<Request>,
}

#[derive(Debug)]
struct Served {
    at: ControlSocket,
    task: JoinHandle<()>,
}

impl Control {
    /// Serves `socket`, if there is one.
    ///
    /// # Errors
    ///
    /// The runtime cannot watch it.
    pub(super) fn serve(socket: Option<ControlSocket>) -> io::Result<Control> {
        let (sender, requests) = mpsc::unbounded_channel();
        let serve = |at: ControlSocket| {
            let listener = std::os::unix::net::UnixListener::from(at.socket.try_clone()?);
            listener.set_nonblocking(true)?;
            let listener = UnixListener::from_std(listener)?;
            let task = spawn_local(accept(listener, sender.clone()));
            Ok::<_, io::Error>(Served { at, task })
        };
        let served = socket.map(serve).transpose()?;
        Ok(Control { served, offer: None, sender, requests })
    }

    /// Waits for the next request.
    pub(super) async fn next(&mut self) -> Request {
        match self.requests.recv().await {
            Some(request) => request,
            // There is a sender in this very struct.
            None => std::future::pending().await,
        }
    }

    /// A copy of the socket, if there is one.
    ///
    /// # Errors
    ///
    /// There is no descriptor.
    pub(super) fn copy(&self) -> io::Result<Option<SocketCopy>> {
        let copy = |Served { at, .. }: &Served| {
            let address = ListenAddress::Unix(at.path.clone());
            let (has_own_file, socket) = (at.file.is_some(), at.socket.try_clone()?);
            Ok(SocketCopy { address, has_own_file, socket })
        };
        self.served.as_ref().map(copy).transpose()
    }

    /// Hands `sockets` to the successor at the other end of `stream`. A request follows when it serves, has
    /// gone, or has not served in time.
    pub(super) fn hand_over(
        &mut self,
        mut stream: UnixStream,
        sockets: Vec<(Handed, Option<OwnedFd>)>,
    ) {
        let sender = self.sender.clone();
        self.offer = Some(spawn_local(async move {
            let said = timeout(SERVES_WITHIN, hand_over(&mut stream, sockets)).await;
            let wrong = match said {
                Ok(Ok(said)) => {
                    let _ = sender.send(Request::Ready(Some(Successor { said, stream })));
                    return;
                }
                Ok(Err(error)) => format!("has gone before it served: {error}"),
                Err(_) => format!("has not served within {SERVES_WITHIN:?}, and is to end"),
            };
            tracing::warn!("a successor {wrong}; this server goes on");
            let _ = sender.send(Request::Ready(None));
            // It must not serve beside this one.
            refuse(stream, &format!("this server {wrong}")).await;
        }));
    }

    /// Ends serving the socket; who waits for an answer is told so. `is_left`: a successor has it, and its
    /// file stays.
    pub(super) fn close(&mut self, is_left: bool) {
        // A successor that does not serve yet learns that nobody waits for it.
        self.offer.take().iter().for_each(JoinHandle::abort);
        self.requests.close();
        while let Ok(request) = self.requests.try_recv() {
            too_late(request);
        }
        if let Some(Served { at, task }) = self.served.take() {
            task.abort();
            if is_left {
                at.file.iter().for_each(SocketFile::leave);
            }
        }
    }
}

/// Refuses what somebody asks for, and says why.
pub(super) async fn refuse(mut stream: UnixStream, why: &str) {
    let _ = stream.write_all(format!("{REFUSED}\n{why}\n").as_bytes()).await;
}

/// Refuses what the server does not get to any more.
fn too_late(request: Request) {
    if let Request::TakeOver(stream) = request {
        spawn_local(refuse(stream, STOPPING));
    }
}

/// Who is at the other end of a connection, for people.
pub(super) fn peer(stream: &UnixStream) -> impl fmt::Display + use<> {
    let pid = stream.peer_cred().ok().and_then(|peer| peer.pid());
    pid.map_or("a process".to_owned(), |pid| format!("process {pid}"))
}

/// Whether who is at the other end may say what the server does. The mode of the file says so, too; but one
/// that a service manager has made is often open to everybody.
fn may_command(stream: &UnixStream) -> bool {
    let own = geteuid().as_raw();
    stream.peer_cred().is_ok_and(|peer| [0, own].contains(&peer.uid()))
}

async fn accept(listener: UnixListener, requests: mpsc::UnboundedSender<Request>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => drop(spawn_local(answer(stream, requests.clone()))),
            Err(error) => {
                tracing::error!("cannot accept connections on the control socket: {error}");
                sleep(RECOVER).await;
            }
        }
    }
}

/// Reads a command and has it done.
async fn answer(mut stream: UnixStream, requests: mpsc::UnboundedSender<Request>) {
    let Ok(Ok(command)) = timeout(PATIENCE, line(&mut stream)).await else { return };
    if !may_command(&stream) {
        tracing::warn!("{} of another user is refused at the control socket", peer(&stream));
        return refuse(stream, "only root and the user of the server may command it").await;
    }
    match command.trim_end() {
        RELOAD => {
            let (answer, outcome) = oneshot::channel();
            let _ = requests.send(Request::Reload(answer));
            let outcome = outcome.await;
            let outcome = outcome.unwrap_or_else(|_| Err(STOPPING.to_owned()));
            let text = match outcome {
                Ok(text) => format!("{DONE}\n{text}\n"),
                Err(why) => format!("{REFUSED}\n{why}\n"),
            };
            let _ = stream.write_all(text.as_bytes()).await;
        }
        TAKE_OVER => {
            if let Err(SendError(request)) = requests.send(Request::TakeOver(stream)) {
                too_late(request);
            }
        }
        other => {
            let other = other.escape_debug();
            let why =
                format!("no command is called \"{other}\"; there are {RELOAD} and {TAKE_OVER}");
            refuse(stream, &why).await;
        }
    }
}

/// Sends everything, and waits until the successor serves.
async fn hand_over(
    stream: &mut UnixStream,
    sockets: Vec<(Handed, Option<OwnedFd>)>,
) -> io::Result<Ready> {
    for some in sockets.chunks(rights::MOST) {
        let text: String = some.iter().map(|(line, _)| format!("{line}\n")).collect();
        let descriptors: Vec<_> =
            some.iter().filter_map(|(_, socket)| Some(socket.as_ref()?.as_fd())).collect();
        loop {
            stream.writable().await?;
            let send = || rights::send(&*stream, text.as_bytes(), &descriptors);
            match stream.try_io(Interest::WRITABLE, send) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                sent => break sent?,
            }
        }
    }
    drop(sockets);
    let said = line(stream).await?;
    if said.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    said.parse().map_err(io::Error::other)
}

/// A line; empty at the end.
async fn line(stream: &mut UnixStream) -> io::Result<String> {
    let mut line = String::new();
    BufReader::new(stream.take(LONGEST)).read_line(&mut line).await?;
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config;
    use crate::metrics::Metrics;
    use crate::runtime;
    use std::os::unix::fs::PermissionsExt;
    use std::sync::Arc;

    fn run(test: impl Future<Output = ()>) {
        runtime::build(&Arc::new(Metrics::new())).unwrap().block_on(test);
    }

    fn open(path: &std::path::Path) -> Control {
        let text = format!("control = \"{}\"", path.display());
        let config = Config::from_settings(config::parse(&text).unwrap()).unwrap();
        let socket = ControlSocket::open(&config, &mut Passed::default()).unwrap();
        Control::serve(socket).unwrap()
    }

    /// All that is answered to `command`.
    async fn say(path: &std::path::Path, command: &str) -> String {
        let mut stream = UnixStream::connect(path).await.unwrap();
        stream.write_all(command.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[test]
    fn commands_are_answered_and_nonsense_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("control");
        run(async {
            let mut control = open(&path);
            let mode = std::fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
            let nonsense = say(&path, "dance\n").await;
            assert!(nonsense.starts_with("refused\nno command is called \"dance\""), "{nonsense}");
            for (outcome, answer) in [(Ok("all"), "done\nall\n"), (Err("no"), "refused\nno\n")] {
                let asked = spawn_local({
                    let path = path.clone();
                    async move { say(&path, "reload\n").await }
                });
                let Request::Reload(sender) = control.next().await else { panic!("not a reload") };
                sender.send(outcome.map(str::to_owned).map_err(str::to_owned)).unwrap();
                assert_eq!(asked.await.unwrap(), answer);
            }
            control.close(false);
        });
        assert!(!path.exists());
    }

    #[test]
    fn a_successor_that_dies_is_told_of_and_one_that_serves_is_confirmed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("control");
        run(async {
            let mut control = open(&path);
            for serves in [false, true] {
                let mut there = UnixStream::connect(&path).await.unwrap();
                there.write_all(b"take-over\n").await.unwrap();
                let Request::TakeOver(stream) = control.next().await else { panic!("not that") };
                let copy = control.copy().unwrap().unwrap().socket;
                control.hand_over(stream, vec![(Handed::End, None), (Handed::End, Some(copy))]);
                let mut text = [0; 8];
                there.read_exact(&mut text).await.unwrap();
                assert_eq!(&text, b"end\nend\n");
                if serves {
                    there.write_all(b"ready 7 2\n").await.unwrap();
                    let Request::Ready(Some(mut successor)) = control.next().await else {
                        panic!("it serves")
                    };
                    assert_eq!(successor.said, Ready { pid: 7, left: vec![2] });
                    successor.confirm().await;
                    assert_eq!(line(&mut there).await.unwrap(), "yours\n");
                } else {
                    drop(there);
                    assert!(matches!(control.next().await, Request::Ready(None)));
                }
            }
            control.close(true);
        });
        assert!(path.exists(), "its file is the successor's");
    }
}
