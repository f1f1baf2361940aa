//! A server that does what a test tells it, and what the tests of runs share.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Barrier, Mutex};

use rustls::{ServerConfig, ServerConnection, StreamOwned};
use weir_load::{Body, Demand, Live, Plan, Report, run};
use weir_stats::{Outcome, Record};
use weir_workload::Request;

/// What the server does about one request.
pub(crate) enum Act {
    /// Send these bytes, and wait for the next request.
    Send(Vec<u8>),
    /// Send these bytes and close.
    SendAndClose(Vec<u8>),
    /// Wait until so many requests wait as this barrier says; then send these bytes.
    Meet(Arc<Barrier>, Vec<u8>),
    /// Send these bytes and close without TLS's last word, as somebody who cuts the connection would.
    SendAndCut(Vec<u8>),
    /// Reset the connection.
    Reset,
    /// Neither answer nor close before the client does.
    Stall,
}

/// One request as the server saw it.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// Connections are counted from 0 as they are accepted.
    pub(crate) connection: usize,
    /// Requests of the connection before it.
    pub(crate) before: usize,
    pub(crate) from: IpAddr,
    /// The head.
    pub(crate) text: String,
    /// All requests before it.
    pub(crate) total: usize,
}

/// The server; it lasts as long as the test's process.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl Server {
    pub(crate) fn start(act: impl Fn(&Seen) -> Act + Send + Sync + 'static) -> Server {
        Server::start_with(None, act)
    }

    /// The same through TLS.
    pub(crate) fn start_tls(
        config: ServerConfig,
        act: impl Fn(&Seen) -> Act + Send + Sync + 'static,
    ) -> Server {
        Server::start_with(Some(config.into()), act)
    }

    fn start_with(
        tls: Option<Arc<ServerConfig>>,
        act: impl Fn(&Seen) -> Act + Send + Sync + 'static,
    ) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (act, shared) = (Arc::new(act), Arc::clone(&seen));
        std::thread::spawn(move || {
            for (connection, stream) in listener.incoming().flatten().enumerate() {
                let (act, seen, tls) = (Arc::clone(&act), Arc::clone(&shared), tls.clone());
                std::thread::spawn(move || {
                    let socket = stream.try_clone().expect("a descriptor");
                    match tls.map(|tls| ServerConnection::new(tls).expect("a good configuration")) {
                        None => serve(stream, &socket, connection, &*act, &seen),
                        Some(tls) => {
                            let stream = StreamOwned::new(tls, stream);
                            serve(stream, &socket, connection, &*act, &seen);
                        }
                    }
                });
            }
        });
        Server { address, seen }
    }

    /// Requests so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("no test panics in it").clone()
    }
}

/// A connection, in clear text or through TLS.
trait Stream: Read + Write {
    /// Say that nothing more comes.
    fn end(&mut self);
}

impl Stream for TcpStream {
    fn end(&mut self) {}
}

impl Stream for StreamOwned<ServerConnection, TcpStream> {
    fn end(&mut self) {
        self.conn.send_close_notify();
        let _ = self.flush();
    }
}

fn serve(
    mut stream: impl Stream,
    socket: &TcpStream,
    connection: usize,
    act: &dyn Fn(&Seen) -> Act,
    seen: &Mutex<Vec<Seen>>,
) {
    let from = socket.peer_addr().map_or(IpAddr::from([0; 4]), |address| address.ip());
    for before in 0.. {
        let Some(text) = head(&mut stream) else { return };
        let request = {
            let mut seen = seen.lock().expect("no test panics in it");
            let request = Seen { connection, before, from, text, total: seen.len() };
            seen.push(request.clone());
            request
        };
        match act(&request) {
            Act::Send(bytes) => drop(stream.write_all(&bytes)),
            Act::Meet(barrier, bytes) => {
                barrier.wait();
                drop(stream.write_all(&bytes));
            }
            Act::SendAndClose(bytes) => {
                let _ = stream.write_all(&bytes);
                return stream.end();
            }
            Act::SendAndCut(bytes) => {
                let _ = stream.write_all(&bytes);
                return drop(stream.flush());
            }
            Act::Reset => {
                let none = Some(std::time::Duration::ZERO);
                socket2::SockRef::from(socket).set_linger(none).expect("an option of Linux");
                return;
            }
            Act::Stall => drop(stream.read_to_end(&mut Vec::new())),
        }
        // A deaf server does not hear that it should close, and would see a request too many.
        let deaf = request.text.starts_with("GET /deaf");
        if request.text.contains("Connection: close") && !deaf {
            return stream.end();
        }
    }
}

/// Read a request; `None` when the client has closed.
fn head(stream: &mut impl Stream) -> Option<String> {
    let mut text = Vec::new();
    let mut buffer = [0; 4096];
    while !text.ends_with(b"\r\n\r\n") {
        let count = stream.read(&mut buffer).ok().filter(|count| *count > 0)?;
        text.extend_from_slice(&buffer[..count]);
    }
    String::from_utf8(text).ok()
}

/// A complete response with `size` bytes of [`bytes`].
pub(crate) fn answer(size: usize) -> Vec<u8> {
    let mut text = format!("HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n").into_bytes();
    text.extend_from_slice(&bytes(size));
    text
}

/// What bodies consist of.
pub(crate) fn bytes(size: usize) -> Vec<u8> {
    (0..size).map(|index| (index % 251) as u8).collect()
}

/// One connection per request, nobody gives up, bodies are compared.
pub(crate) fn plan(server: SocketAddr) -> Plan {
    Plan {
        server,
        host: server.to_string(),
        headers: String::new(),
        tls: None,
        sources: Vec::new(),
        requests_per_connection: 1,
        abort_after: None,
        retries: 0,
        drain: 20.0,
        duration: None,
        slow_readers: None,
        body: Body::Prefix(bytes(2_000_000).into()),
        spin: false,
    }
}

pub(crate) fn request(at: f64, path: &str, size: u64) -> Request {
    Request { at, client: 0, class: 0, path: path.into(), size: Some(size) }
}

/// `count` requests for 4 bytes, all at time zero.
pub(crate) fn requests(count: usize) -> Vec<Request> {
    vec![request(0.0, "/", 4); count]
}

/// Run to the end.
pub(crate) fn play(plan: &Plan, demand: Demand) -> (Report, Vec<Record>) {
    let mut records = Vec::new();
    let report = run(plan, demand, &Live::default(), &mut |record| records.push(record));
    (report.expect("a run"), records)
}

/// Run an open workload to the end.
pub(crate) fn open(plan: &Plan, requests: Vec<Request>) -> (Report, Vec<Record>) {
    play(plan, Demand::Open(Box::new(requests.into_iter())))
}

/// Run requests one after the other.
pub(crate) fn one_by_one(plan: &Plan, requests: Vec<Request>) -> (Report, Vec<Record>) {
    play(plan, Demand::Saturate(Box::new(requests.into_iter()), 1))
}

/// How many records ended so.
pub(crate) fn count(records: &[Record], outcome: Outcome) -> usize {
    records.iter().filter(|record| record.outcome == outcome).count()
}
