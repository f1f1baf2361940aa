//! How long a synchronous worker of an application is held by a slow client, beside a fast one: from
//! when it accepts a request until it has written the last byte of its answer.
//! `cargo bench -p weir --bench held` takes about four minutes.

#[path = "../tests/support/mod.rs"]
mod support;

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use support::{Client, DEADLINE, Server, noise};

const ANSWER: usize = 20_000_000;
const UPLOAD: usize = 50_000_000;

/// What slow clients take and send in a second.
const READS: f64 = 1e6;
const SENDS: f64 = 2e6;

const ROUNDS: usize = 5;

/// A worker that does one call at a time, and tells how long each took it.
fn worker() -> (String, mpsc::Receiver<Duration>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("its address"));
    let (tell, told) = mpsc::channel();
    let answer = noise(1, ANSWER);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("the server connects");
            let since = Instant::now();
            serve(&mut stream, &answer).expect("the call goes well");
            // Nobody may be interested any more.
            let _ = tell.send(since.elapsed());
        }
    });
    (url, told)
}

/// Reads one request to its end and answers it.
fn serve(stream: &mut TcpStream, answer: &[u8]) -> io::Result<()> {
    let mut reader = BufReader::with_capacity(65_536, &mut *stream);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        reader.read_line(&mut head)?;
    }
    if head.starts_with("POST") {
        io::copy(&mut reader.take(UPLOAD as u64), &mut io::sink())?;
        return stream.write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
    }
    let length = answer.len();
    let head = format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n");
    stream.write_all(head.as_bytes())?;
    stream.write_all(answer)
}

/// Waits until `bytes` at this rate would have taken longer than `since`.
fn keep_to(rate: f64, bytes: usize, since: Instant) {
    let due = Duration::from_secs_f64(bytes as f64 / rate);
    thread::sleep(due.saturating_sub(since.elapsed()));
}

/// How long an answer holds the worker.
fn answer(server: &Server, told: &mpsc::Receiver<Duration>, slow: bool) -> Duration {
    let mut client = Client::connect(server.address());
    client.ask("/answer");
    client.head();
    let since = Instant::now();
    let done = Arc::new(AtomicBool::new(false));
    let stop = done.clone();
    let reader = thread::spawn(move || {
        let mut bytes = 0;
        while bytes < ANSWER && !(slow && stop.load(Ordering::Relaxed)) {
            let count = 50_000.min(ANSWER - bytes);
            client.read(count);
            bytes += count;
            if slow {
                keep_to(READS, bytes, since);
            }
        }
    });
    let held = told.recv_timeout(2 * DEADLINE).expect("the worker is done");
    done.store(true, Ordering::Relaxed);
    reader.join().expect("the client reads");
    held
}

/// How long an upload holds the worker.
fn upload(server: &Server, told: &mpsc::Receiver<Duration>, slow: bool) -> Duration {
    let mut client = Client::connect(server.address());
    client.send(format!("POST /upload HTTP/1.1\r\nHost: weir\r\nContent-Length: {UPLOAD}\r\n\r\n"));
    let body = noise(2, UPLOAD);
    let (since, mut bytes) = (Instant::now(), 0);
    for piece in body.chunks(50_000) {
        client.send(piece);
        bytes += piece.len();
        if slow {
            keep_to(SENDS, bytes, since);
        }
    }
    assert_eq!(client.response().status, 204);
    told.recv_timeout(DEADLINE).expect("the worker is done")
}

/// Of a few.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn main() {
    let (url, told) = worker();
    let keys = ["", "overflow = \"push-back\"\n"];
    let servers = keys.map(|keys| Server::routed(&[&url], &format!("backend_limit = 1\n{keys}")));
    type Held = fn(&Server, &mpsc::Receiver<Duration>, bool) -> Duration;
    println!("ms, medians of {ROUNDS} rounds (1 with push-back); the ratio is the rounds' own");
    for (what, held) in
        [("a 20 MB answer to 1 MB/s", answer as Held), ("a 50 MB upload of 2 MB/s", upload as Held)]
    {
        for (server, how) in servers.iter().zip(["spill", "push-back"]) {
            let (mut fast, mut slow, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
            // With push-back the slow one holds it for as long as it likes.
            let rounds = if how == "spill" { ROUNDS } else { 1 };
            for _ in 0..rounds {
                fast.push(held(server, &told, false).as_secs_f64() * 1e3);
                slow.push(held(server, &told, true).as_secs_f64() * 1e3);
                ratios.push(slow[slow.len() - 1] / fast[fast.len() - 1]);
            }
            let (fast, slow, ratio) = (median(fast), median(slow), median(ratios));
            println!("{what}, {how}: {slow:.1}, with a fast client {fast:.1}: {ratio:.2} x");
        }
    }
}
