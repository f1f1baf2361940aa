//! Measures the generator itself: requests per second of its thread, how punctual it starts and reads,
//! and whether its memory stays flat. Against a server of your own, or a trivial one in a second
//! process on the loopback interface.
//!
//! `cargo run --release -p weir-load --example bars -- WHAT [ADDRESS PATH SIZE]`, where WHAT is
//!
//! - `rate`: 64 requests under way on connections that stay,
//! - `churn`: the same with a connection for each request,
//! - `lag`: 20,000 requests a second on connections that stay,
//! - `sleep`: the same with a timer instead of spinning,
//! - `close`: 5,000 requests a second with a connection for each,
//! - `memory`: as `lag`, a million requests.

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::process::{Command, Stdio};
use std::sync::Arc;

use rustix::event::epoll;
use weir_load::{Body, Demand, Live, Plan, run};
use weir_stats::{Outcome, Record};
use weir_workload::Request;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<&str>>()[..] {
        ["serve"] => serve(),
        [what, address, path, size] => measure(what, address.parse()?, path, size.parse()?),
        [what] => {
            let mut server = Command::new(std::env::current_exe()?)
                .arg("serve")
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()?;
            let mut line = [0; 6];
            server.stdout.as_mut().ok_or("no output of the server")?.read_exact(&mut line)?;
            let port: u16 = std::str::from_utf8(&line)?.trim().parse()?;
            let result = measure(what, SocketAddr::from(([127, 0, 0, 1], port)), "/", 1024);
            server.kill()?;
            server.wait()?;
            result
        }
        _ => Err("usage: bars rate|churn|lag|sleep|close|memory [ADDRESS PATH SIZE]".into()),
    }
}

/// What a measurement asks for.
struct Load {
    /// Requests per second; 0 keeps 64 under way instead.
    rate: f64,
    count: u32,
    per_connection: u32,
}

fn measure(what: &str, server: SocketAddr, path: &str, size: u64) -> Result<(), Failure> {
    let load = match what {
        "rate" => Load { rate: 0.0, count: 1_000_000, per_connection: u32::MAX },
        "churn" => Load { rate: 0.0, count: 200_000, per_connection: 1 },
        "lag" | "sleep" => Load { rate: 20_000.0, count: 200_000, per_connection: u32::MAX },
        "close" => Load { rate: 5_000.0, count: 50_000, per_connection: 1 },
        "memory" => Load { rate: 20_000.0, count: 1_000_000, per_connection: u32::MAX },
        _ => return Err(format!("no measurement is called {what}").into()),
    };
    let plan = Plan {
        server,
        host: server.to_string(),
        headers: String::new(),
        tls: None,
        sources: Vec::new(),
        requests_per_connection: load.per_connection,
        abort_after: Some(10.0),
        retries: 0,
        drain: 5.0,
        duration: None,
        slow_readers: None,
        body: Body::Any,
        spin: what != "sleep",
    };
    let path: Arc<str> = path.into();
    let mut state = 1_u64;
    let mut at = 0.0;
    let rate = load.rate;
    let requests = (0..load.count).map(move |client| {
        // Poisson arrivals, by xorshift (Marsaglia 2003).
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let uniform = ((state >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
        at += if rate > 0.0 { -uniform.ln() / rate } else { 0.0 };
        Request { at, client, class: 0, path: Arc::clone(&path), size: Some(size) }
    });
    let demand = match rate > 0.0 {
        true => Demand::Open(Box::new(requests)),
        false => Demand::Saturate(Box::new(requests), 64),
    };
    let mut outcomes = HashMap::<Outcome, u32>::new();
    let mut memory = Vec::new();
    let mut ended = 0_u32;
    let report = run(&plan, demand, &Live::default(), &mut |record: Record| {
        *outcomes.entry(record.outcome).or_default() += 1;
        ended += 1;
        if ended.is_multiple_of(load.count / 5) {
            memory.push(resident_kib().unwrap_or(0));
        }
    })?;
    let count = f64::from(load.count);
    println!("{what}: {} requests, outcomes {outcomes:?}", load.count);
    println!("  {:.0} requests/s over {:.2} s", count / report.duration, report.duration);
    println!("  {:.2} us of processor time each", report.processor_seconds / count * 1e6);
    let [half, p99, p999, most] = report.lag.map(|lag| lag * 1e6);
    println!("  lag: median {half:.1}, p99 {p99:.1}, p99.9 {p999:.1}, most {most:.1} us");
    let [half, p99, p999, most] = report.read_lag.map(|lag| lag * 1e6);
    println!("  read lag: median {half:.1}, p99 {p99:.1}, p99.9 {p999:.1}, most {most:.1} us");
    println!("  {} connections, {} at most at once", report.connections, report.most_open);
    println!("  steal {:.2} %, idle {:.1} %", report.steal * 100.0, report.idle * 100.0);
    println!("  resident at each fifth of the run: {memory:?} KiB");
    Ok(())
}

fn resident_kib() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Answers whatever is asked with 1 KB, as fast as one thread can; ends with its parent.
fn serve() -> Result<(), Failure> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{:>5}", listener.local_addr()?.port());
    listener.set_nonblocking(true)?;
    let mut answer = b"HTTP/1.1 200 OK\r\nContent-Length: 1024\r\n\r\n".to_vec();
    answer.resize(answer.len() + 1024, b'x');
    let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let data = epoll::EventData::new_u64(0);
    epoll::add(&poll, &listener, data, epoll::EventFlags::IN)?;
    let mut streams = HashMap::new();
    let mut made = 0;
    let mut buffer = [0; 4096];
    let mut events = Vec::with_capacity(256);
    loop {
        events.clear();
        epoll::wait(&poll, rustix::buffer::spare_capacity(&mut events), None)?;
        for event in &events {
            let key = event.data.u64();
            if key == 0 {
                while let Ok((stream, _)) = listener.accept() {
                    stream.set_nonblocking(true)?;
                    made += 1;
                    let data = epoll::EventData::new_u64(made);
                    epoll::add(&poll, &stream, data, epoll::EventFlags::IN)?;
                    streams.insert(made, stream);
                }
                continue;
            }
            let Some(stream) = streams.get_mut(&key) else { continue };
            let count = stream.read(&mut buffer).unwrap_or(0);
            let last = buffer[..count].windows(17).any(|part| part == b"Connection: close");
            if count == 0 || stream.write_all(&answer).is_err() || last {
                streams.remove(&key);
            }
        }
    }
}
