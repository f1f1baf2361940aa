//! Shows that in kernel mode responses go through the band of what they have left, that the kernel's queue
//! is kept short, and what is told when bands are missing. The tests need root: they make network
//! namespaces and queues.

use std::io::Read;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use serde_json::Value;
use socket2::{Domain, Socket, Type};
use tempfile::TempDir;

use crate::support::link::Link;
use crate::support::{Backend, Barrier, Client, Server, Then, eventually, output_of};

const DEVICE: &str = Link::DEVICE;

/// A link with bands at its near end, where servers are; clients are at the far end.
struct Bench {
    link: Link,
    /// Where the state of the bands is kept.
    state: TempDir,
}

impl Bench {
    /// Runs `test` at the far end.
    fn run(rate: &str, test: impl FnOnce(&Bench) + Send) {
        let bench = Bench { link: Link::make(), state: tempfile::tempdir().expect("a directory") };
        bench.make_bands(rate);
        let link = &bench.link;
        link.at_far(|| test(&bench));
    }

    fn make_bands(&self, rate: &str) {
        let mut install = self.link.near_weir(&["uplink", "install", DEVICE, "--rate", rate]);
        install.arg("--state").arg(self.state.path());
        output_of(install);
    }

    /// A server at the near end, with `flags` added.
    fn serve(&self, flags: &[&str]) -> Server {
        let address = format!("{}:0", Link::NEAR);
        let own = ["--uplink", "kernel", "--listen", &address, "--admin", &address];
        Server::launch(self.link.near_weir(&["serve"]), &[&own[..], flags].concat())
    }

    /// What each band has sent, in `unit`: bytes or packets.
    fn sent(&self, unit: &str) -> Vec<u64> {
        self.counters(unit)
    }

    /// Packets that wait in each band.
    fn waiting(&self) -> Vec<u64> {
        self.counters("waiting_packets")
    }

    /// The figure `name` of each band.
    fn counters(&self, name: &str) -> Vec<u64> {
        let show = self.link.near_weir(&["uplink", "show", DEVICE, "--json"]);
        let shown: Value = serde_json::from_str(&output_of(show)).expect("JSON");
        let bands = shown["bands"].as_array().expect("bands");
        bands.iter().map(|band| band[name].as_u64().expect("a number")).collect()
    }

    /// Does `work` while packets of the first band keep those of all others in this host.
    fn starving_others(&self, work: impl FnOnce()) {
        let sender = self.link.at_near(|| {
            let socket = Socket::new(Domain::IPV4, Type::DGRAM, None).expect("a socket");
            socket.set_priority(6).expect("0 to 6 need no privilege");
            UdpSocket::from(socket)
        });
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            // However `work` ends: the thread is waited for.
            let _end = End(&is_over);
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    // Nobody need take them. Each waits until there is room for it.
                    let _ = sender.send_to(&[0; 1400], (Link::FAR, 9));
                }
            });
            eventually("the first band is never empty", || self.waiting()[0] > 20);
            work();
        });
    }

    /// Bytes that left each band while `work` was done.
    fn sent_by(&self, work: impl FnOnce()) -> Vec<u64> {
        let before = self.sent("bytes");
        work();
        self.sent("bytes").iter().zip(before).map(|(after, before)| after - before).collect()
    }
}

/// Says that something is over when it is dropped.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_response_goes_through_the_band_of_what_it_has_left() {
    Bench::run("50mbit", |bench| {
        for cap in ["auto", "off"] {
            let flags =
                ["--uplink-device", DEVICE, "--uplink-bands", "paper", "--uplink-kernel-cap", cap];
            let server = bench.serve(&flags);
            let mut client = server.connect();
            let mut sent = |path: &str| bench.sent_by(|| assert_eq!(client.get(path).status, 200));
            // Its head makes 1 KB longer than the first cutoff.
            let small = sent("/files/1kb.bin");
            assert!(small[2] > 1_000 && small[3..6] == [0; 3], "{small:?}");
            let middling = sent("/files/10kb.bin");
            assert!(middling[4] > 10_000 && middling[5] == 0, "{middling:?}");
            // A large one begins in the last band and is in the one before it once 50 KB are left, and so on.
            let large = sent("/files/1mb.bin");
            assert!((900_000..1_050_000).contains(&large[5]), "{large:?}");
            assert!((40_000..60_000).contains(&large[4]), "{large:?}");
            // Up to a segment that was not full waits for what follows it, in the band of that.
            let last: u64 = large[1..4].iter().sum();
            assert!((4_000..8_000).contains(&last) && large[1] > 900, "{large:?}");
            // A smaller response after a larger one gets its own band again.
            let small = sent("/files/1kb.bin");
            assert!(small[2] > 1_000 && small[3..6] == [0; 3], "{small:?}");
        }
    });
}

