//! Shows that `weir uplink` makes bands that send in order, changes and removes them, and leaves alone
//! what it did not make. All of it needs root.

use std::fs;
use std::io::Write;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use socket2::{Domain, Socket, Type};
use tempfile::TempDir;

use crate::support::link::Link;
use crate::support::{DEADLINE, end_of, eventually, output_of};

mod failures;

/// A link, and where the state of its bands is kept.
struct Bench {
    link: Link,
    state: TempDir,
}

impl Bench {
    fn new() -> Bench {
        Bench { link: Link::make(), state: tempfile::tempdir().expect("a directory") }
    }

    /// `weir uplink` with these words, then the device, the directory of the state and `more`.
    fn command(&self, verb: &str, more: &[&str]) -> Command {
        let mut command = self.link.near_weir(&["uplink", verb, Link::DEVICE]);
        command.arg("--state").arg(self.state.path()).args(more);
        command
    }

    /// Installs bands of HTB, which every kernel has that has a shaper.
    fn install(&self, rate: &str, more: &[&str]) -> Output {
        let fixed = ["--rate", rate, "--mechanism", "htb"];
        end_of(self.command("install", &[&fixed[..], more].concat()))
    }

    fn installed(&self, rate: &str) -> String {
        let output = self.install(rate, &[]);
        assert!(output.status.success(), "{output:?}");
        said(&output)
    }

    /// What `weir uplink` says when `program` refuses command lines of this pattern of the shell.
    fn refused(&self, verb: &str, more: &[&str], program: &str, lines: &str) -> String {
        let programs = tempfile::tempdir().expect("a directory");
        let file = programs.path().join(program);
        let usual = "/usr/sbin:/usr/bin:/sbin:/bin";
        let script = format!(
            "#!/bin/sh\ncase \"$*\" in {lines}) echo no more today >&2; exit 1;; esac\n\
             PATH={usual} exec {program} \"$@\"\n"
        );
        fs::write(&file, script).expect("a program");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("it can be run");
        let mut command = self.command(verb, more);
        command.env("PATH", format!("{}:{usual}", programs.path().display()));
        let output = end_of(command);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        said(&output)
    }

    fn show(&self) -> Value {
        let show = self.link.near_weir(&["uplink", "show", Link::DEVICE, "--json"]);
        serde_json::from_str(&output_of(show)).expect("JSON")
    }

    /// The figure `name` of each band.
    fn counters(&self, name: &str) -> Vec<u64> {
        let shown = self.show();
        let bands = shown["bands"].as_array().expect("bands");
        bands.iter().map(|band| band[name].as_u64().expect("a number")).collect()
    }

    /// The device's root queue, without counters and without the kernel's count of its users.
    fn root(&self) -> String {
        let all = self.link.tc(&format!("qdisc show dev {}", Link::DEVICE));
        let line = all.lines().next().unwrap_or_default();
        line.split(" refcnt ").map(|part| part.trim_start_matches(char::is_numeric)).collect()
    }

    fn tables(&self) -> String {
        output_of(self.link.near_command(&["nft", "list", "tables"]))
    }

    /// A socket at the near end that sends to `port` of the far end with this priority.
    fn sender(&self, priority: u32, port: u16) -> UdpSocket {
        self.link.at_near(|| {
            let socket = Socket::new(Domain::IPV4, Type::DGRAM, None).expect("a socket");
            socket.set_priority(priority).expect("0 to 6 need no privilege");
            socket.set_send_buffer_size(4 << 20).expect("a buffer");
            let socket = UdpSocket::from(socket);
            socket.connect((Link::FAR, port)).expect("a route");
            socket
        })
    }

