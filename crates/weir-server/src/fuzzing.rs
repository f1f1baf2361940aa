//! One connection between a client and backends that all live in this thread and follow a script, step
//! by step. For the fuzz target `connection`, which looks at what came out at both ends.
//!
//! The connection, the proxy and hyper are the real ones, over Unix sockets. Nothing depends on time:
//! the next step comes when nothing moves any more, and no deadline is looked at.

use std::io::{self, Read};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use rustix::net::{SendFlags, send};
use tempfile::TempDir;
use tokio::task::{spawn_local, yield_now};

use crate::body::Space;
use crate::client::Times;
use crate::client::rate::MinRate;
use crate::config::{self, Config, ConfigError, PortKind, ProxyProtocol, RouteConfig};
use crate::content::Content;
use crate::identity::PeerAddress;
use crate::logs::access_log::LogHandle;
use crate::metrics::Metrics;
use crate::protocol::{self, Context, OpenConnections, Serving};
use crate::runtime::{self, stop, turn};
use crate::service::Service;
use crate::service::proxy::{self, Proxy};
use crate::transport::Socket;

/// So many turns of the worker without a byte from anybody: nothing will come without another step.
const QUIET: u32 = 8;

/// Longer than any script.
const LONG: Duration = Duration::from_secs(3600);

/// Nobody is too slow.
const NO_RATE: MinRate = MinRate { bytes_per_second: 0, period: LONG };

/// Bytes that are read at a time.
const READ: usize = 64 * 1024;

/// What happens next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// The client sends this.
    Client(&'a [u8]),
    /// The client sends nothing more.
    ClientEnds,
    /// The backend sends this on the connection that was opened last.
    Backend(&'a [u8]),
    /// The backend closes that connection.
    BackendCloses,
    /// Everybody does what there is to do.
    Settle,
}

/// What came out.
#[derive(Debug, Default)]
pub struct Seen {
    /// What the client read.
    pub to_client: Vec<u8>,
    /// What backends read, in the order of time, each with the number of its connection, from 0.
    pub to_backends: Vec<(usize, Vec<u8>)>,
    /// The connection had ended once all others had closed their sides.
    pub has_ended: bool,
}

/// A server with one kind of configuration, for as many connections as wanted.
#[derive(Debug)]
pub struct Bench {
    routes: Vec<RouteConfig>,
    memory: u64,
    proxy_protocol: ProxyProtocol,
    listener: UnixListener,
    metrics: Arc<Metrics>,
    _directory: TempDir,
}

impl Bench {
    /// `text`: a configuration file, in which `BACKEND` stands for the address of the backend.
    ///
    /// # Errors
    ///
    /// What is wrong with the configuration, or that there is no place for a socket.
    pub fn new(text: &str) -> Result<Bench, ConfigError> {
        let failed = |error: io::Error| ConfigError::new(format!("no place for a socket: {error}"));
        let directory = tempfile::tempdir().map_err(failed)?;
        let path = directory.path().join("backend");
        let listener = UnixListener::bind(&path).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let text = text.replace("BACKEND", &format!("unix:{}", path.display()));
        let config = Config::from_settings(config::parse(&text)?)?;
        let metrics = Arc::new(Metrics::new());
        let Config { routes, proxy_memory: memory, proxy_protocol, .. } = config;
        Ok(Bench { routes, memory, proxy_protocol, listener, metrics, _directory: directory })
    }

    /// Plays a script, then ends and closes everything.
    ///
    /// # Errors
    ///
    /// No runtime or no sockets, for want of descriptors.
    pub fn play<'a>(&self, steps: impl IntoIterator<Item = Step<'a>>) -> io::Result<Seen> {
        runtime::build(&self.metrics)?.block_on(async {
            let (client, server) = UnixStream::pair()?;
            client.set_nonblocking(true)?;
            server.set_nonblocking(true)?;
            let socket = Socket::new(OwnedFd::from(server));
            let context = Rc::new(self.context()?);
            let metrics = self.metrics.clone();
            let connection = spawn_local(async move {
                turn::timed(
                    &metrics,
                    pin!(protocol::run(context, socket, PortKind::Clear, PeerAddress::Unix)),
                )
                .await;
            });
            let mut ends = Ends::new(End::new(client), &self.listener);
            for step in steps {
                ends.step(step).await;
            }
            ends.step(Step::ClientEnds).await;
            ends.settle().await;
            // The next request is asked on another connection.
            while ends.backends.iter().any(|backend| backend.stream.is_some()) {
                ends.backends.iter_mut().for_each(End::close);
                ends.settle().await;
            }
            ends.client.close();
            ends.settle().await;
            let mut seen = ends.seen;
            seen.has_ended = connection.is_finished();
            Ok(seen)
        })
    }

    fn context(&self) -> io::Result<Context> {
        let space = Space::new(self.memory, 0, None);
        let routes = proxy::Shared::new(&self.routes, space, &self.metrics);
        let routes = routes.map_err(io::Error::other)?;
        let service = Service::new(Content::builtin(), Some(Proxy::new(routes)));
        let times = Times {
            head: LONG,
            idle: LONG,
            handshake: LONG,
            send: LONG,
            stop: LONG,
            rate: NO_RATE,
        };
        let (open, stop) = (OpenConnections::new(), stop::channel().1);
        let (log, proxy_protocol) = (LogHandle::default(), self.proxy_protocol.clone());
        let serving = Serving::new(service, log, &self.metrics, proxy_protocol, times);
        Ok(Context::new(serving, open, self.metrics.clone(), stop))
    }
}

