//! How many packets a second the link moves and what one costs, and how exact its delay is, between
//! two namespaces of its own. Needs root. `cargo bench -p weir-wan --bench link`

#[path = "../tests/network/namespaces.rs"]
mod namespaces;

use std::fs;
use std::net::UdpSocket;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use namespaces::{Namespaces, run, within};
use weir_wan::{Class, Direction, Options};

const SECONDS: u64 = 5;
const SERVER: &str = "10.77.0.1:9000";
const CLIENT: &str = "10.77.0.2:9000";
/// Headers of IPv4 and UDP.
const HEADERS: usize = 28;

fn main() {
    println!("{SECONDS} s each; processor time is that of the link's thread");
    let before = ticks();
    println!("\npackets a second, down        sent/s     out/s   overrun  us/packet  core");
    for (bytes, rate) in [(64, Some(100_000)), (1500, Some(100_000)), (64, None), (1500, None)] {
        flood(bytes, rate, 0);
    }
    flood(1500, Some(100_000), 50);
    println!("\nround trip less 2 x delay, ms    p50     p90     p99   p99.9     max  late");
    for (delay, beside) in [(0, None), (50, None), (50, Some(20_000))] {
        delays(Some(delay), beside);
    }
    delays(None, None);
    let after = ticks();
    let share = |ticks: u64| 100.0 * ticks as f64 / (after.0 - before.0).max(1) as f64;
    println!("\nThe hypervisor took {:.1} % of the processors.", share(after.1 - before.1));
}

/// All processor time so far, and what the hypervisor took of it.
fn ticks() -> (u64, u64) {
    let text = fs::read_to_string("/proc/stat").expect("procfs");
    let words = text.lines().next().into_iter().flat_map(str::split_whitespace);
    let ticks: Vec<u64> = words.skip(1).take(8).map_while(|word| word.parse().ok()).collect();
    (ticks.iter().sum(), ticks[7])
}

fn options(delay_ms: u64) -> Options {
    let class = Class {
        network: [10, 77, 0, 0].into(),
        prefix: 24,
        delay: Duration::from_millis(delay_ms),
    };
    let (down, up) = (Direction::default(), Direction::default());
    Options { down, up, classes: vec![class], seed: 1 }
}

/// Sockets of server and client, connected to each other.
fn sockets(namespaces: &Namespaces) -> (UdpSocket, UdpSocket) {
    let make = |own: &str, other: &str| {
        let socket = UdpSocket::bind(own).expect("a port");
        socket.connect(other).expect("an address");
        socket.set_read_timeout(Some(Duration::from_millis(200))).expect("a timeout");
        socket
    };
    let server = within(&namespaces.left, || make(SERVER, CLIENT));
    (server, within(&namespaces.right, || make(CLIENT, SERVER)))
}

/// Send packets of this length at this rate, or as fast as it goes; the client reads them.
fn flood(bytes: usize, rate: Option<u32>, delay_ms: u64) {
    let namespaces = Namespaces::make();
    let wan = namespaces.link(1500, &options(delay_ms));
    let (server, client) = sockets(&namespaces);
    let (before, start) = (processor_time(), Instant::now());
    let over = AtomicBool::new(false);
    let sent = std::thread::scope(|scope| {
        scope.spawn(|| while client.recv(&mut [0; 2048]).is_ok() {});
        let sent = send(&server, bytes - HEADERS, rate, &over);
        over.store(true, Ordering::Relaxed);
        sent
    });
    // The link is idle by now: its reader waited for 200 ms.
    let seconds = SECONDS as f64;
    let time = processor_time() - before;
    let down = wan.stop().expect("no failure").down;
    let offered = rate.map_or("all".into(), |rate| rate.to_string());
    println!(
        "{bytes:>5} bytes, {offered:>6}, {delay_ms:>2} ms {:>9.0} {:>9.0} {:>9} {:>10.2} {:>5.2}",
        sent as f64 / seconds,
        down.packets_out as f64 / seconds,
        down.overrun,
        time.as_secs_f64() * 1e6 / down.packets_out as f64,
        time.as_secs_f64() / start.elapsed().as_secs_f64().min(seconds),
    );
}

