//! Worked cases of logs that are well, stuck, full, and moved away. What holds them up is a pipe or
//! `/dev/full`, never time.

use std::fs;
use std::io::{PipeReader, Read, pipe};
use std::os::unix::net::UnixDatagram;
use std::path::Path;

use super::*;

const LONG: Duration = Duration::from_secs(60);

/// A log that takes no more than a pipe does until somebody reads from it.
fn piped() -> (Lines, PipeReader) {
    let (reader, writer) = pipe().unwrap();
    (Lines::start(Output::to(writer.into())).unwrap(), reader)
}

fn lost_of(lines: &Lines, kind: Kind) -> u64 {
    lines.shared.lost[kind as usize].load(Ordering::Relaxed)
}

fn waiting(lines: &Lines) -> usize {
    lines.shared.waiting.load(Ordering::Relaxed)
}

#[test]
fn a_stuck_log_holds_nobody_up_and_takes_no_more_than_its_bytes() {
    for length in [100, 30_000] {
        let (lines, mut reader) = piped();
        let line = |number| format!("{number:0length$}\n");
        let count = 3 * WAITING / length;
        for number in 0..count {
            lines.push(Kind::Request, line(number));
        }
        let lost = lost_of(&lines, Kind::Request);
        assert!(waiting(&lines) <= WAITING && lost > count as u64 / 3, "{lost} of {count}");
        // Messages have room of their own.
        let message = "m".repeat(2 * length) + "\n";
        lines.push(Kind::Message, message.clone());
        assert_eq!(lost_of(&lines, Kind::Message), 0);
        assert!(!lines.flush(Duration::ZERO));
        let read = thread::spawn(move || {
            let mut text = String::new();
            reader.read_to_string(&mut text).map(|_| text)
        });
        assert!(lines.flush(LONG) && waiting(&lines) == 0);
        drop(lines);
        let text = read.join().unwrap().unwrap();
        let kept = count - lost as usize;
        let expected: String = (0..kept).map(line).collect();
        assert!(text == expected + &message, "{kept} whole lines and a message");
    }
}

#[test]
fn lost_messages_are_told_when_there_is_room_again() {
    let (lines, mut reader) = piped();
    let long = "m".repeat(100_000) + "\n";
    while lost_of(&lines, Kind::Message) < 3 {
        lines.push(Kind::Message, long.clone());
    }
    let read = thread::spawn(move || {
        let mut text = String::new();
        reader.read_to_string(&mut text).map(|_| text)
    });
    assert!(lines.flush(LONG));
    drop(lines);
    let text = read.join().unwrap().unwrap();
    let last = text.lines().last();
    assert_eq!(last, Some("weir: 3 messages were lost: standard error did not take them"));
}

#[test]
fn what_a_full_disk_does_not_take_is_counted() {
    let lines = Lines::start(Output::file(Path::new("/dev/full")).unwrap()).unwrap();
    let before = lost(Kind::Request).get();
    for _ in 0..100 {
        lines.push(Kind::Request, "line\n".to_owned());
    }
    assert!(lines.flush(LONG) && waiting(&lines) == 0);
    assert_eq!(lost_of(&lines, Kind::Request), 100);
    assert!(lost(Kind::Request).get() >= before + 100);
}

#[test]
fn a_log_that_was_moved_away_is_opened_anew() {
    let directory = tempfile::tempdir().unwrap();
    let [log, old] = ["log", "old"].map(|name| directory.path().join(name));
    let lines = Lines::start(Output::file(&log).unwrap()).unwrap();
    lines.push(Kind::Request, "one\n".to_owned());
    assert!(lines.flush(LONG));
    fs::rename(&log, &old).unwrap();
    lines.push(Kind::Request, "two\n".to_owned());
    lines.reopen();
    lines.push(Kind::Request, "three\n".to_owned());
    assert!(lines.flush(LONG));
    assert_eq!(fs::read_to_string(&old).unwrap(), "one\ntwo\n");
    assert_eq!(fs::read_to_string(&log).unwrap(), "three\n");
    // A name that cannot be opened: better the old one than none.
    fs::remove_file(&log).unwrap();
    fs::create_dir(&log).unwrap();
    lines.reopen();
    lines.push(Kind::Request, "four\n".to_owned());
    assert!(lines.flush(LONG));
    assert_eq!(lost_of(&lines, Kind::Request), 0);
}

#[test]
fn what_nobody_reads_any_more_is_counted() {
    let (lines, reader) = piped();
    drop(reader);
    for _ in 0..10 {
        lines.push(Kind::Request, "line\n".to_owned());
    }
    assert!(lines.flush(LONG) && waiting(&lines) == 0);
    assert_eq!(lost_of(&lines, Kind::Request), 10);
}

#[test]
fn a_journal_gets_each_entry_by_itself_also_after_it_was_started_anew() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("socket");
    let refused = Output::journal(&path).unwrap_err().to_string();
    assert!(refused.contains("socket: ") && refused.contains("`access_log`"), "{refused}");
    let listen = || {
        let journal = UnixDatagram::bind(&path).unwrap();
        journal.set_read_timeout(Some(LONG)).unwrap();
        journal
    };
    let next = |journal: &UnixDatagram| {
        let mut entry = [0; 100];
        let count = journal.recv(&mut entry).unwrap();
        String::from_utf8(entry[..count].to_vec()).unwrap()
    };
    let journal = listen();
    let lines = Lines::start(Output::journal(&path).unwrap()).unwrap();
    for number in 0..3 {
        lines.push(Kind::Request, format!("MESSAGE={number}\nPRIORITY=6\n"));
    }
    for number in 0..3 {
        assert_eq!(next(&journal), format!("MESSAGE={number}\nPRIORITY=6\n"));
    }
    drop(journal);
    fs::remove_file(&path).unwrap();
    lines.push(Kind::Request, "MESSAGE=lost\n".to_owned());
    assert!(lines.flush(LONG));
    assert_eq!(lost_of(&lines, Kind::Request), 1);
    let journal = listen();
    lines.push(Kind::Request, "MESSAGE=new\n".to_owned());
    assert_eq!(next(&journal), "MESSAGE=new\n");
}

#[test]
fn a_fifo_without_a_reader_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let fifo = directory.path().join("fifo");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let error = Output::file(&fifo).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(rustix::io::Errno::NXIO.raw_os_error()));
}