/// The client, the backends, and what they have read.
struct Ends<'a> {
    client: End,
    listener: &'a UnixListener,
    backends: Vec<End>,
    seen: Seen,
    /// What is read goes here first.
    space: Vec<u8>,
}

impl<'a> Ends<'a> {
    /// Connections of an earlier script that nobody took are forgotten.
    fn new(client: End, listener: &'a UnixListener) -> Ends<'a> {
        while listener.accept().is_ok() {}
        let space = vec![0; READ];
        Ends { client, listener, backends: Vec::new(), seen: Seen::default(), space }
    }

    async fn step(&mut self, step: Step<'_>) {
        match step {
            Step::Client(bytes) => self.client.pending.extend_from_slice(bytes),
            Step::ClientEnds => self.client.ends = true,
            Step::Backend(bytes) => {
                if let Some(last) = self.backends.last_mut() {
                    last.pending.extend_from_slice(bytes);
                }
            }
            Step::BackendCloses => {
                if let Some(last) = self.backends.last_mut() {
                    last.flush();
                    last.close();
                }
            }
            Step::Settle => self.settle().await,
        }
    }

    /// Lets the server work until nothing moves.
    async fn settle(&mut self) {
        let mut quiet = 0;
        while quiet < QUIET {
            quiet = if self.pump() { 0 } else { quiet + 1 };
            yield_now().await;
        }
    }

    /// Moves what can be moved; false if there was nothing.
    fn pump(&mut self) -> bool {
        let mut moved = self.client.flush();
        while let Ok((backend, _)) = self.listener.accept() {
            if backend.set_nonblocking(true).is_ok() {
                self.backends.push(End::new(backend));
                moved = true;
            }
        }
        while let Some(bytes) = self.client.read(&mut self.space) {
            self.seen.to_client.extend_from_slice(bytes);
            moved = true;
        }
        for (number, backend) in self.backends.iter_mut().enumerate() {
            moved |= backend.flush();
            while let Some(bytes) = backend.read(&mut self.space) {
                self.seen.to_backends.push((number, bytes.to_vec()));
                moved = true;
            }
        }
        moved
    }
}

/// One end of a connection to the server.
struct End {
    /// `None`: it was closed.
    stream: Option<UnixStream>,
    pending: Vec<u8>,
    /// After what is pending it sends nothing more.
    ends: bool,
}

impl End {
    fn new(stream: UnixStream) -> End {
        End { stream: Some(stream), pending: Vec::new(), ends: false }
    }

    /// Sends what is pending, as far as there is room; whether anything went.
    fn flush(&mut self) -> bool {
        let Some(stream) = &self.stream else { return false };
        if self.pending.is_empty() {
            // Once is enough: then it is over.
            return std::mem::take(&mut self.ends) && stream.shutdown(Shutdown::Write).is_ok();
        }
        match send(stream, &self.pending, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
            Ok(count) => {
                self.pending.drain(..count);
                count > 0
            }
            Err(rustix::io::Errno::AGAIN) => false,
            Err(_) => {
                // Nobody reads it.
                self.pending.clear();
                false
            }
        }
    }

    /// What has come, in `space`; `None`: nothing, or the end.
    fn read<'s>(&self, space: &'s mut [u8]) -> Option<&'s [u8]> {
        let count = self.stream.as_ref()?.read(space).ok().filter(|count| *count > 0)?;
        space.get(..count)
    }

    fn close(&mut self) {
        self.stream = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUTE: &str =
        "[[route]]\npath = \"/\"\nbackend_limit = 1\nretries = 0\nbackends = [\"BACKEND\"]\n";
    const GET: &[u8] = b"GET /x HTTP/1.1\r\nHost: a\r\n\r\n";
    const OK: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

    fn play(steps: &[Step<'_>]) -> (String, String) {
        let seen = Bench::new(ROUTE).unwrap().play(steps.iter().copied()).unwrap();
        assert!(seen.has_ended);
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        let to_backends: Vec<_> = seen.to_backends.iter().map(|(_, bytes)| text(bytes)).collect();
        (text(&seen.to_client), to_backends.concat())
    }

    #[test]
    fn steps_come_in_their_order_and_everything_ends() {
        use Step::{Backend, BackendCloses, Client, ClientEnds, Settle};
        let (begin, rest) = GET.split_at(10);
        let whole = [Client(begin), Settle, Client(rest), Client(GET), Settle, Backend(OK), Settle];
        let (client, backends) = play(&[&whole[..], &[Backend(OK)]].concat());
        assert_eq!(client.matches("200 OK").count(), 2, "{client}");
        assert_eq!(backends.matches("GET /x HTTP/1.1\r\n").count(), 2, "{backends}");
        // The second gets no answer.
        let (client, _) = play(&[&whole[..], &[BackendCloses]].concat());
        assert!(client.contains("200 OK") && client.contains("502 Bad Gateway"), "{client}");
        let (client, backends) = play(&[Client(begin), ClientEnds, Settle, Client(rest)]);
        assert_eq!((client, backends), (String::new(), String::new()));
    }
}
