//! Shows that nobody waits for a log or for standard error, whatever becomes of them, and that what is
//! lost is counted.

use std::fs;
use std::io::{BufRead, BufReader, ErrorKind, PipeReader, PipeWriter, Write, pipe};
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

use crate::support::{Client, Metrics, Refusing, Server, eventually, memory_of, weir};
use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, kill_process};

/// A process, which is killed when this is dropped.
struct Running(Child);

impl Running {
    fn signal(&self) {
        kill_process(Pid::from_child(&self.0), Signal::TERM).expect("the server is there");
    }

    fn wait(&mut self) -> ExitStatus {
        let mut status = None;
        eventually("the process ends", || {
            status = self.0.try_wait().expect("it can be waited for");
            status.is_some()
        });
        status.expect("it has ended")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A server whose standard error is a pipe.
struct Piped {
    process: Running,
    reader: BufReader<PipeReader>,
    writer: PipeWriter,
    address: SocketAddr,
    admin: SocketAddr,
}

impl Piped {
    fn start(flags: &[&str]) -> Piped {
        let (reader, writer) = pipe().expect("a pipe");
        let mut command = weir();
        command.args(["serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"]).args(flags);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(writer.try_clone().expect("a descriptor"));
        let process = Running(command.spawn().expect("the server starts"));
        let mut reader = BufReader::new(reader);
        let mut next_address = || {
            let mut line = String::new();
            while !line.contains(" on http://") {
                line.clear();
                assert!(reader.read_line(&mut line).expect("a line") > 0, "it ended");
            }
            let address = line.rsplit_once("http://").expect("an address").1;
            let end = address.find(['/', '\n', ',']).expect("an end");
            address[..end].parse().expect("an address")
        };
        let (address, admin) = (next_address(), next_address());
        Piped { process, reader, writer, address, admin }
    }

    fn connect(&self) -> Client {
        Client::connect(self.address)
    }

    fn lost(&self) -> f64 {
        Metrics::read(self.admin).sum("weir_access_log_lines_lost_total")
    }
}

/// From now on the pipe takes nothing.
fn fill(writer: &PipeWriter) {
    // Opened anew, so that only this descriptor does not wait.
    let name = format!("/proc/self/fd/{}", writer.as_raw_fd());
    let flags = OFlags::NONBLOCK.bits() as i32;
    let mut options = fs::File::options();
    let mut pipe = options.write(true).custom_flags(flags).open(name).expect("the pipe");
    // The last bytes one by one.
    for piece in [&b".\n".repeat(2048)[..], b"."] {
        while pipe.write(piece).is_ok() {}
    }
    let full = pipe.write(b".").map_err(|error| error.kind());
    assert_eq!(full, Err(ErrorKind::WouldBlock));
}

#[test]
fn nobody_waits_for_standard_error() {
    let dead = Refusing::new();
    let proxy = format!("/dead={}", dead.url());
    let mut server = Piped::start(&[
        "--workers",
        "1",
        "--proxy",
        &proxy,
        "--proxy",
        &format!("/too={}", dead.url()),
    ]);
    fill(&server.writer);
    let mut client = server.connect();
    for _ in 0..200 {
        assert_eq!(client.get("/no-route").status, 404);
        // The worker has something to say, too.
        assert_eq!(client.get("/dead").status, 502);
    }
    drop(client);
    server.process.signal();
    assert_eq!(server.process.wait().code(), Some(0));
}

#[test]
fn a_second_signal_ends_a_server_whose_standard_error_is_stuck() {
    let mut server = Piped::start(&["--stop-timeout", "1d", "--send-timeout", "1d"]);
    fill(&server.writer);
    let mut stuck = Client::with_small_buffer(server.address);
    stuck.ask("/files/1gb.bin");
    assert_eq!(stuck.head().status, 200);
    server.process.signal();
    let mut admin = Client::connect(server.admin);
    eventually("it is stopping", || admin.get("/readyz").status == 503);
    server.process.signal();
    assert_eq!(server.process.wait().code(), Some(0));
}

#[test]
fn a_command_that_fails_ends_whatever_becomes_of_its_last_words() {
    let (_reader, writer) = pipe().unwrap();
    fill(&writer);
    for (arguments, code) in [
        (&["serve", "/no/such/directory", "--listen", "127.0.0.1:0"][..], 1),
        (&["serve", "--policy", "best"], 2),
        (&["serve", "--check", "--config", "/no/such/file"], 2),
    ] {
        let stderr = writer.try_clone().unwrap();
        let child = weir().args(arguments).stderr(stderr).spawn().unwrap();
        assert_eq!(Running(child).wait().code(), Some(code), "{arguments:?}");
    }
}

#[test]
fn lines_that_wait_for_a_stuck_log_take_little_memory_and_the_rest_is_counted() {
    let mut server = Piped::start(&["--workers", "1"]);
    fill(&server.writer);
    let mut client = server.connect();
    // Each of these bytes is four in the log: 60 KB a line.
    let fields = format!("User-Agent: {}\r\n", "\u{e9}".repeat(7500));
    let before = memory_of(&server.process.0);
    for _ in 0..600 {
        assert_eq!(client.get_with("/files/1kb.bin", &fields).status, 200);
    }
    let more = memory_of(&server.process.0).saturating_sub(before);
    assert!(more < 20_000_000, "{more} bytes more");
    // Read at last, it has whole lines, and says how many are missing.
    let (mut lines, mut line) = (0, Vec::new());
    let told = loop {
        line.clear();
        assert!(server.reader.read_until(b'\n', &mut line).unwrap() > 0);
        let line = String::from_utf8_lossy(&line);
        if let Some((_, told)) = line.split_once("standard error is written again: ") {
            break told.to_owned();
        }
        let in_log = line.trim_start_matches('.');
        if in_log.contains("GET ") {
            assert!(in_log.starts_with("127.0.0.1 - - [") && in_log.ends_with(" -\n"), "{line}");
            lines += 1;
        }
    };
    let lost = server.lost();
    assert_eq!(told, format!("{lost} lines were lost\n"));
    assert!(f64::from(lines) + lost == 600.0 && lost > 300.0, "{lines} lines, {lost} lost");
    drop(client);
    server.process.signal();
    assert_eq!(server.process.wait().code(), Some(0));
}

/// As when the program that reads the log has died.
#[test]
fn lines_that_nobody_reads_any_more_are_counted_and_hold_nobody_up() {
    let (gone, stdout) = pipe().unwrap();
    let (stderr, writer) = pipe().unwrap();
    let mut command = weir();
    command.args(["serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"]);
    command.args(["--access-log", "stdout"]).stdin(Stdio::null()).stdout(stdout).stderr(writer);
    let mut process = Running(command.spawn().unwrap());
    // This process has no end of either pipe to write to.
    drop(command);
    let mut lines = BufReader::new(stderr).lines().map_while(Result::ok);
    let mut line_with = |part: &str| lines.find(|line| line.contains(part)).expect("it is said");
    let address_in = |line: String| -> SocketAddr {
        let (_, rest) = line.rsplit_once("http://").expect("an address");
        rest.split('/').next().and_then(|address| address.parse().ok()).expect("an address")
    };
    let address = address_in(line_with("serving"));
    let admin = address_in(line_with("metrics on"));
    drop(gone);
    let mut client = Client::connect(address);
    for _ in 0..20 {
        assert_eq!(client.get("/files/1kb.bin").status, 200);
    }
    eventually("all lines are counted", || {
        Metrics::read(admin).sum("weir_access_log_lines_lost_total") == 20.0
    });
    let said = line_with("loses lines");
    assert!(said.contains("standard output") && said.contains("Broken pipe"), "{said}");
    drop(client);
    process.signal();
    assert_eq!(process.wait().code(), Some(0));
}

#[test]
fn lines_that_a_full_disk_does_not_take_are_counted() {
    let server = Server::builtin(&["--access-log", "/dev/full"]);
    let mut client = server.connect();
    for _ in 0..50 {
        assert_eq!(client.get("/files/1kb.bin").status, 200);
    }
    server.wait_for_metric("weir_access_log_lines_lost_total", 50.0);
    let log = server.stop_and_read_log();
    let said: Vec<_> = log.iter().filter(|line| line.contains("loses lines")).collect();
    assert!(said.len() == 1 && said[0].contains("access log /dev/full"), "{log:#?}");
}

#[test]
fn a_log_that_has_room_again_goes_on_with_whole_lines() {
    for truncated in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let log = directory.path().join("access.log");
        // What is too long for the limit must not end the server.
        let mut command = Command::new("sh");
        command.args(["-c", "trap '' XFSZ; exec \"$@\"", "sh"]);
        command.arg(weir().get_program()).arg("serve");
        let server = Server::launch(command, &["--access-log", log.to_str().unwrap()]);
        server.limit_files(Some(3000));
        let mut client = server.connect();
        let lost = || server.metrics().sum("weir_access_log_lines_lost_total");
        let mut asked = 0;
        while lost() == 0.0 {
            assert_eq!(client.get(&format!("/?{asked}")).status, 200);
            asked += 1;
            assert!(asked < 1000, "lines are lost and not counted");
        }
        assert_eq!(fs::metadata(&log).unwrap().len(), 3000, "the last line is not whole");
        match truncated {
            true => fs::File::options().write(true).open(&log).unwrap().set_len(0).unwrap(),
            false => server.limit_files(None),
        }
        for number in 1000..1010 {
            assert_eq!(client.get(&format!("/?{number}")).status, 200);
        }
        eventually("the last line", || read(&log).contains("/?1009 "));
        let lost = lost();
        let text = read(&log);
        let whole = |line: &&str| line.starts_with("127.0.0.1 - - [") && line.ends_with(" -");
        let (whole, broken): (Vec<_>, Vec<_>) = text.lines().partition(whole);
        assert!(text.ends_with('\n') && broken.len() == usize::from(!truncated), "{text}");
        assert_eq!(whole.iter().filter(|line| line.contains("/?100")).count(), 10, "{text}");
        if !truncated {
            assert_eq!(whole.len() as f64 + lost, f64::from(asked) + 10.0, "{text}");
        }
        let said = format!("access log {} is written again", log.display());
        eventually("it is told", || server.log().iter().any(|line| line.contains(&said)));
    }
}

fn read(log: &Path) -> String {
    fs::read_to_string(log).expect("the log")
}

#[test]
fn standard_output_can_have_the_lines() {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("out");
    let mut command = Command::new("sh");
    command.args(["-c", &format!("exec \"$@\" > {}", out.display()), "sh"]);
    command.arg(weir().get_program()).arg("serve");
    let server = Server::launch(command, &["--access-log", "stdout"]);
    assert_eq!(server.get("/files/1kb.bin").status, 200);
    let log = server.stop_and_read_log();
    assert!(!log.iter().any(|line| line.contains("GET ")), "{log:#?}");
    let lines = read(&out);
    assert!(lines.contains("\"GET /files/1kb.bin HTTP/1.1\" 200 1000"), "{lines}");
    assert_eq!(lines.lines().count(), 1);
}
