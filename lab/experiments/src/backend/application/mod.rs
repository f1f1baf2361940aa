//! The application: an exclusive server as many frameworks give one. It accepts everybody at once,
//! does one request at a time, first come first served, and does not look whether the client is
//! still there, unless told to. `weir-lab application` is this
//! one.
//!
//! `GET /work/BYTES?id=N` is answered with 1 KB after the time that so many bytes stand for. It
//! sleeps, so that the processors are left to what is measured.

mod queue;
mod request;

use std::fs::File;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::oneshot;
use weir_peers::{Error, Result};

use self::queue::{Queue, QueuedRequest};
use self::request::Head;
use super::clock;
use super::service::Service;
use crate::machine;

/// Connections that wait to be accepted, which is never for long.
const BACKLOG: u32 = 4096;
/// After running out of descriptors.
const PAUSE: Duration = Duration::from_millis(20);

/// What the application is told.
#[derive(Clone, Debug)]
pub struct Application {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Mean service time over the sizes of Carter's Figure 21.
    pub mean: Duration,
    /// Whether it drops a request whose client has left when its turn comes (Carter 1999, section
    /// 3.2). The paper's 0.5 % of a mean service time for looking is not taken: looking costs a
    /// microsecond here.
    pub checks: bool,
    /// Where it writes what it has served.
    pub log: PathBuf,
}

/// Serve until the process is ended.
///
/// # Errors
///
/// When it cannot listen, or cannot write its log.
pub fn serve(application: &Application) -> Result<()> {
    machine::raise_open_files()?;
    let log =
        File::create(&application.log).map_err(|e| Error::file("write", &application.log, &e))?;
    let (queue, waiting) = mpsc::channel();
    let line = Queue::new(Service::new(application.mean), application.checks, log);
    let (over, ended) = oneshot::channel();
    std::thread::spawn(move || over.send(line.run(&waiting)));
    let failed =
        |e: std::io::Error| Error(format!("the application at {}: {e}", application.listen));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(failed)?.block_on(async {
        let listener = listen(application.listen).map_err(failed)?;
        tokio::select! {
            () = accept(listener, queue) => Ok(()),
            ended = ended => match ended {
                Ok(Err(e)) => Err(Error::file("write", &application.log, &e)),
                _ => Err("the application's server has stopped".into()),
            }
        }
    })
}

fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Accept everybody, for ever.
async fn accept(listener: TcpListener, queue: mpsc::Sender<QueuedRequest>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                let _ = stream.set_nodelay(true);
                tokio::spawn(read(Arc::new(stream), queue.clone()));
            }
            // Without descriptors the others go on waiting to be accepted.
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}

/// Put the requests of a connection into the queue until no more will come. What is in the queue
/// keeps the connection open: the application does not know that its client has left.
async fn read(stream: Arc<TcpStream>, queue: mpsc::Sender<QueuedRequest>) {
    let mut bytes = Vec::new();
    loop {
        match request::head(&bytes) {
            Head::Complete { request, used } => {
                bytes.drain(..used);
                let last = request.close;
                let waiting =
                    QueuedRequest { stream: stream.clone(), request, arrived: clock::now() };
                if queue.send(waiting).is_err() || last {
                    return;
                }
                continue;
            }
            Head::Partial => {}
            Head::Invalid => return,
        }
        if stream.readable().await.is_err() {
            return;
        }
        match stream.try_read_buf(&mut bytes) {
            Ok(0) => return,
            Ok(_) => {}
            Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {}
            Err(_) => return,
        }
    }
}
