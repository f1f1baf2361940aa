//! Shows that in kernel mode responses go through the band of what they have left, that the kernel's queue
//! is kept short, and what is told when bands are missing. The tests need root: they make network
//! namespaces and queues.

use std::io::Read;
use std::process::Command;
use std::thread;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::os::fd::AsFd;

use crate::support::{Client, Server, eventually, output_of, tool, weir};

/// The server's end of the link, and its number in each namespace.
const DEVICE: &str = "uplink0";

/// Two namespaces with a link between them, the server's and the clients'; the calling thread is in the
/// second. Both go when this is dropped.
struct Network {
    server: String,
    clients: String,
}

impl Network {
    /// `name`: one that no other test has.
    fn new(name: &str) -> Network {
        let of = |side: &str| format!("weir-{name}-{side}-{}", std::process::id());
        let net = Network { server: of("s"), clients: of("c") };
        ip(&format!("netns add {}", net.server));
        ip(&format!("netns add {}", net.clients));
        ip(&format!(
            "link add {DEVICE} netns {} type veth peer name there netns {}",
            net.server, net.clients
        ));
        for (namespace, device, address) in
            [(&net.server, DEVICE, "192.0.2.1"), (&net.clients, "there", "192.0.2.2")]
        {
            ip(&format!("-n {namespace} addr add {address}/24 dev {device}"));
            ip(&format!("-n {namespace} link set {device} up"));
        }
        let namespace = std::fs::File::open(format!("/run/netns/{}", net.clients));
        let namespace = namespace.expect("the namespace has a file");
        move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))
            .expect("this test needs root");
        net
    }

    /// Runs `line` in the server's namespace.
    fn run(&self, line: &str) -> String {
        let mut command = self.command();
        command.args(line.split(' '));
        output_of(command)
    }

    fn command(&self) -> Command {
        let mut command = tool("ip", "iproute2");
        command.args(["netns", "exec", &self.server]);
        command
    }

    /// Gives the server's end bands of this rate.
    fn make_bands(&self, rate: &str) {
        self.run(&format!("tc qdisc add dev {DEVICE} root handle 7765: htb default 7"));
        let class = format!("tc class add dev {DEVICE} parent 7765:");
        self.run(&format!("{class} classid 7765:100 htb rate {rate} quantum 1514"));
        for band in 0..7 {
            let (parent, minor) = (format!("{class}100"), band + 1);
            self.run(&format!(
                "{parent} classid 7765:{minor} htb rate 8kbit ceil {rate} prio {band} quantum 1514"
            ));
        }
        self.run("nft add table inet bands");
        self.run("nft add chain inet bands out { type filter hook postrouting priority -150 ; }");
        for priority in 1..=6 {
            let minor = 7 - priority;
            self.run(&format!(
                "nft add rule inet bands out meta priority 0:{priority} meta priority set 7765:{minor}"
            ));
        }
    }

    /// A server in its namespace, with `flags` added.
    fn serve(&self, flags: &[&str]) -> Server {
        let mut command = self.command();
        command.arg(weir().get_program()).arg("serve");
        let address = "192.0.2.1:0";
        let own = ["--uplink", "kernel", "--listen", address, "--admin", address];
        Server::launch(command, &[&own[..], flags].concat())
    }

    /// Bytes and packets that have left each band.
    fn sent(&self) -> Vec<(u64, u64)> {
        let text = self.run(&format!("tc -s class show dev {DEVICE}"));
        let band = |band: usize| {
            let class = text
                .split("class htb ")
                .find(|class| class.starts_with(&format!("7765:{} ", band + 1)))?;
            let counts = class.split(" Sent ").nth(1)?;
            let mut words = counts.split(' ');
            Some((words.next()?.parse().ok()?, words.nth(1)?.parse().ok()?))
        };
        (0..7).map(|at| band(at).expect("the band has counters")).collect()
    }

    /// Bytes that left each band while `work` was done.
    fn sent_by(&self, work: impl FnOnce()) -> Vec<u64> {
        let before = self.sent();
        work();
        self.sent().iter().zip(before).map(|(after, before)| after.0 - before.0).collect()
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for namespace in [&self.server, &self.clients] {
            let _ = Command::new("ip").args(["netns", "del", namespace]).status();
        }
    }
}

fn ip(line: &str) {
    let mut command = tool("ip", "iproute2");
    command.args(line.split(' '));
    output_of(command);
}