/// What is unsent for want of the client's window never leaves this host by itself.
#[test]
fn a_client_that_does_not_read_holds_a_response_at_no_cutoff() {
    Bench::run("50mbit", |bench| {
        let server = bench.serve(&["--uplink-bands", "paper"]);
        let mut client = Client::with_small_buffer(server.address());
        client.ask("/files/100kb.bin");
        client.ask("/files/1kb.bin");
        // It stops some segments, and more than its window, before the cutoff at 5 KB.
        client.stream.read_exact(&mut [0; 88_000]).expect("most of it");
        eventually("the second response has been handed over", || {
            server.metrics().sum("weir_responses_total") == 2.0
        });
        drop(client);
    });
}

/// By the kernel's count, too: neither `min_rate` nor `send_timeout` is for what waits in this host.
#[test]
fn a_client_whose_packets_wait_here_is_not_slow_and_one_that_takes_nothing_is() {
    Bench::run("8mbit", |bench| {
        let server = bench.serve(&[
            "--uplink-bands",
            "paper",
            "--uplink-kernel-cap",
            "off",
            "--send-timeout",
            "1s",
            "--min-rate",
            "10kb",
            "--min-rate-period",
            "1s",
        ]);
        let mut starved = server.connect();
        assert_eq!(starved.get("/files/1kb.bin").status, 200);
        bench.starving_others(|| {
            starved.ask("/files/1mb.bin");
            eventually("its packets wait", || bench.waiting()[5] > 0);
            // Over loopback, where nothing waits. One after the other, each for longer than clients may take.
            for cut in [1.0, 2.0] {
                bench.link.at_near(|| {
                    let mut stalled = Client::with_small_buffer(server.address());
                    stalled.ask("/files/1gb.bin");
                    server.wait_for_metric("weir_incomplete_responses_total", cut);
                });
            }
        });
        assert_eq!(starved.response().body.len(), 1_000_000);
    });
}

/// Neither while its backend is silent nor when its connection ends.
#[test]
fn a_client_whose_packets_wait_here_has_time_when_nothing_more_is_to_be_sent() {
    Bench::run("8mbit", |bench| {
        let next = Barrier::default();
        let more = next.clone();
        let backend = bench.link.at_near(|| {
            Backend::new(move |call| {
                let target = call.asked.target();
                if target == "/whole" {
                    return call.ok([b'x'; 10_000]);
                }
                call.send("HTTP/1.1 200 OK\r\nContent-Length: 12001\r\n\r\n");
                call.send([b'x'; 12_000]);
                match target {
                    "/silent" => more.pass(),
                    _ => call.until_closed(),
                }
                call.send("y");
                Then::Keep
            })
        });
        let proxy = format!("/={}", backend.url);
        let flags = ["--uplink-kernel-cap", "off", "--send-timeout", "1s", "--proxy", &proxy];
        let server = bench.serve(&[&["--uplink-bands", "paper"][..], &flags].concat());
        let connect = || {
            let mut client = server.connect();
            assert_eq!(client.get("/whole").status, 200);
            client
        };
        let (mut waiting, mut closing) = (connect(), connect());
        bench.starving_others(|| {
            waiting.ask("/silent");
            closing.ask_with("/whole", "Connection: close\r\n");
            // Over loopback, where nothing waits.
            bench.link.at_near(|| {
                server.wait_for_metric("weir_responses_total", 3.0);
                backend.wait_for_requests(4);
                let lets_one_go = |cut: f64| {
                    let mut stalled = Client::with_small_buffer(server.address());
                    stalled.ask("/stalled");
                    server.wait_for_metric("weir_incomplete_responses_total", cut);
                };
                lets_one_go(1.0);
                // Who may be sending still is waited for to its end.
                let mut lingering = server.connect();
                let head = "POST /whole HTTP/1.1\r\nHost: weir\r\nConnection: close\r\n";
                lingering.send(format!("{head}Content-Length: 1\r\n\r\nx"));
                assert_eq!(lingering.response().status, 200);
                lets_one_go(2.0);
                eventually("its connection is gone", || lingering.try_send("x").is_err());
                let open = server.metrics().sum("weir_connections");
                assert_eq!(open, 2.0, "those whose packets wait");
            });
        });
        next.open(1);
        assert_eq!(waiting.response().body.len(), 12_001);
        assert_eq!(closing.response().body.len(), 10_000);
    });
}

/// The kernel does not count for it, and nothing more is sent that would fill its socket.
#[test]
fn a_client_that_takes_nothing_is_let_go_while_its_backend_is_silent() {
    let next = Barrier::default();
    let more = next.clone();
    let backend = Backend::new(move |call| {
        call.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n");
        // More than a small buffer takes, and less than makes the server's socket full.
        call.send([b'x'; 12_000]);
        more.pass();
        call.send("y");
        Then::Keep
    });
    let kernel = ["--uplink", "kernel", "--uplink-device", "no-device"];
    let flags = ["--uplink-kernel-cap", "off", "--send-timeout", "1s"];
    let server = Server::before(&backend, &[&kernel[..], &flags].concat());
    let mut reading = server.connect();
    reading.ask("/");
    assert_eq!((reading.head().status, reading.read(12_000).len()), (200, 12_000));
    let mut stalled = Client::with_small_buffer(server.address());
    stalled.ask("/");
    for cut in ["weir_incomplete_responses_total", "weir_backend_dead_while_sending_total"] {
        server.wait_for_metric(cut, 1.0);
    }
    next.open(2);
    assert_eq!(reading.read(1), b"y", "who has taken all may wait");
}

