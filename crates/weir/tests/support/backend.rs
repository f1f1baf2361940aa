//! A backend that does what a test says: it records every request as it came, and a closure answers
//! it rightly, slowly, wrongly or not at all. Nothing here knows what is right.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use socket2::{Domain, SockAddr, Socket, Type};

use super::DEADLINE;
use super::wire::{Body, Ended, Wire};

/// A running backend. It takes no more connections once this is dropped.
#[derive(Debug)]
pub struct Backend {
    /// As `--proxy` and `backends` name it.
    pub url: String,
    listener: Arc<Socket>,
    state: Arc<State>,
}

/// One request as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The number of its connection, from 0.
    pub connection: usize,
    /// Requests that came before it on that connection.
    pub before: usize,
    /// With its empty line.
    pub head: String,
    /// The body without its coding; `None` if it broke off or made no sense.
    pub body: Option<Vec<u8>>,
    /// The trailer section of a chunked body.
    pub trailers: String,
}

/// What becomes of the connection after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    Keep,
    /// It ends as it should.
    Close,
    /// Its socket is closed, whatever it carries.
    Cut,
    Reset,
}

/// A request to be answered.
#[derive(Debug)]
pub struct Call<'a> {
    pub asked: &'a Asked,
    wire: &'a mut Wire,
}

#[derive(Debug, Default)]
struct State {
    seen: Mutex<Seen>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Seen {
    requests: Vec<Asked>,
    connections: usize,
    /// Connections that were closed from the other side.
    left: usize,
}

impl Asked {
    /// The target of the request line.
    pub fn target(&self) -> &str {
        self.head.split(' ').nth(1).unwrap_or_default()
    }

