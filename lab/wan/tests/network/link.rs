//! The link between two real namespaces.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::namespaces::{Namespaces, run, within};
use weir_wan::{Class, Counts, Direction, Loss, Losses, Options, Wan};

const PATIENCE: Duration = Duration::from_secs(30);

fn options(loss: Loss, rate: Option<u64>, queue: usize, delay_ms: u64) -> Options {
    let direction = Direction { loss, rate, queue };
    let class = |network: &str, delay_ms| Class {
        network: network.parse().expect("an address"),
        prefix: 24,
        delay: Duration::from_millis(delay_ms),
    };
    Options {
        down: direction.clone(),
        up: direction,
        classes: vec![class("10.77.0.0", delay_ms)],
        seed: 7,
    }
}

fn perfect() -> Options {
    options(Loss::None, None, 0, 0)
}

/// Wait for a condition on what the link did.
fn until(wan: &Wan, what: &str, condition: impl Fn(&weir_wan::Statistics) -> bool) {
    let start = Instant::now();
    while !condition(&wan.stats()) {
        assert!(start.elapsed() < PATIENCE, "{what} never came: {}", wan.stats());
        std::thread::yield_now();
    }
}

fn adds_up(counts: &Counts) {
    let Counts { packets_in, packets_out, lost, dropped, refused, underway, .. } = *counts;
    assert_eq!(packets_in, packets_out + lost + dropped + refused + underway, "{counts:?}");
    assert!(counts.bytes_out <= counts.bytes_in, "{counts:?}");
    assert_eq!(counts.overrun, 0, "{counts:?}");
}

/// Bytes that show when any is missing, doubled or out of place.
fn pattern(length: usize) -> Vec<u8> {
    let mut state = 1u32;
    let step = |_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    };
    (0..length).map(step).collect()
}

/// Send this from the server to a client over TCP; what he got.
fn transfer(namespaces: &Namespaces, content: &[u8]) -> Vec<u8> {
    let listener = within(&namespaces.left, || TcpListener::bind("10.77.0.1:80")).expect("a port");
    let connect = || TcpStream::connect("10.77.0.1:80");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let (mut stream, _) = listener.accept().expect("a client");
            stream.write_all(content).expect("it is sent");
            stream.shutdown(Shutdown::Write).expect("it ends");
        });
        let mut stream = within(&namespaces.right, connect).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
        let mut got = Vec::new();
        stream.read_to_end(&mut got).expect("all of it");
        got
    })
}

#[test]
fn tcp_arrives_whole_through_delay_and_loss() {
    for mtu in [1500, 576] {
        let namespaces = Namespaces::make();
        let loss = Loss::Bursts { probability: 0.03, length: 2.0 };
        let wan = namespaces.link(mtu, &options(loss, Some(50_000_000), 100, 2));
        let content = pattern(1_000_000);
        assert!(transfer(&namespaces, &content) == content, "the content changed");
        let statistics = wan.stop().unwrap();
        adds_up(&statistics.down);
        adds_up(&statistics.up);
        let down = statistics.down;
        assert!(down.lost > 0 && statistics.up.lost > 0, "{statistics}");
        assert!(down.packets_in as usize >= content.len() / (mtu as usize - 40), "{statistics}");
        assert!(down.bytes_in <= down.packets_in * u64::from(mtu), "{statistics}");
    }
}

/// Send numbered datagrams from the server to a client; the numbers that arrived.
fn numbers_that_arrive(options: &Options, count: u32) -> Vec<u32> {
    let namespaces = Namespaces::make();
    let wan = namespaces.link(1500, options);
    let bind = |address: &str| UdpSocket::bind((address, 9000)).expect("a port");
    let from = within(&namespaces.left, || bind("10.77.0.1"));
    let to = within(&namespaces.right, || bind("10.77.0.2"));
    to.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let mut got = Vec::new();
    for number in 0..count {
        from.send_to(&number.to_be_bytes(), "10.77.0.2:9000").expect("it is sent");
        // One by one, so that no queue of the kernel overflows.
        let sent = u64::from(number) + 1;
        until(&wan, "the packet", |s| s.down.packets_in == sent && s.down.underway == 0);
    }
    let statistics = wan.stop().expect("no failure");
    adds_up(&statistics.down);
    assert_eq!(statistics.down.packets_in, u64::from(count));
    assert_eq!(statistics.down.bytes_in, u64::from(count) * 32);
    for _ in 0..statistics.down.packets_out {
        let mut bytes = [0; 4];
        assert_eq!(to.recv(&mut bytes).expect("the next one"), 4);
        got.push(u32::from_be_bytes(bytes));
    }
    got
}

#[test]
fn the_seed_decides_which_packets_are_lost() {
    for loss in [Loss::Random(0.2), Loss::Bursts { probability: 0.2, length: 3.0 }] {
        let mut losses = Losses::new(loss, 7, 0).unwrap();
        let expected: Vec<u32> = (0..300).filter(|_| !losses.next_is_lost()).collect();
        let options = options(loss, None, 0, 0);
        assert_eq!(numbers_that_arrive(&options, 300), expected);
        assert_eq!(numbers_that_arrive(&options, 300), expected);
        let another = Options { seed: 8, ..options };
        assert_ne!(numbers_that_arrive(&another, 300), expected);
    }
}

