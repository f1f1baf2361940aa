//! What becomes of responses that come while the generator is busy with something else.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use weir_load::{Demand, Live, run};
use weir_stats::{Outcome, Record};

use crate::scripted::{answer, plan, request, requests};

/// Seconds for which a user waits.
const PATIENCE: f64 = 1.0;

/// Bytes that fit into a receive window, and are more than half of a new connection's.
const PART: usize = 40_000;
/// Parts that a large response comes in.
const PARTS: usize = 3;
/// Seconds for which the generator is held up while a part lies in the socket.
const HELD_UP: f64 = 0.1;

/// The next connection, whose request has come.
fn asked(listener: &TcpListener) -> TcpStream {
    let (mut stream, _) = listener.accept().expect("a connection");
    let (mut text, mut buffer) = (Vec::new(), [0; 1024]);
    while !text.ends_with(b"\r\n\r\n") {
        let count = stream.read(&mut buffer).expect("a request");
        assert!(count > 0, "the request is cut off");
        text.extend_from_slice(&buffer[..count]);
    }
    stream
}

/// The generator is held up by whoever takes its records: the second answer comes meanwhile, in time, and
/// lies in its socket until the user would have given up.
#[test]
fn an_answer_that_lies_in_the_socket_is_read_late_and_not_given_up() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let mut plan = plan(listener.local_addr().expect("an address"));
    plan.abort_after = Some(PATIENCE);
    let ((busy, is_busy), (answered, is_answered)) = (mpsc::channel(), mpsc::channel());
    let server = thread::spawn(move || {
        let (mut first, mut second) = (asked(&listener), asked(&listener));
        first.write_all(&answer(4)).expect("room in the buffer");
        is_busy.recv().expect("the first answer is read");
        second.write_all(&answer(4)).expect("room in the buffer");
        answered.send(()).expect("the generator is held up");
    });
    let mut records: Vec<Record> = Vec::new();
    let demand = Demand::Open(Box::new(requests(2).into_iter()));
    let report = run(&plan, demand, &Live::default(), &mut |record| {
        if records.is_empty() {
            busy.send(()).expect("the server waits");
            is_answered.recv().expect("the server answers");
            thread::sleep(Duration::from_secs_f64(PATIENCE));
        }
        records.push(record);
    });
    let report = report.expect("a run");
    server.join().expect("the server did as it should");
    let [_, second] = &records[..] else { panic!("{records:?}") };
    assert_eq!((second.outcome, second.attempts), (Outcome::Ok, 1));
    assert!(second.response_time().is_some_and(|time| time >= PATIENCE), "{second:?}");
    assert!(second.read_lag >= PATIENCE, "{second:?}");
    // To three digits.
    let most = report.read_lag[3];
    assert!((most / second.read_lag - 1.0).abs() < 2e-3, "{most} s in the report, {second:?}");
}

/// The generator is held up at the end of each small response, while a part of the large one comes. It reads
/// that part before it can see the next small response, which is asked for only then.
#[test]
fn a_large_response_is_late_by_all_the_times_that_it_lay_in_the_socket() {
    // With its head it fills the parts, and no more.
    let whole = answer(PARTS * PART - 100);
    assert_eq!(whole.chunks(PART).count(), PARTS);
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let plan = plan(listener.local_addr().expect("an address"));
    let ((busy, is_busy), (written, is_written)) = (mpsc::channel(), mpsc::channel());
    let server = thread::spawn(move || {
        let mut large = asked(&listener);
        large.set_nodelay(true).expect("an option of TCP");
        for part in whole.chunks(PART) {
            asked(&listener).write_all(&answer(4)).expect("room in the buffer");
            is_busy.recv().expect("the small response is read");
            large.write_all(part).expect("room in the buffer");
            written.send(()).expect("the generator is held up");
        }
    });
    let mut asked_for = requests(PARTS + 1);
    asked_for[0] = request(0.0, "/", (PARTS * PART - 100) as u64);
    let demand = Demand::Saturate(Box::new(asked_for.into_iter()), 2);
    let mut records: Vec<Record> = Vec::new();
    let report = run(&plan, demand, &Live::default(), &mut |record| {
        if record.size == 4 {
            busy.send(()).expect("the server waits");
            is_written.recv().expect("the server writes");
            thread::sleep(Duration::from_secs_f64(HELD_UP));
        }
        records.push(record);
    });
    report.expect("a run");
    server.join().expect("the server did as it should");
    assert!(records.iter().all(|record| record.outcome == Outcome::Ok), "{records:?}");
    let Some((large, small)) = records.split_last() else { panic!("no records") };
    assert_eq!(small.len(), PARTS);
    assert!(large.read_lag >= PARTS as f64 * HELD_UP, "{large:?}");
    // No time counts twice.
    assert!(large.response_time().is_some_and(|time| time >= large.read_lag), "{large:?}");
}