    /// The values of a field, in their order.
    pub fn fields(&self, name: &str) -> Vec<&str> {
        let lines = self.head.lines().skip(1).filter_map(|line| line.split_once(':'));
        let named = lines.filter(|(field, _)| field.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value.trim()).collect()
    }
}

impl Backend {
    /// On a port of its own.
    pub fn new(answer: impl Fn(&mut Call<'_>) -> Then + Send + Sync + 'static) -> Backend {
        Backend::carried("http", Wire::new, answer)
    }

    /// The same for URLs of `scheme`, over what `carry` makes of each connection, in its own thread.
    pub fn carried(
        scheme: &str,
        carry: impl Fn(Socket) -> Wire + Send + Sync + 'static,
        answer: impl Fn(&mut Call<'_>) -> Then + Send + Sync + 'static,
    ) -> Backend {
        let listener = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        listener.bind(&loopback().into()).expect("a port");
        let url = format!("{scheme}://{}", address_of(&listener));
        Backend::listen(listener, url, carry, answer)
    }

    /// On a port of this address.
    pub fn on(
        address: SocketAddr,
        answer: impl Fn(&mut Call<'_>) -> Then + Send + Sync + 'static,
    ) -> Backend {
        let domain = Domain::for_address(address);
        let listener = Socket::new(domain, Type::STREAM, None).expect("a socket");
        listener.bind(&address.into()).expect("a free port");
        let url = format!("http://{}", address_of(&listener));
        Backend::listen(listener, url, Wire::new, answer)
    }

    /// On a Unix socket.
    pub fn at(
        path: &Path,
        answer: impl Fn(&mut Call<'_>) -> Then + Send + Sync + 'static,
    ) -> Backend {
        let listener = Socket::new(Domain::UNIX, Type::STREAM, None).expect("a socket");
        listener.bind(&SockAddr::unix(path).expect("a short path")).expect("a free name");
        Backend::listen(listener, format!("unix:{}", path.display()), Wire::new, answer)
    }

    /// Answers everything with 200 and the target as its body.
    pub fn echoing_targets() -> Backend {
        Backend::new(|call| call.ok(call.asked.target()))
    }

    /// Answers everything with 200 and `body`.
    pub fn saying(body: &'static str) -> Backend {
        Backend::new(move |call| call.ok(body))
    }

    /// Answers everything with these bytes.
    pub fn raw(bytes: impl Into<Vec<u8>>, then: Then) -> Backend {
        let bytes = bytes.into();
        Backend::new(move |call| {
            call.send(&bytes);
            then
        })
    }

    fn listen(
        listener: Socket,
        url: String,
        carry: impl Fn(Socket) -> Wire + Send + Sync + 'static,
        answer: impl Fn(&mut Call<'_>) -> Then + Send + Sync + 'static,
    ) -> Backend {
        listener.listen(1024).expect("it can listen");
        let (listener, carry, answer) = (Arc::new(listener), Arc::new(carry), Arc::new(answer));
        let backend = Backend { url, listener: listener.clone(), state: Arc::default() };
        let state = backend.state.clone();
        thread::spawn(move || {
            while let Ok((socket, _)) = listener.accept() {
                let (state, carry, answer) = (state.clone(), carry.clone(), answer.clone());
                let connection = {
                    let mut seen = state.lock();
                    seen.connections += 1;
                    seen.connections - 1
                };
                thread::spawn(move || serve(carry(socket), connection, &state, &*answer));
            }
        });
        backend
    }

    /// What has been asked so far.
    pub fn requests(&self) -> Vec<Asked> {
        self.state.lock().requests.clone()
    }

    /// The targets of what has been asked so far.
    pub fn targets(&self) -> Vec<String> {
        self.state.lock().requests.iter().map(|asked| asked.target().to_owned()).collect()
    }

    /// The only request that has been asked.
    pub fn only(&self) -> Asked {
        let requests = self.requests();
        assert_eq!(requests.len(), 1, "{requests:#?}");
        requests[0].clone()
    }

    /// Waits until so many requests have come.
    pub fn wait_for_requests(&self, count: usize) -> Vec<Asked> {
        self.state.wait(|seen| seen.requests.len() >= count);
        self.requests()
    }

    /// Connections so far.
    pub fn connections(&self) -> usize {
        self.state.lock().connections
    }

    /// Waits until so many of its connections were closed from the other side.
    pub fn wait_for_closed(&self, count: usize) {
        self.state.wait(|seen| seen.left >= count);
    }
}

impl Drop for Backend {
    fn drop(&mut self) {
        // Linux wakes who accepts.
        let _ = self.listener.shutdown(std::net::Shutdown::Both);
    }
}

impl State {
    fn lock(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, change: impl FnOnce(&mut Seen)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    fn wait(&self, condition: impl Fn(&Seen) -> bool) {
        let (seen, waited) = self
            .changed
            .wait_timeout_while(self.lock(), DEADLINE, |seen| !condition(seen))
            .unwrap_or_else(PoisonError::into_inner);
        assert!(!waited.timed_out(), "the backend should have seen more than {seen:#?}");
    }
}

fn serve(
    mut wire: Wire,
    connection: usize,
    state: &State,
    answer: &(dyn Fn(&mut Call<'_>) -> Then + Send + Sync),
) {
    for before in 0.. {
        let Ok(head) = wire.head() else { break };
        let (body, trailers) = match wire.body(&head) {
            Ok(Body { data, trailers }) => (Some(data), trailers),
            Err(_) => (None, String::new()),
        };
        let is_whole = body.is_some();
        let asked = Asked { connection, before, head, body, trailers };
        state.note(|seen| seen.requests.push(asked.clone()));
        if !is_whole {
            break;
        }
        match answer(&mut Call { asked: &asked, wire: &mut wire }) {
            Then::Keep => {}
            Then::Close => return wire.carrier.end(),
            Then::Cut => return,
            Then::Reset => return wire.reset(),
        }
    }
    state.note(|seen| seen.left += 1);
}

impl Call<'_> {
    /// Sends; false if the other side has closed.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.wire.carrier.write_all(bytes.as_ref()).is_ok()
    }

    /// 200 with a body of a known length.
    pub fn ok(&mut self, body: impl AsRef<[u8]>) -> Then {
        self.ok_with("", body)
    }

    /// The same with more lines of the head, each with its CRLF.
    pub fn ok_with(&mut self, fields: &str, body: impl AsRef<[u8]>) -> Then {
        let body = body.as_ref();
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n{fields}\r\n", body.len());
        self.send(head);
        self.send(body);
        Then::Keep
    }

    /// What comes next, as it comes; `None` at the end.
    pub fn some_bytes(&mut self) -> Option<Vec<u8>> {
        self.wire.some_bytes()
    }

    /// Waits until the other side closes its side of the connection.
    pub fn until_closed(&mut self) {
        self.ends_well();
    }

    /// The same, and whether it did so as it should: no reset, and over TLS with the sign of the end.
    pub fn ends_well(&mut self) -> bool {
        loop {
            if let Err(error) = self.wire.fill() {
                return error.get_ref().is_some_and(|why| why.is::<Ended>());
            }
        }
    }
}

/// Lets calls pass one by one, when the test says so.
#[derive(Clone, Debug, Default)]
pub struct Barrier(Arc<(Mutex<usize>, Condvar)>);

impl Barrier {
    /// Lets so many more pass.
    pub fn open(&self, count: usize) {
        let (passes, changed) = &*self.0;
        let mut passes = passes.lock().unwrap_or_else(PoisonError::into_inner);
        *passes = passes.saturating_add(count);
        changed.notify_all();
    }

    /// Whether a call could pass.
    pub fn is_open(&self) -> bool {
        *self.0.0.lock().unwrap_or_else(PoisonError::into_inner) > 0
    }

    /// Waits until it may pass.
    pub fn pass(&self) {
        let (passes, changed) = &*self.0;
        let passes = passes.lock().unwrap_or_else(PoisonError::into_inner);
        let start = Instant::now();
        let (mut passes, _) = changed
            .wait_timeout_while(passes, DEADLINE, |passes| *passes == 0)
            .unwrap_or_else(PoisonError::into_inner);
        assert!(start.elapsed() < DEADLINE, "nobody opened the barrier");
        *passes -= 1;
    }
}

/// A port that refuses connections, for as long as this is kept.
#[derive(Debug)]
pub struct Refusing(Socket);

impl Refusing {
    pub fn new() -> Refusing {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        socket.bind(&loopback().into()).expect("a port");
        Refusing(socket)
    }

    pub fn url(&self) -> String {
        format!("http://{}", address_of(&self.0))
    }
}

/// A port where connections are neither accepted nor refused: its queue is full.
#[derive(Debug)]
pub struct Silent {
    listener: Socket,
    /// What fills the queue.
    _clients: Vec<Socket>,
}

impl Silent {
    pub fn new() -> Silent {
        let listener = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
        listener.bind(&loopback().into()).expect("a port");
        listener.listen(0).expect("it can listen");
        let connect = || {
            let client = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
            client.set_nonblocking(true).expect("a socket that does not wait");
            let begun = client.connect(&address_of(&listener).into());
            let is_under_way = |error: &io::Error| {
                error.raw_os_error() == Some(rustix::io::Errno::INPROGRESS.raw_os_error())
            };
            assert!(begun.as_ref().err().is_none_or(is_under_way), "{begun:?}");
            client
        };
        let _clients = (0..8).map(|_| connect()).collect();
        Silent { listener, _clients }
    }

    pub fn url(&self) -> String {
        format!("http://{}", address_of(&self.listener))
    }

    pub fn port(&self) -> u16 {
        address_of(&self.listener).port()
    }
}

fn loopback() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

fn address_of(socket: &Socket) -> SocketAddr {
    let address = socket.local_addr().expect("it is bound");
    address.as_socket().expect("it is of the Internet")
}
