//! How soon weir finds that one of many waiting clients has left: from its `close` until the metrics
//! count it, the time of asking for them included.
//!
//! `cargo run --release -p weir-load --example departure -- SERVER PATH ADMIN CLIENTS`, with a route
//! from PATH to a backend that answers nobody within a minute.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use weir_stats::Samples;

type Failure = Box<dyn std::error::Error>;

/// Departures that are timed.
const DEPARTURES: usize = 500;

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [server, path, admin, clients] = &words[..] else {
        return Err("usage: departure SERVER PATH ADMIN CLIENTS".into());
    };
    let (server, clients): (SocketAddr, usize) = (server.parse()?, clients.parse()?);
    weir_load::check_limits(clients as u64 + 100, 1)?;
    let mut admin = Admin { stream: TcpStream::connect(admin.as_str())?, text: vec![0; 1 << 20] };
    let mut waiting = (0..clients)
        .map(|_| {
            let mut client = TcpStream::connect(server)?;
            write!(client, "GET {path} HTTP/1.1\r\nHost: {server}\r\n\r\n")?;
            Ok(client)
        })
        .collect::<Result<Vec<TcpStream>, Failure>>()?;
    // A few are under way, where departures count otherwise.
    let until = Instant::now() + Duration::from_secs(20);
    while admin.figure("weir_backend_waiting{")? < clients as f64 * 0.99 {
        if Instant::now() > until {
            return Err("the clients do not wait; does the backend answer?".into());
        }
    }
    let gone = |admin: &mut Admin| {
        Ok::<f64, Failure>(
            admin.figure("weir_backend_dead_in_queue_total{")?
                + admin.figure("weir_backend_dead_in_service_total{")?,
        )
    };
    let (mut found, mut asking) = (Vec::new(), Vec::new());
    for turn in 1..=DEPARTURES.min(clients) {
        let before = gone(&mut admin)?;
        let began = Instant::now();
        // From all over the queue; the prime keeps the order far from that of arrival.
        drop(waiting.swap_remove((turn * 7_919) % waiting.len()));
        let mut asked = Instant::now();
        while gone(&mut admin)? == before {
            asked = Instant::now();
        }
        found.push(began.elapsed().as_secs_f64() * 1e6);
        asking.push(asked.elapsed().as_secs_f64() * 1e6);
    }
    for (what, times) in [("found after", found), ("asking took", asking)] {
        let times = Samples::new(times);
        let at = |share| times.percentile(share).unwrap_or(f64::NAN);
        println!("{what}: median {:.0} µs, p99 {:.0} µs", at(0.5), at(0.99));
    }
    Ok(())
}

/// The admin address, on one connection.
struct Admin {
    stream: TcpStream,
    text: Vec<u8>,
}

impl Admin {
    /// The sum of the figures whose lines begin so.
    fn figure(&mut self, name: &str) -> Result<f64, Failure> {
        self.stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: admin\r\n\r\n")?;
        let mut count = 0;
        loop {
            match self.stream.read(&mut self.text[count..])? {
                0 => return Err("the admin address closed the connection".into()),
                more => count += more,
            }
            let text = std::str::from_utf8(&self.text[..count])?;
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
            if body.len() == length.ok_or("no length")?.parse::<usize>()? {
                let lines = body.lines().filter(|line| line.starts_with(name));
                let values = lines.filter_map(|line| line.rsplit(' ').next());
                return Ok(values.filter_map(|value| value.parse::<f64>().ok()).sum());
            }
        }
    }
}
