//! A connection beside another task of its worker, which may replace what it serves.

use std::fs;
use std::future::poll_fn;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::task::coop::has_budget_remaining;
use weir_http::message::FieldChanges;

use super::request_body::H1Body;
use super::with_body::afterwards;
use super::*;
use crate::answer::{AbortOn, Answer};
use crate::body::{self, Space};
use crate::client::Times;
use crate::client::rate::MinRate;
use crate::config::{AccessLog, Config, LogFormat, PortKind, ProxyProtocol, RouteConfig, parse};
use crate::content::Content;
use crate::identity::PeerAddress;
use crate::logs::access_log::{self, LogHandle};
use crate::metrics::{Format, Metrics};
use crate::protocol::Serving;
use crate::protocol::journal::Journal;
use crate::protocol::{OpenConnections, run};
use crate::response::Response;
use crate::runtime::{self, stop};
use crate::send::Outcome;
use crate::service::Service;
use crate::service::proxy::{self, IncomingBody, Pipe, Proxy};
use crate::transport::Socket;

const LONG: Duration = Duration::from_secs(600);
const NO_RATE: MinRate = MinRate { bytes_per_second: 0, period: LONG };

fn context(metrics: &Arc<Metrics>) -> Context {
    let serving = serving(metrics, None);
    Context::new(serving, OpenConnections::new(), metrics.clone(), stop::channel().1)
}

/// The built-in site, or what `routes` say instead.
fn serving(metrics: &Arc<Metrics>, routes: Option<&[RouteConfig]>) -> Serving {
    let times =
        Times { head: LONG, idle: LONG, handshake: LONG, send: LONG, stop: LONG, rate: NO_RATE };
    let space = Space::new(0, 0, None);
    let shared = routes.map(|routes| proxy::Shared::new(routes, space, metrics).unwrap());
    let service = Service::new(Content::builtin(), shared.map(Proxy::new));
    Serving::new(service, LogHandle::default(), metrics, ProxyProtocol::Off, times)
}

/// Where a body may wait in memory.
fn in_memory() -> (body::Limits, body::Account) {
    let account = Space::new(1 << 20, 0, None).account([10, 0, 0, 1].into());
    (body::Limits { memory: 1 << 20, file: 0 }, account)
}

fn answered(metrics: &Metrics) -> usize {
    let text = metrics.text(Format::OpenMetrics);
    let line =
        text.lines().find_map(|line| line.strip_prefix("weir_responses_total{status=\"404\"} "));
    line.map_or(0, |count| count.parse().unwrap())
}

#[test]
fn many_requests_at_once_do_not_keep_the_worker_from_others() {
    const REQUESTS: usize = 1000;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (server, peer) = listener.accept().unwrap();
    server.set_nonblocking(true).unwrap();
    client
        .write_all("GET /none HTTP/1.1\r\nHost: weir\r\n\r\n".repeat(REQUESTS).as_bytes())
        .unwrap();
    client.shutdown(std::net::Shutdown::Write).unwrap();
    let metrics = Arc::new(Metrics::new());
    let before_others = runtime::build(&metrics).unwrap().block_on(async {
        let socket = Socket::new(OwnedFd::from(server));
        let connection = run(Rc::new(context(&metrics)), socket, PortKind::Clear, peer.into());
        let connection = tokio::task::spawn_local(connection);
        let seen = metrics.clone();
        let other = tokio::task::spawn_local(async move { answered(&seen) });
        let before_others = other.await.unwrap();
        // All are answered in the end, and there is somebody to read it.
        let reader = tokio::task::spawn_blocking(move || client.read_to_end(&mut Vec::new()));
        reader.await.unwrap().unwrap();
        connection.await.unwrap();
        before_others
    });
    assert!((1..REQUESTS / 2).contains(&before_others), "{before_others} came first");
    assert_eq!(answered(&metrics), REQUESTS);
}

#[test]
fn an_upload_does_not_keep_the_worker_from_others() {
    let metrics = Arc::new(Metrics::new());
    let (context, serving) = (context(&metrics), serving(&metrics, None));
    let (socket, mut there) = std::os::unix::net::UnixStream::pair().unwrap();
    let socket = Socket::new(OwnedFd::from(socket));
    let client = Client::new(socket.into(), PeerAddress::Unix, context.open.deadlines());
    let head = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 16384\r\n\r\n";
    let (request, _) = request::parse_request(head, &Limits::default()).unwrap().unwrap();
    // Four buffers of it, and all are here.
    there.write_all(&[b'x'; 16384]).unwrap();
    let requester = H1Requester { client: &client, asker: None, version: request.version };
    let mut input = Input::new(context.buffers.clone());
    let mut upload = H1Body::new(requester, &mut input, &request, None, &serving.times).unwrap();
    let (limits, account) = in_memory();
    let pipe = Pipe::new(limits, upload.length(), &account, Arc::default());
    runtime::build(&metrics).unwrap().block_on(async {
        // The turn is over.
        while has_budget_remaining() {
            consume_budget().await;
        }
        let mut reading = pin!(upload.read(&pipe, false));
        let polled = poll_fn(|context| Poll::Ready(reading.as_mut().poll(context))).await;
        assert!(polled.is_pending(), "others come before the rest");
        reading.await.unwrap();
    });
    assert!(upload.has_ended());
}