#[test]
fn handshakes_go_first() {
    Bench::run("50mbit", |bench| {
        let server = bench.serve(&[]);
        let before = bench.sent("packets");
        let clients: Vec<Client> = (0..20).map(|_| server.connect()).collect();
        let after = bench.sent("packets");
        assert!(after[0] - before[0] >= 20, "{before:?} {after:?}");
        drop(clients);
    });
}

#[test]
fn with_the_cap_a_shorter_response_overtakes_a_longer_one_of_the_same_band() {
    Bench::run("8mbit", |bench| {
        let got_meanwhile = |cap: &str| {
            let server = bench.serve(&["--uplink-bands", "paper", "--uplink-kernel-cap", cap]);
            let mut long = server.connect();
            long.ask("/files/100mb.bin");
            // It reads all the time, until the server has gone.
            let got = AtomicUsize::new(0);
            thread::scope(|scope| {
                scope.spawn(|| {
                    let mut room = [0; 65_536];
                    while let Ok(count @ 1..) = long.stream.read(&mut room) {
                        got.fetch_add(count, Ordering::Relaxed);
                    }
                });
                eventually("the long one is under way", || got.load(Ordering::Relaxed) > 500_000);
                let before = got.load(Ordering::Relaxed);
                assert_eq!(server.get("/files/1mb.bin").body.len(), 1_000_000);
                let after = got.load(Ordering::Relaxed);
                drop(server);
                after - before
            })
        };
        // What was in the queue already, and little more; otherwise both share the link, as far as their
        // congestion control lets them. A queue that adapts is longer on a machine that is busy.
        let fixed = got_meanwhile("16kb");
        assert!(fixed < 200_000, "{fixed}");
        let adapting = got_meanwhile("auto");
        assert!(adapting < 800_000, "{adapting}");
        let without = got_meanwhile("off");
        assert!(without > fixed, "{without} and {fixed} with a cap");
    });
}

#[test]
fn bands_that_go_and_come_back_are_noticed() {
    Bench::run("50mbit", |bench| {
        let server = bench.serve(&["--uplink-device", DEVICE]);
        let has_bands = || {
            let metrics = server.metrics();
            let device = format!("{{device=\"{DEVICE}\"}}");
            let bands =
                metrics.value("weir_uplink_kernel_bands", &device).expect("the device is known");
            (metrics.sum("weir_uplink_scheduled"), bands)
        };
        assert_eq!(has_bands(), (1.0, 1.0));
        let other = "handle 1: tbf rate 50mbit burst 32k latency 50ms";
        bench.link.tc(&format!("qdisc replace dev {DEVICE} root {other}"));
        eventually("it is seen that the queue is another", || has_bands() == (0.0, 0.0));
        assert_eq!(server.get("/files/1mb.bin").body.len(), 1_000_000);
        assert_eq!(server.metrics().sum("weir_uplink_waiting_jobs"), 0.0);
        bench.link.tc(&format!("qdisc del dev {DEVICE} root"));
        bench.make_bands("50mbit");
        eventually("it is seen that the bands are back", || has_bands() == (1.0, 1.0));
        let log = server.stop_and_read_log();
        let told = |words: &str| log.iter().filter(|line| line.contains(words)).count();
        assert_eq!(told("the queue of near0 is not weir's (tbf 1:)"), 1, "{log:#?}");
        assert_eq!(told("the bands of near0 put responses in order"), 2, "{log:#?}");
    });
}

#[test]
fn without_bands_responses_are_sent_and_a_message_says_what_is_missing() {
    let server = Server::builtin(&["--uplink", "kernel", "--uplink-device", "no-device"]);
    for path in ["/files/1kb.bin", "/files/10mb.bin"] {
        assert_eq!(server.get(path).status, 200);
    }
    let metrics = server.metrics();
    assert_eq!(metrics.sum("weir_uplink_scheduled"), 0.0);
    assert_eq!(metrics.value("weir_uplink_kernel_bands", "{device=\"no-device\"}"), Some(0.0));
    assert_eq!(metrics.sum("weir_uplink_grants_total"), 0.0);
    let log = server.stop_and_read_log();
    let told: Vec<_> = log.iter().filter(|line| line.contains("no device no-device")).collect();
    assert!(told.len() == 1 && told[0].contains("WARN"), "{log:#?}");
}