/// Time from sending a datagram at a client to having its echo.
fn round_trip(namespaces: &Namespaces, client: &str) -> Duration {
    let server = within(&namespaces.left, || UdpSocket::bind("10.77.0.1:9000")).expect("a port");
    let socket = within(&namespaces.right, || UdpSocket::bind((client, 9000))).expect("a port");
    for socket in [&server, &socket] {
        socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    }
    let start = Instant::now();
    socket.send_to(b"?", "10.77.0.1:9000").expect("it is sent");
    let mut byte = [0];
    let (_, from) = server.recv_from(&mut byte).expect("it arrives");
    server.send_to(b"!", from).expect("it is sent");
    socket.recv(&mut byte).expect("the echo");
    start.elapsed()
}

#[test]
fn each_class_of_clients_has_its_delay() {
    let namespaces = Namespaces::make();
    let wan = namespaces.link(1500, &options(Loss::None, None, 0, 100));
    assert!(round_trip(&namespaces, "10.77.0.2") >= Duration::from_millis(200));
    drop(wan);
    // Of no class: were it of one, the test would lose its patience.
    let _wan = namespaces.link(1500, &options(Loss::None, None, 0, 1_000_000));
    round_trip(&namespaces, "10.0.2.1");
}

#[test]
fn a_full_queue_drops() {
    let namespaces = Namespaces::make();
    // A packet takes 100 s, so only the first and ten that wait are accepted.
    let wan = namespaces.link(1500, &options(Loss::None, Some(4), 10, 0));
    let from = within(&namespaces.left, || UdpSocket::bind("10.77.0.1:9000")).unwrap();
    for _ in 0..50 {
        from.send_to(&[0; 8], "10.77.0.2:9000").unwrap();
    }
    until(&wan, "all packets", |s| s.down.packets_in == 50);
    let down = wan.stop().unwrap().down;
    adds_up(&down);
    let seen = (down.packets_out, down.underway, down.dropped, down.most_queued);
    assert_eq!(seen, (0, 11, 39, 10));
}

#[test]
fn htb_on_the_device_limits_the_rate() {
    let namespaces = Namespaces::make();
    let wan = namespaces.link(1500, &perfect());
    let tc = format!("tc -n {}", namespaces.left);
    run(&format!("{tc} qdisc add dev wan root handle 1: htb default 1"));
    run(&format!(
        "{tc} class add dev wan parent 1: classid 1:1 htb rate 10mbit ceil 10mbit \
         burst 1600 cburst 1600 quantum 1514 overhead 14"
    ));
    run(&format!("{tc} qdisc add dev wan parent 1:1 handle 10: pfifo limit 100"));
    let content = pattern(500_000);
    let start = Instant::now();
    assert!(transfer(&namespaces, &content) == content, "the content changed");
    let seconds = start.elapsed().as_secs_f64();
    // The rate is a floor on the time, whatever the machine does.
    let least = content.len() as f64 * (1514.0 / 1448.0) * 8.0 / 10e6;
    assert!(seconds >= least * 0.97, "{seconds} s, at least {least} expected");
    let sent = run(&format!("{tc} -s qdisc show dev wan"));
    let down = wan.stop().unwrap().down;
    adds_up(&down);
    // Whatever HTB sent came to the link.
    assert!(sent.contains(&format!(" {} pkt", down.packets_in)), "{sent}\n{down}");
}

#[test]
fn the_devices_vanish_with_the_link() {
    let namespaces = Namespaces::make();
    let wan = namespaces.link(1500, &perfect());
    let devices = || run(&format!("ip -n {} -d -o link show", namespaces.left));
    assert!(devices().contains("wan") && devices().contains("qlen 1000"), "{}", devices());
    // What waits in a queue of the device is packets of at most the MTU.
    let wan_alone = run(&format!("ip -n {} -d -o link show dev wan", namespaces.left));
    assert!(wan_alone.contains("gso_max_segs 1 "), "{wan_alone}");
    // The name is taken.
    let (left, right) = namespaces.ends(1500);
    let error = Wan::start(&left, &right, &perfect()).unwrap_err().to_string();
    assert!(error.contains("wan") && error.contains("exists"), "{error}");
    drop(wan);
    assert!(!devices().contains("wan"), "{}", devices());
    // Half a link is none.
    let nowhere = weir_wan::End { namespace: "ww-nowhere".into(), ..right };
    let error = Wan::start(&left, &nowhere, &perfect()).unwrap_err().to_string();
    assert!(error.contains("ip netns add ww-nowhere"), "{error}");
    assert!(!devices().contains("wan"), "{}", devices());
    assert!(Path::new("/run/netns").join(&namespaces.left).exists());
}

#[test]
fn a_device_that_is_taken_away_is_an_error() {
    let namespaces = Namespaces::make();
    let wan = namespaces.link(1500, &perfect());
    run(&format!("ip -n {} link del wan", namespaces.right));
    let start = Instant::now();
    while !wan.has_failed() {
        assert!(start.elapsed() < PATIENCE, "the link did not notice");
        std::thread::yield_now();
    }
    let error = wan.stop().unwrap_err().to_string();
    assert!(error.contains(&format!("wan in {}", namespaces.right)), "{error}");
}

#[test]
fn ipv6_passes() {
    let namespaces = Namespaces::make();
    let (mut left, mut right) = namespaces.ends(1500);
    left.addresses.push("fd77::1/64".into());
    right.addresses.push("fd77::2/64".into());
    let _wan = Wan::start(&left, &right, &perfect()).unwrap();
    let from = within(&namespaces.left, || UdpSocket::bind("[fd77::1]:9000")).unwrap();
    let to = within(&namespaces.right, || UdpSocket::bind("[fd77::2]:9000")).unwrap();
    to.set_read_timeout(Some(PATIENCE)).unwrap();
    from.send_to(b"six", "[fd77::2]:9000").unwrap();
    let mut bytes = [0; 4];
    assert_eq!(to.recv(&mut bytes).unwrap(), 3);
}
