//! A connection beside another task of its worker.

use std::cell::RefCell;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::*;
use crate::client::Times;
use crate::client::rate::MinRate;
use crate::config::{AccessLog, ProxyProtocol};
use crate::connection::context::{Origin, Service};
use crate::logs::access_log;
use crate::metrics::{Format, Metrics};
use crate::runtime;
use crate::runtime::stop;
use crate::send::SCRATCH;
use crate::sys::clock::DateLine;

const LONG: Duration = Duration::from_secs(600);
const NO_RATE: MinRate = MinRate { bytes_per_second: 0, period: LONG };

fn context(metrics: &Arc<Metrics>) -> Context {
    let access_log = access_log::start(&AccessLog::Off).unwrap();
    Context {
        index: 0,
        service: Service::new(Origin::Builtin),
        proxy: None,
        proxy_protocol: ProxyProtocol::Off,
        refusals: Default::default(),
        uplink: None,
        exempt: Vec::new(),
        metrics: metrics.clone(),
        access_log,
        times: Times { head: LONG, idle: LONG, send: LONG, stop: LONG, rate: NO_RATE },
        stop: stop::channel().1,
        date: DateLine::new(),
        flows: Rc::default(),
        scratch: RefCell::new(vec![0; SCRATCH].into()),
        buffers: Rc::default(),
        deadlines: Rc::default(),
        open: Default::default(),
    }
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
        let connection = run(Rc::new(context(&metrics)), socket, peer);
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
