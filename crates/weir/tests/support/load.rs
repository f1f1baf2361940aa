//! Clients of several kinds that ask all the while. A test does something to the server meanwhile, and none of
//! them may notice: the first request that fails ends the test.

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use super::{Client, Response, eventually};

/// The clients. They ask until [`Load::end`].
#[derive(Debug, Default)]
pub struct Load {
    is_over: Arc<AtomicBool>,
    clients: Vec<Asking>,
}

#[derive(Debug)]
struct Asking {
    kind: &'static str,
    answers: Arc<AtomicU64>,
    /// Ends with what was wrong with the first request that failed.
    thread: JoinHandle<io::Result<()>>,
}

impl Load {
    /// Connections that are used once, and slow downloads, at the site of a `Configuration` that has its
    /// backends at `/app`.
    pub fn of_short_connections(at: SocketAddr) -> Load {
        let mut load = Load::default();
        load.add("close", once(Client::connect, at, "/small"));
        load.add("close, proxied", once(Client::connect, at, "/app"));
        load.add("download", once(Client::with_small_buffer, at, "/large"));
        load
    }

    /// Adds a client of this kind, which asks by calling `ask`.
    pub fn add(
        &mut self,
        kind: &'static str,
        mut ask: impl FnMut() -> io::Result<()> + Send + 'static,
    ) {
        let answers = Arc::<AtomicU64>::default();
        let (is_over, count) = (self.is_over.clone(), answers.clone());
        let thread = thread::spawn(move || {
            while !is_over.load(Ordering::Relaxed) {
                ask()?;
                count.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        });
        self.clients.push(Asking { kind, answers, thread });
    }

    /// Waits until every client has had another answer, or one has failed, which [`Load::end`] tells.
    pub fn progress(&self) {
        let before = self.answers();
        eventually("every client has another answer", || {
            let has_failed = self.clients.iter().any(|client| client.thread.is_finished());
            has_failed || self.answers().iter().zip(&before).all(|(now, before)| now > before)
        });
    }

    /// Ends all clients and prints how many answers each has had; fails if a request has failed.
    pub fn end(self) {
        self.is_over.store(true, Ordering::Relaxed);
        for Asking { kind, answers, thread } in self.clients {
            let ended = thread.join();
            let ended = ended.unwrap_or_else(|_| Err(io::Error::other("it panicked")));
            assert!(ended.is_ok(), "{kind}: {ended:?} after {answers:?} answers");
            println!("{kind}: {} answers", answers.load(Ordering::Relaxed));
        }
    }

    fn answers(&self) -> Vec<u64> {
        self.clients.iter().map(|client| client.answers.load(Ordering::Relaxed)).collect()
    }
}

/// A connection for each request.
pub fn once(
    connect: fn(SocketAddr) -> Client,
    at: SocketAddr,
    path: &str,
) -> impl FnMut() -> io::Result<()> + Send + 'static {
    let (request, mut same) = (request(path, "Connection: close\r\n"), Same::default());
    move || same.check(whole(&mut connect(at), &request)?)
}

/// One connection for all requests, which the server must not end.
pub fn kept(at: SocketAddr, path: &str) -> impl FnMut() -> io::Result<()> + Send + 'static {
    let (request, mut same) = (request(path, ""), Same::default());
    let mut client = Client::connect(at);
    move || same.check(whole(&mut client, &request)?)
}

/// A connection that the server may end between two requests. As browsers do it, a request to which not a byte
/// was answered is sent again, once.
pub fn renewed(at: SocketAddr, path: &str) -> impl FnMut() -> io::Result<()> + Send + 'static {
    let (request, mut same) = (request(path, ""), Same::default());
    let mut client: Option<Client> = None;
    move || {
        let answered = match client.take() {
            Some(mut kept) => answer(&mut kept, &request)?.map(|response| (kept, response)),
            None => None,
        };
        let (used, response) = match answered {
            Some(answered) => answered,
            None => {
                let mut new = Client::connect(at);
                let response = whole(&mut new, &request)?;
                (new, response)
            }
        };
        client = (response.field("Connection") != Some("close")).then_some(used);
        same.check(response)
    }
}

fn request(path: &str, fields: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: weir\r\n{fields}\r\n")
}

/// The answer; `None`: the connection ended before its first byte.
fn answer(client: &mut Client, request: &str) -> io::Result<Option<Response>> {
    if client.try_send(request).is_err() {
        return Ok(None);
    }
    match client.stream.peek(&mut [0]) {
        Ok(0) => Ok(None),
        Ok(_) => client.try_response().map(Some),
        Err(error) if error.kind() == ErrorKind::ConnectionReset => Ok(None),
        Err(error) => Err(error),
    }
}

fn whole(client: &mut Client, request: &str) -> io::Result<Response> {
    let ended = || io::Error::other("the connection ended before the first byte");
    answer(client, request)?.ok_or_else(ended)
}

/// All answers must be 200 and have the same body.
#[derive(Debug, Default)]
struct Same {
    first: Option<Vec<u8>>,
}

impl Same {
    fn check(&mut self, response: Response) -> io::Result<()> {
        let first = self.first.get_or_insert_with(|| response.body.clone());
        match response.status == 200 && *first == response.body {
            true => Ok(()),
            false => Err(io::Error::other(format!("another answer: {}", response.head))),
        }
    }
}