    /// A socket at the far end, and its port.
    fn receiver(&self) -> (UdpSocket, u16) {
        let socket = self.link.at_far(|| UdpSocket::bind((Link::FAR, 0)).expect("a socket"));
        socket.set_read_timeout(Some(DEADLINE)).expect("a time");
        let port = socket.local_addr().expect("an address").port();
        (socket, port)
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn each_priority_goes_through_its_band() {
    let bench = Bench::new();
    bench.installed("100mbit");
    let (receiver, port) = bench.receiver();
    let before = bench.counters("packets");
    // As many packets as the priority, and one.
    for priority in 0..=6 {
        let sender = bench.sender(priority, port);
        for _ in 0..=priority {
            sender.send(b"datagram").expect("it is sent");
            receiver.recv(&mut [0; 64]).expect("it arrives");
        }
    }
    let packets: Vec<u64> =
        bench.counters("packets").iter().zip(before).map(|(now, before)| now - before).collect();
    assert_eq!(packets[..6], [7, 6, 5, 4, 3, 2]);
    // ARP goes with the packets of priority 0.
    assert!(packets[6] >= 1, "{packets:?}");
}

#[test]
fn a_higher_band_goes_before_what_waits_in_a_lower_one() {
    let bench = Bench::new();
    // A packet of 1442 bytes takes 58 ms.
    bench.installed("200kbit");
    let (receiver, port) = bench.receiver();
    let (low, high) = (bench.sender(1, port), bench.sender(5, port));
    low.send(b"w").expect("it is sent");
    receiver.recv(&mut [0; 64]).expect("the way is known to both ends");
    for _ in 0..200 {
        low.send(&[b'l'; 1400]).expect("it is sent");
    }
    for _ in 0..10 {
        high.send(&[b'h'; 1400]).expect("it is sent");
    }
    assert!(bench.counters("waiting_packets")[5] > 100, "the machine is too slow for this test");
    let mut order = String::new();
    while order.matches('h').count() < 10 {
        let mut packet = [0; 1500];
        receiver.recv(&mut packet).expect("it arrives");
        order.push(char::from(packet[0]));
    }
    // In order of arrival they would come after 200. A few were ahead before the first was sent.
    assert!(order.matches('l').count() < 20, "{order}");
    let first = order.find('h').expect("one of ten");
    assert!(!order[first..].contains('l'), "one went in between: {order}");
}

#[test]
fn control_packets_of_tcp_go_first_and_data_by_priority() {
    let bench = Bench::new();
    bench.installed("100mbit");
    let listener = bench.link.at_far(|| TcpListener::bind((Link::FAR, 0)).expect("a listener"));
    let address = listener.local_addr().expect("an address");
    // SYN and the ACK of the handshake.
    let mut near = bench.link.at_near(|| TcpStream::connect(address).expect("a connection"));
    let (far, _) = listener.accept().expect("it connects");
    eventually("the handshake is in the first band", || bench.counters("packets")[0] == 2);
    near.write_all(b"hello, this is a line that is not long").expect("it is written");
    eventually("the data are in the last band", || bench.counters("bytes")[6] >= 66 + 38);
    assert_eq!(bench.counters("packets")[0], 2);
    drop((near, far));
    // RST by nobody's socket.
    let before = bench.counters("packets")[0];
    let refused = bench.link.at_far(|| TcpStream::connect((Link::NEAR, 9)));
    assert!(refused.is_err());
    eventually("the RST is in the first band", || bench.counters("packets")[0] > before);
}

#[test]
fn the_rate_changes_in_place_and_the_same_rate_changes_nothing() {
    let bench = Bench::new();
    let missing = bench.link.near_weir(&["uplink", "show", Link::DEVICE]);
    assert_eq!(end_of(missing).status.code(), Some(1));
    assert!(bench.installed("200kbit").contains("made"));
    let (receiver, port) = bench.receiver();
    let sender = bench.sender(1, port);
    sender.send(b"w").expect("it is sent");
    receiver.recv(&mut [0; 64]).expect("the way is known to both ends");
    for _ in 0..50 {
        sender.send(&[b'l'; 1400]).expect("it is sent");
    }
    assert!(bench.installed("200kbit").contains("nothing is changed"));
    assert!(bench.installed("90mbit").contains("changed"));
    assert_eq!(bench.show()["bits_per_second"], 90_000_000);
    // None of those that waited was lost.
    for _ in 0..50 {
        receiver.recv(&mut [0; 1500]).expect("it arrives");
    }
    assert_eq!(bench.counters("drops"), [0; 7]);
    // A firewall that loads its rules anew takes those of the bands away.
    output_of(bench.link.near_command(&["nft", "flush", "ruleset"]));
    assert_eq!(bench.show()["complete"], false);
    assert!(bench.installed("90mbit").contains("changed"));
    assert_eq!(bench.show()["complete"], true);
}

#[test]
fn remove_leaves_nothing_and_can_be_repeated() {
    let bench = Bench::new();
    let before = bench.root();
    bench.installed("10mbit");
    assert!(bench.tables().contains("weir-uplink-near0"));
    let removed = output_of(bench.command("remove", &[]));
    assert!(removed.contains("removed"), "{removed}");
    assert_eq!((bench.root(), bench.tables().as_str()), (before, ""));
    assert_eq!(files(bench.state.path()), 0);
    let again = output_of(bench.command("remove", &[]));
    assert!(again.contains("nothing is removed"), "{again}");
}

#[test]
fn somebodys_queue_is_refused_or_put_aside_and_brought_back() {
    for (queue, can_be_restored) in [
        ("handle 8: tbf rate 1mbit burst 5kb latency 70ms", true),
        ("handle 9: pfifo limit 77", true),
        ("handle 1: htb default 1", false),
        // weir's handle, but not its bands.
        ("handle 7765: htb default 16", false),
    ] {
        let bench = Bench::new();
        bench.link.tc(&format!("qdisc add dev {} root {queue}", Link::DEVICE));
        let before = bench.root();
        let refused = bench.install("10mbit", &[]);
        assert_eq!(refused.status.code(), Some(1), "{refused:?}");
        let said = said(&refused);
        assert!(said.contains("did not make") && said.contains("tc qdisc del dev near0"), "{said}");
        assert_eq!(said.contains("--replace"), can_be_restored, "{said}");
        let kept = output_of(bench.command("remove", &[]));
        assert!(kept.contains("nothing is removed"), "{kept}");
        let replaced = bench.install("10mbit", &["--replace"]);
        assert_eq!(replaced.status.success(), can_be_restored, "{replaced:?}");
        if can_be_restored {
            assert_eq!(bench.show()["bits_per_second"], 10_000_000);
            output_of(bench.command("remove", &[]));
        }
        assert_eq!(bench.root(), before);
    }
}

#[test]
fn a_device_that_has_gone_leaves_nothing() {
    let bench = Bench::new();
    bench.installed("10mbit");
    output_of(bench.link.near_command(&["ip", "link", "del", Link::DEVICE]));
    let removed = output_of(bench.command("remove", &[]));
    assert!(removed.contains("has gone"), "{removed}");
    assert_eq!((bench.tables().as_str(), files(bench.state.path())), ("", 0));
    let again = end_of(bench.command("remove", &[]));
    assert_eq!(again.status.code(), Some(1), "{again:?}");
}

/// The commands of the example, for the device of the test.
#[test]
fn the_unit_of_systemd_makes_and_removes_the_bands() {
    let unit = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/weir-uplink.service");
    let unit = fs::read_to_string(unit).expect("the example");
    let bench = Bench::new();
    let run = |key: &str| {
        let line =
            unit.lines().find_map(|line| line.strip_prefix(&format!("{key}=/usr/bin/weir ")));
        let line = line.expect("a command").replace("eth0", Link::DEVICE);
        let mut command = bench.link.near_weir(&line.split(' ').collect::<Vec<_>>());
        command.arg("--state").arg(bench.state.path());
        output_of(command)
    };
    for (key, answer) in
        [("ExecStart", "made"), ("ExecReload", "nothing is changed"), ("ExecStop", "removed")]
    {
        let said = run(key);
        assert!(said.contains(answer), "{key}: {said}");
    }
}

#[test]
fn half_of_an_installation_is_made_whole() {
    let bench = Bench::new();
    bench.installed("10mbit");
    bench.link.tc(&format!("qdisc del dev {} parent 7765:12 handle 7772:", Link::DEVICE));
    let half = end_of(bench.link.near_weir(&["uplink", "show", Link::DEVICE]));
    assert!(said(&half).contains("incomplete"), "{half:?}");
    assert!(bench.installed("10mbit").contains("made"));
    assert_eq!(bench.counters("packets").len(), 7);
}

#[test]
fn a_dry_run_prints_commands_that_a_shell_takes_and_changes_nothing() {
    let bench = Bench::new();
    let before = bench.root();
    let dry = bench.command("install", &["--rate", "10mbit", "--mechanism", "htb", "--dry-run"]);
    let script = output_of(dry);
    assert_eq!((bench.root(), files(bench.state.path())), (before, 0));
    output_of(bench.link.near_command(&["sh", "-ec", &script]));
    assert_eq!(bench.show()["complete"], true);
}

#[test]
fn who_may_not_and_what_is_not_there_is_told() {
    let bench = Bench::new();
    let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let run = |before: &[&str], arguments: &[&str]| {
        let mut command = bench.link.near_command(before);
        command.arg(crate::support::weir().get_program()).arg("uplink").args(arguments);
        end_of(command)
    };
    let install = ["install", "near0", "--rate", "1mbit", "--mechanism", "htb"];
    let state = tempfile::tempdir().expect("a directory");
    fs::set_permissions(state.path(), fs::Permissions::from_mode(0o777)).expect("it is ours");
    let own = [&install[..], &["--state", state.path().to_str().expect("UTF-8")]].concat();
    let denied = run(&nobody, &own);
    assert!(said(&denied).contains("run weir as root"), "{denied:?}");
    assert_eq!((denied.status.code(), files(state.path())), (Some(1), 0));
    assert!(run(&nobody, &[&install[..], &["--dry-run"]].concat()).status.success());
    assert!(run(&nobody, &["show"]).status.success());
    let gone = run(&[], &["install", "none0", "--rate", "1mbit"]);
    assert!(said(&gone).contains("none0") && gone.status.code() == Some(1), "{gone:?}");
    for wrong in [&["install", "a/b", "--rate", "1mbit"][..], &["install", "x", "--rate", "1kbit"]]
    {
        assert_eq!(run(&[], wrong).status.code(), Some(2), "{wrong:?}");
    }
}

fn files(directory: &Path) -> usize {
    fs::read_dir(directory).expect("it is there").count()
}
