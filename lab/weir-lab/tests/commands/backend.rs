//! The laboratory's cells with an application behind a proxy, from beginning to end, ten times as fast
//! as the experiment's. These tests need root, for the lab puts its generator before other work.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use weir_experiments::cell::{Demand, Network, Users};
use weir_experiments::outcome::Class;
use weir_experiments::{Cell, Outcome, Settings, run_cell};
use weir_stand::address;

/// An overload of 300 % for clients who wait 0.4 s.
fn cell(system: &str) -> Cell {
    Cell {
        system: system.into(),
        network: Network::default(),
        users: Users { abort_after: Some(0.4), ..Users::default() },
        demand: Demand::Application {
            service: 0.002,
            load: 3.0,
            warm_up: 1.2,
            window: 2.4,
            after: 0.6,
        },
        seed: 1,
    }
}

fn run(system: &str, out: &Path) -> Outcome {
    let settings = Settings {
        out: out.to_owned(),
        data: None,
        weir: crate::programs::weir_beside(),
        weir_lab: env!("CARGO_BIN_EXE_weir-lab").into(),
        side_by_side: 1,
        keep_records: true,
    };
    run_cell(&cell(system), &settings, &out.join(system)).expect("this test needs root")
}

#[test]
fn an_application_that_looks_who_has_left_is_of_use_and_one_that_does_not_is_not() {
    let out = tempfile::tempdir().unwrap();
    let (direct, checking) = (run("direct", out.path()), run("checking", out.path()));
    // The same arrivals.
    assert_eq!(direct.requests, checking.requests);
    assert!(direct.requests > 4500, "{}", direct.requests);
    for outcome in [&direct, &checking] {
        let found = outcome.application.as_ref().expect("an application");
        assert!(found.busy > 0.9 && found.busy <= 1.0 + 1e-9, "{}", found.busy);
        let parts = found.success + found.refused + found.given_up + found.failed;
        assert!((parts - 1.0).abs() < 1e-9, "{parts}");
        assert!((found.useful_work.mean + found.wasted - found.busy).abs() < 1e-9);
        assert!(
            Class::total(&found.classes).asked > 2000
                && found.classes.iter().all(|class| class.asked > 0)
        );
        assert_eq!(found.series_work.len(), 21);
        assert_eq!(outcome.outcomes.values().sum::<usize>(), outcome.requests);
    }
    let of = |outcome: &Outcome| outcome.application.clone().expect("an application");
    let (direct, checking) = (of(&direct), of(&checking));
    // With a queue that is never shorter than anybody's patience nobody is answered in time.
    assert!(direct.useful_work.mean < 0.02, "{:?}", direct.useful_work);
    assert!(direct.useful_requests.mean < 0.02, "{:?}", direct.useful_requests);
    // Whose turn comes is about to leave: small requests are in time, few large ones are. The model
    // has 0.53 to 0.96 in requests and 0.11 to 0.24 in work, over 40 seeds.
    assert!(checking.useful_requests.mean > 0.4, "{:?}", checking.useful_requests);
    assert!(checking.useful_work.mean > 0.06, "{:?}", checking.useful_work);
    // All the time there was.
    assert_eq!(direct.recovery, Some(0.6));

    for file in ["cell.json", "outcome.json", "records.csv.zst", "served.txt", "application.log"] {
        assert!(out.path().join("direct").join(file).is_file(), "{file}");
    }
}

#[test]
fn weir_in_front_of_an_application_is_of_use() {
    let out = tempfile::tempdir().unwrap();
    let outcome = run("weir:proxy", out.path());
    let found = outcome.application.expect("an application");
    // Without it nothing is; a slow machine takes a part.
    assert!(found.useful_work.mean > 0.5, "{:?}", found.useful_work);
    let metrics = std::fs::read_to_string(out.path().join("weir:proxy/metrics.txt")).unwrap();
    assert!(metrics.contains("weir_backend_calls_total"), "{metrics}");
}

/// Stopped when dropped.
struct Application(Child);

impl Drop for Application {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn application(log: &Path, checks: bool) -> (Application, SocketAddr) {
    let free = SocketAddr::from(address::free().expect("a port"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_weir-lab"));
    command.args(["application", "--mean", "20ms", "--listen", &free.to_string(), "--log"]);
    command.arg(log);
    if checks {
        command.arg("--checks");
    }
    let mut application = Application(command.spawn().expect("the binary runs"));
    while TcpStream::connect(free).is_err() {
        assert!(application.0.try_wait().expect("it can be waited for").is_none(), "it goes on");
        std::thread::sleep(Duration::from_millis(5));
    }
    (application, free)
}

fn send(address: SocketAddr, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).expect("the application listens");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("the application listens");
    stream.write_all(text.as_bytes()).expect("the application listens");
    stream
}

fn rest(mut stream: TcpStream) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("the application listens");
    text
}

/// Ids of the log, in the order of service.
fn ids(log: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(log).expect("the application listens");
    text.lines().map(|line| line.split(' ').next().unwrap_or_default().to_owned()).collect()
}

#[test]
fn the_application_answers_in_turn_whoever_is_there() {
    let directory = tempfile::tempdir().expect("the application listens");
    for checks in [false, true] {
        let log = directory.path().join(format!("served-{checks}.txt"));
        let (_application, address) = application(&log, checks);
        // Over a second: the next client has left before it is done.
        let first = send(address, "GET /work/900000?id=1 HTTP/1.1\r\nConnection: close\r\n\r\n");
        drop(send(address, "GET /work/100?id=2 HTTP/1.1\r\n\r\n"));
        // Keep-alive, and two at once.
        let two = "GET /work/100?id=3 HTTP/1.1\r\n\r\n\
                   GET /work/200?id=4 HTTP/1.1\r\nConnection: close\r\n\r\n";
        let both = rest(send(address, two));
        assert_eq!(both.matches("HTTP/1.1 200 OK").count(), 2, "{both}");
        assert!(rest(first).ends_with(&"w".repeat(1024)));
        let lost = rest(send(address, "GET /else HTTP/1.0\r\n\r\n"));
        assert!(lost.starts_with("HTTP/1.1 404"), "{lost}");
        assert_eq!(rest(send(address, "nonsense\r\n\r\n")), "");
        let served = ids(&log);
        match checks {
            false => assert_eq!(served, ["1", "2", "3", "4"]),
            true => assert_eq!(served, ["1", "3", "4"]),
        }
    }
}