#[test]
fn what_replaces_the_serving_answers_the_next_request() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (server, peer) = listener.accept().unwrap();
    server.set_nonblocking(true).unwrap();
    let metrics = Arc::new(Metrics::new());
    runtime::build(&metrics).unwrap().block_on(async {
        let context = Rc::new(context(&metrics));
        let socket = Socket::new(OwnedFd::from(server));
        let connection = run(context.clone(), socket, PortKind::Clear, PeerAddress::Ip(peer));
        tokio::task::spawn_local(connection);
        let ask = async || {
            let mut client = client.try_clone().unwrap();
            let asked = tokio::task::spawn_blocking(move || {
                client.write_all(b"HEAD / HTTP/1.1\r\nHost: weir\r\n\r\n").unwrap();
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    let mut byte = [0];
                    client.read_exact(&mut byte).unwrap();
                    head.extend(byte);
                }
                String::from_utf8(head).unwrap()
            });
            asked.await.unwrap()
        };
        assert!(ask().await.starts_with("HTTP/1.1 200 "));
        context.serving.replace(serving(&metrics, Some(&[])));
        assert!(ask().await.starts_with("HTTP/1.1 404 "));
    });
    client.shutdown(std::net::Shutdown::Both).unwrap();
}

#[test]
fn what_nobody_has_admitted_is_not_answered() {
    let text = "[[route]]\npath = \"/\"\nredirect = \"/elsewhere\"\nallow = \"::1\"\n";
    let config = Config::from_settings(parse(text).unwrap()).unwrap();
    let metrics = Arc::new(Metrics::new());
    let (context, serving) = (context(&metrics), serving(&metrics, Some(&config.routes)));
    let (socket, mut there) = std::os::unix::net::UnixStream::pair().unwrap();
    socket.set_nonblocking(true).unwrap();
    let socket = Socket::new(OwnedFd::from(socket));
    let client = Client::new(socket.into(), PeerAddress::Unix, context.open.deadlines());
    let head = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    let (request, _) = request::parse_request(head, &Limits::default()).unwrap().unwrap();
    let to = serving.service.destination(&request);
    assert!(matches!(to, Destination::Guarded(_)));
    let exchanging = Exchanging::of_none(&context, &serving, &client, turn::began());
    let fields = Fields::default();
    let answering = exchanging.answer(None, &request, &fields, to);
    assert_eq!(runtime::build(&metrics).unwrap().block_on(answering), None);
    let mut answer = [0; 12];
    there.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"HTTP/1.1 403");
}

#[test]
fn who_may_be_sending_still_is_read_before_the_connection_closes() {
    let metrics = Arc::new(Metrics::new());
    let (context, serving) = (context(&metrics), serving(&metrics, None));
    let (socket, _there) = std::os::unix::net::UnixStream::pair().unwrap();
    let socket = Socket::new(OwnedFd::from(socket));
    let client = Client::new(socket.into(), PeerAddress::Unix, context.open.deadlines());
    let begun = turn::began();
    let exchanging = Exchanging::of_none(&context, &serving, &client, begun);
    let ended = |head: &str, code: u16, close: bool, outcome| {
        let (request, _) =
            request::parse_request(head.as_bytes(), &Limits::default()).unwrap().unwrap();
        let answer = Answer::error(StatusCode::from_u16(code).unwrap());
        let response = Response { head: Vec::new(), answer: &answer, close };
        exchanging.ended(&request, &response, outcome)
    };
    let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    let post = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n";
    assert_eq!(ended(get, 200, false, Outcome::Complete), None);
    assert_eq!(ended(get, 200, true, Outcome::Complete), Some(End::Answered));
    assert_eq!(ended(post, 200, true, Outcome::Complete), Some(End::Open));
    // A tunnel was no request alone.
    assert_eq!(ended(get, 101, true, Outcome::Complete), Some(End::Open));
    assert_eq!(ended(get, 200, false, Outcome::ClientLeft), Some(End::Broken));
}

#[test]
fn who_ends_its_side_and_is_not_waited_for_has_left_unless_the_server_stops() {
    let directory = tempfile::tempdir().unwrap();
    let head = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    let (request, _) = request::parse_request(head, &Limits::default()).unwrap().unwrap();
    for (stops, ended) in [(false, "client left"), (true, "server stopped")] {
        let metrics = Arc::new(Metrics::new());
        let file = directory.path().join(ended);
        let log = access_log::open(&AccessLog::File(file.clone()), LogFormat::Json).unwrap();
        let journal = Journal::new(metrics.clone(), log.clone());
        let serving = Serving { journal, ..serving(&metrics, None) };
        let (sender, stop) = stop::channel();
        if stops {
            sender.stop();
        }
        let context = Context { stop, ..context(&metrics) };
        let (socket, _there) = std::os::unix::net::UnixStream::pair().unwrap();
        let socket = Socket::new(OwnedFd::from(socket));
        let client = Client::new(socket.into(), PeerAddress::Unix, context.open.deadlines());
        let exchanging = Exchanging::of_none(&context, &serving, &client, turn::began());
        // Its backend neither says anything nor ends.
        let (limits, account) = in_memory();
        let body = Rc::new(body::Reader(body::RelayedBody::new(limits, &account)));
        let mut answer = Answer::coming(body, "text/plain", &FieldChanges::default());
        answer.abort_on = AbortOn::Never;
        let response = Response { head: b"head".to_vec(), answer: &answer, close: true };
        runtime::build(&metrics).unwrap().block_on(async {
            let down = pin!(exchanging.deliver(None, Some(&request), &response));
            assert_eq!(afterwards(&exchanging, down, Duration::ZERO).await, Outcome::ClientLeft);
        });
        let lines = (0..30).find_map(|_| {
            log.finish();
            fs::read_to_string(&file).ok().filter(|lines| !lines.is_empty())
        });
        let lines = lines.expect("a line of the log");
        assert!(lines.contains(ended), "{lines}");
    }
}
