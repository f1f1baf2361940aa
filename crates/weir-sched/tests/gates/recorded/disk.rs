//! The disk gate, with its defaults and with bounds so tight that all of them are met.

use std::collections::HashMap;
use std::time::Duration;

use weir_sched::{DiskConfig, DiskGate, DiskJob, DiskNext, Joined, Time};

use super::compare;
use super::script::{Digest, Numbers, moment};

const RECORDED: &[(&str, u64)] =
    &[("default", 0xB8FA_6D3A_5857_313F), ("tight", 0x4EA7_00FC_AA88_032B)];

const STEPS: u64 = 100_000;

#[test]
fn the_disk_gate_starts_what_it_started() {
    let tight = DiskConfig {
        under_way: 3,
        least_under_way: 1,
        late_after: Duration::from_millis(20),
        stuck_after: Duration::from_millis(200),
        most_stuck: 6,
        stuck_per_place: 2,
        ..DiskConfig::default()
    };
    let configs = [("default", DiskConfig::default()), ("tight", tight)];
    let digests = configs.map(|(name, config)| (name.to_owned(), play(config)));
    compare(RECORDED, &digests);
}

fn play(config: DiskConfig) -> u64 {
    let mut gate: DiskGate<u64> = DiskGate::new(config);
    let (mut numbers, mut digest) = (Numbers(1), Digest::new());
    let mut now = Time::from_nanos(1);
    // Every job that ever was, in order of arrival, and its place there.
    let (mut jobs, mut places) = (Vec::new(), HashMap::new());
    let mut running: Vec<DiskJob> = Vec::new();
    for _ in 0..STEPS {
        match numbers.below(100) {
            0..35 => {
                let (key, bytes) = (numbers.heavy_tailed(10), numbers.heavy_tailed(18));
                // Some requests have waited for other jobs before.
                let waited = if numbers.once_in(4) { numbers.heavy_tailed(14) } else { 0 };
                let since = now.before(Duration::from_micros(waited));
                match gate.join(key, bytes, key % 5, since, now) {
                    Joined::New(job) => {
                        places.insert(job, jobs.len() as u64);
                        jobs.push(job);
                        digest.note(&[0, places[&job]]);
                    }
                    Joined::Merged(job) => digest.note(&[1, places[&job]]),
                    Joined::Refused => digest.note(&[2]),
                }
            }
            35..70 => match gate.next(now) {
                DiskNext::Start(job) => {
                    digest.note(&[3, places[&job]]);
                    running.push(job);
                }
                DiskNext::Refuse(job) => digest.note(&[4, places[&job]]),
                DiskNext::Full { until } => digest.note(&[5, moment(until)]),
                DiskNext::Idle => digest.note(&[6]),
            },
            70..80 => {
                let from = jobs.len().saturating_sub(200);
                if let Some(job) = numbers.some_of(&jobs[from..]) {
                    digest.note(&[7, u64::from(gate.leave(job))]);
                }
            }
            80..95 => {
                if !running.is_empty() {
                    let place = numbers.below(running.len() as u64) as usize;
                    let job = running.swap_remove(place);
                    digest.note(&[8, gate.done(job, now) as u64]);
                    // A second report changes nothing.
                    digest.note(&[8, gate.done(job, now) as u64]);
                }
            }
            95..99 => now += Duration::from_micros(numbers.heavy_tailed(14)),
            _ => now += Duration::from_millis(numbers.heavy_tailed(10)),
        }
        let counts = [gate.waiting(), gate.under_way(), gate.stuck(), gate.limit()];
        digest.note(&counts.map(|count| count as u64));
    }
    digest.note(&[gate.merged()]);
    digest.value()
}