#[test]
fn a_response_goes_through_the_band_of_what_it_has_left() {
    let net = Network::new("left");
    net.make_bands("50mbit");
    for cap in ["auto", "off"] {
        let flags =
            ["--uplink-device", DEVICE, "--uplink-bands", "paper", "--uplink-kernel-cap", cap];
        let server = net.serve(&flags);
        let mut client = server.connect();
        let mut sent = |path: &str| net.sent_by(|| assert_eq!(client.get(path).status, 200));
        // Its head makes 1 KB longer than the first cutoff.
        let small = sent("/files/1kb.bin");
        assert!(small[2] > 1_000 && small[3..6] == [0; 3], "{small:?}");
        let middling = sent("/files/10kb.bin");
        assert!(middling[4] > 10_000 && middling[5] == 0, "{middling:?}");
        // A large one begins in the last band and is in the one before it once 50 KB are left, and so on.
        let large = sent("/files/1mb.bin");
        assert!((900_000..1_050_000).contains(&large[5]), "{large:?}");
        assert!((25_000..70_000).contains(&large[4]), "{large:?}");
        // Of the last 5 KB, what TCP has not sent yet goes through the band of what follows it.
        let last: u64 = large[1..4].iter().sum();
        assert!((4_000..25_000).contains(&last) && large[1] > 900, "{large:?}");
        // A smaller response after a larger one gets its own band again.
        let small = sent("/files/1kb.bin");
        assert!(small[2] > 1_000 && small[3..6] == [0; 3], "{small:?}");
    }
}

#[test]
fn handshakes_go_first() {
    let net = Network::new("syn");
    net.make_bands("50mbit");
    let server = net.serve(&[]);
    let before = net.sent();
    let clients: Vec<Client> = (0..20).map(|_| server.connect()).collect();
    let after = net.sent();
    assert_eq!(after[0].1 - before[0].1, 20, "{before:?} {after:?}");
    drop(clients);
}

#[test]
fn with_the_cap_a_shorter_response_overtakes_a_longer_one_of_the_same_band() {
    let net = Network::new("cap");
    net.make_bands("8mbit");
    let overtaken_by = |cap: &str| {
        let server = net.serve(&["--uplink-bands", "paper", "--uplink-kernel-cap", cap]);
        let mut large = server.connect();
        large.ask("/files/100mb.bin");
        let mut stream = large.stream.try_clone().expect("a descriptor");
        // It reads all the time, until the server has gone.
        let reader = thread::spawn(move || {
            let mut room = [0; 65_536];
            while matches!(stream.read(&mut room), Ok(count) if count > 0) {}
        });
        let before = net.sent()[5].0;
        eventually("the long response is under way", || net.sent()[5].0 > before + 500_000);
        let sent = net.sent_by(|| assert_eq!(server.get("/files/1mb.bin").body.len(), 1_000_000));
        drop(server);
        reader.join().expect("it reads to the end");
        sent[5]
    };
    // Nearly all that the band sends meanwhile is the shorter one; otherwise both share it.
    let (auto, off) = (overtaken_by("auto"), overtaken_by("off"));
    assert!(auto < 1_200_000, "{auto}");
    assert!(off > 1_500_000, "{off}");
}

#[test]
fn bands_that_go_and_come_back_are_noticed() {
    let net = Network::new("gone");
    net.make_bands("50mbit");
    let server = net.serve(&["--uplink-device", DEVICE]);
    let has_bands = || {
        let metrics = server.metrics();
        let device = format!("{{device=\"{DEVICE}\"}}");
        let bands =
            metrics.value("weir_uplink_kernel_bands", &device).expect("the device is known");
        (metrics.sum("weir_uplink_scheduled"), bands)
    };
    assert_eq!(has_bands(), (1.0, 1.0));
    net.run(&format!(
        "tc qdisc replace dev {DEVICE} root handle 1: tbf rate 50mbit burst 32k latency 50ms"
    ));
    eventually("it is seen that the queue is another", || has_bands() == (0.0, 0.0));
    assert_eq!(server.get("/files/1mb.bin").body.len(), 1_000_000);
    assert_eq!(server.metrics().sum("weir_uplink_waiting_jobs"), 0.0);
    net.run(&format!("tc qdisc del dev {DEVICE} root"));
    net.run("nft delete table inet bands");
    net.make_bands("50mbit");
    eventually("it is seen that the bands are back", || has_bands() == (1.0, 1.0));
    let log = server.stop_and_read_log();
    let told = |words: &str| log.iter().filter(|line| line.contains(words)).count();
    assert_eq!(told("the queue of uplink0 is not weir's (tbf 1:)"), 1, "{log:#?}");
    assert_eq!(told("the bands of uplink0 put responses in order"), 2, "{log:#?}");
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