/// Send at a rate (spinning) until the time is over or someone says so.
fn send(socket: &UdpSocket, payload: usize, rate: Option<u32>, over: &AtomicBool) -> u64 {
    let content = vec![0; payload];
    let start = Instant::now();
    let mut sent = 0;
    while start.elapsed().as_secs() < SECONDS && !over.load(Ordering::Relaxed) {
        let due =
            rate.map_or(u64::MAX, |rate| (start.elapsed().as_secs_f64() * f64::from(rate)) as u64);
        // A full device or a closed port is an answer to an earlier packet.
        if sent < due && socket.send(&content).is_ok() {
            sent += 1;
        }
    }
    sent
}

/// Ping 1000 times a second through the link, or through veth; beside a flood, if one is given.
fn delays(delay_ms: Option<u64>, beside: Option<u32>) {
    let namespaces = Namespaces::make();
    let wan = delay_ms.map(|delay| namespaces.link(1500, &options(delay)));
    if wan.is_none() {
        veth(&namespaces);
    }
    let delay = Duration::from_millis(delay_ms.unwrap_or_default());
    let (server, client) = sockets(&namespaces);
    let flooder = within(&namespaces.left, || UdpSocket::bind("10.77.0.1:0")).expect("a port");
    flooder.connect("10.77.0.2:9").expect("an address");
    let over = AtomicBool::new(false);
    let start = Instant::now();
    let mut times: Vec<f64> = std::thread::scope(|scope| {
        scope.spawn(|| {
            go_first();
            let mut ping = [0; 8];
            while !over.load(Ordering::Relaxed) {
                if let Ok(length) = server.recv(&mut ping) {
                    let _ = server.send(&ping[..length]);
                }
            }
        });
        scope.spawn(|| {
            go_first();
            let every = Duration::from_millis(1);
            let mut next = start + every;
            while start.elapsed().as_secs() < SECONDS {
                std::thread::sleep(next.saturating_duration_since(Instant::now()));
                next += every;
                let now = start.elapsed().as_nanos() as u64;
                client.send(&now.to_ne_bytes()).expect("it is sent");
            }
        });
        if let Some(rate) = beside {
            let (flooder, over) = (&flooder, &over);
            scope.spawn(move || send(flooder, 1000, Some(rate), over));
        }
        let receiver = scope.spawn(|| {
            go_first();
            let mut times = Vec::new();
            let mut pong = [0; 8];
            while client.recv(&mut pong).is_ok() {
                let sent = Duration::from_nanos(u64::from_ne_bytes(pong));
                let took = start.elapsed() - sent;
                times.push((took.as_secs_f64() - 2.0 * delay.as_secs_f64()) * 1e3);
            }
            times
        });
        let times = receiver.join().expect("no panic");
        over.store(true, Ordering::Relaxed);
        times
    });
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    let name = delay_ms.map_or("veth".into(), |delay| format!("{delay} ms"));
    let beside = beside.map_or(String::new(), |rate| format!(", {rate}/s beside"));
    let late = wan.map_or(0, |wan| {
        let statistics = wan.stop().expect("no failure");
        statistics.down.late + statistics.up.late
    });
    println!(
        "{:<26} {:>9.3} {:>7.3} {:>7.3} {:>7.3} {:>7.3} {late:>5}",
        format!("{name}{beside}"),
        at(0.5),
        at(0.9),
        at(0.99),
        at(0.999),
        at(1.0)
    );
}

fn veth(namespaces: &Namespaces) {
    let Namespaces { left, right } = namespaces;
    run(&format!("ip link add wan netns {left} type veth peer name wan netns {right}"));
    for (namespace, address) in [(left, "10.77.0.1/24"), (right, "10.77.0.2/24")] {
        run(&format!("ip -n {namespace} addr add {address} dev wan"));
        run(&format!("ip -n {namespace} link set wan up"));
    }
}

/// The threads that measure are to be in time, too.
fn go_first() {
    let thread = rustix::thread::gettid().as_raw_nonzero().to_string();
    let _ = Command::new("chrt").args(["--rr", "-p", "1", &thread]).output();
}

/// Processor time of the link's thread so far.
fn processor_time() -> Duration {
    let threads = fs::read_dir("/proc/self/task").expect("procfs");
    let ours = threads.flatten().map(|entry| entry.path()).find(|path| {
        fs::read_to_string(path.join("comm")).is_ok_and(|name| name.trim() == "weir-wan")
    });
    let path = ours.expect("the link's thread").join("schedstat");
    let text = fs::read_to_string(path).expect("schedstat");
    let nanoseconds = text.split_whitespace().next().and_then(|word| word.parse().ok());
    Duration::from_nanos(nanoseconds.expect("nanoseconds"))
}
