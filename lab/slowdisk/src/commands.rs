//! The commands that the program `slowdisk` reads on stdin: model, fail, hang, remount, counts,
//! reset.

use std::sync::Weak;

use serde::Serialize;
use slowdisk::{Counts, Disk, Model};

/// Carry out commands until stdin ends or the disk does. Each is answered with a
/// line on stdout: `ok`, the counts, or what is wrong with it.
pub(crate) fn obey(disk: &Weak<Disk>, model: Model) {
    for line in std::io::stdin().lines() {
        let (Ok(line), Some(disk)) = (line, disk.upgrade()) else { return };
        match carry_out(&disk, model, &line) {
            Ok(answer) => println!("{answer}"),
            Err(error) => println!("error: {error}"),
        }
    }
}

fn carry_out(disk: &Disk, model: Model, line: &str) -> Result<String, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words.as_slice() {
        [] => return Ok(String::new()),
        ["model", how] => disk.set_model(on(how)?.then_some(model)),
        ["fail", how] => disk.fail_reads(on(how)?),
        ["hang", how] => disk.hang(on(how)?),
        ["remount"] => disk.remount().map_err(|e| e.to_string())?,
        ["reset"] => disk.reset_counts(),
        ["counts"] => return json(disk.counts()),
        _ => {
            return Err(format!(
                "no such command: {line:?}; there are: model on|off, fail on|off, \
                 hang on|off, remount, counts, reset"
            ));
        }
    }
    Ok("ok".into())
}

fn on(how: &str) -> Result<bool, String> {
    match how {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(format!("on or off, not {how:?}")),
    }
}

/// The counts with the busy time in seconds.
fn json(counts: Counts) -> Result<String, String> {
    #[derive(Serialize)]
    struct Line {
        reads: u64,
        read_bytes: u64,
        writes: u64,
        written_bytes: u64,
        sequential: u64,
        busy_seconds: f64,
        most_waiting: usize,
    }
    let Counts { reads, read_bytes, writes, written_bytes, sequential, busy, most_waiting } =
        counts;
    let busy_seconds = busy.as_secs_f64();
    let line =
        Line { reads, read_bytes, writes, written_bytes, sequential, busy_seconds, most_waiting };
    serde_json::to_string(&line).map_err(|e| e.to_string())
}
