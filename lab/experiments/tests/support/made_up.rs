//! Outcomes that nobody measured, shaped like those of real runs, to try reports and verdicts with.

use std::collections::BTreeMap;

use weir_experiments::cell::{Demand, Files, Load, Phase, What};
use weir_experiments::outcome::{
    Class, Estimate, Figures, FilesOutcome, Ideal, Observed, PhaseOutcome, Ready, SHARES, Sample,
    SearchEnd, Served, SizeClass, Summary, Times,
};
use weir_experiments::{Cell, Outcome};

/// Mean response time of a system on W1, in milliseconds.
fn mean_of(system: &str) -> f64 {
    match system.split(' ').next().unwrap_or(system) {
        "weir:srpt" => 36.0,
        "weir-kernel:bands" => 60.0,
        "weir:protective" => 38.0,
        "weir:fsp" => 40.0,
        "weir:bands" => 55.0,
        "weir:fair" => 205.0,
        "nginx" => 400.0,
        _ => 650.0,
    }
}

/// An outcome that counts, and that is the same for the same cell.
pub(crate) fn outcome(cell: &Cell) -> Outcome {
    // A few per cent from seed to seed, the same for all systems, and a little of each system's own.
    let wave = |phase: f64| 1.0 + 0.06 * (cell.seed as f64 * 2.3 + phase).sin();
    let own = 1.0 + 0.02 * (cell.seed as f64 * 1.7 + cell.system.len() as f64).cos();
    let network = &cell.network;
    let wan = network.round_trip_ms * 2.5 + network.loss * 6000.0;
    let short = if network.queue < 500 && !cell.system.starts_with("weir") { 2.0 } else { 1.0 };
    let mean = (mean_of(&cell.system) * short + wan) * wave(0.0) * own;
    let (periods, duration) = match &cell.demand {
        Demand::Open { periods, duration, .. } | Demand::Trace { periods, duration, .. } => {
            (periods.clone(), *duration)
        }
        Demand::Classes { duration, .. } | Demand::Closed { duration, .. } => {
            (Vec::new(), *duration)
        }
        Demand::Application { load, warm_up, window, after, .. } => {
            (vec![(warm_up + window, *load), (after + 1e-3, 0.5)], cell.demand.seconds())
        }
        Demand::Files(files) => (Vec::new(), files.seconds),
    };
    let seconds = duration as usize;
    let backlog = backlog(&periods, seconds);
    let most = backlog.iter().copied().fold(1.0, f64::max);
    let series = backlog.iter().map(|left| Some(mean * (0.2 + 3.0 * left / most))).collect();
    let by_size = (6..26).map(|bin| {
        let size = 10_f64.powf(f64::from(bin) / 4.0);
        (size, mean * 0.2 + mean_of("weir:srpt") * size / 4000.0)
    });
    Outcome {
        cell: cell.clone(),
        commit: "0123456789".to_owned(),
        requests: 23_000,
        measured: summary(mean, by_size.collect()),
        by_class: network
            .class_round_trips_ms
            .iter()
            .map(|ms| summary(mean + ms, Vec::new()))
            .collect(),
        ideal: (wan == 0.0).then(|| Ideal {
            srpt: summary(35.0 * wave(0.0), Vec::new()),
            sharing: summary(200.0 * wave(0.0), Vec::new()),
            late: if mean < 100.0 { 0.0005 } else { 0.6 },
            worst: if mean < 100.0 { 60.0 } else { 9000.0 },
        }),
        srpt_at_full_rate: (wan == 0.0).then_some(34.0 * wave(0.0)),
        incomplete: impatient(cell, [0.004, 0.03]),
        incomplete_largest: impatient(cell, [0.05, 0.1]),
        outcomes: BTreeMap::from([("ok".to_owned(), 23_000)]),
        link_use: vec![0.984, 0.985, 0.983],
        goodput_bytes: 780_000.0,
        responses_per_second: 153.0,
        dropped: 0,
        head_bytes: 190,
        samples: backlog
            .iter()
            .enumerate()
            .map(|(at, left)| sample(at, mean * left / most))
            .collect(),
        series,
        small_p95: vec![Some(mean); seconds / 60],
        distribution: SHARES.iter().map(|share| mean * 0.1 / (1.02 - share)).collect(),
        lag_p99: 0.1,
        read_lag_p99: Some(0.1),
        steal: 0.0,
        idle: 0.6,
        server_cpu: 3.0,
        invalid: Vec::new(),
        served: cell.users.abort_after.map(|_| served(&cell.system)),
        application: application(cell),
        files: files(cell, wave(0.0) * own),
    }
}

/// A share of users who left, of weir's and of others'; none where nobody leaves.
fn impatient(cell: &Cell, [weir, others]: [f64; 2]) -> f64 {
    match cell.users.abort_after {
        None => 0.0,
        Some(_) if cell.system.starts_with("weir") => weir,
        Some(_) => others,
    }
}

/// weir's bytes are of use, others' are not.
fn served(system: &str) -> Served {
    let share = if system.starts_with("weir") { 0.99 } else { 0.6 };
    let class = |up_to| SizeClass { up_to, asked: 1000, complete: (1000.0 * share) as usize };
    Served {
        link_bytes: 150_000_000,
        useful_bytes: (150e6 * share) as u64,
        classes: [1_000, 2_000, 5_000, 50_000, 500_000, u64::MAX].map(class).into(),
    }
}

/// weir answers whom it can, others nobody under overload.
fn application(cell: &Cell) -> Option<Figures> {
    let Demand::Application { service, load, after, .. } = cell.demand else { return None };
    let busy = load.min(1.0);
    let useful = match load <= 1.0 || cell.system.starts_with("weir") {
        true => busy * 0.99,
        false => 0.001,
    };
    let count = if cell.system.ends_with("shortest-expected") { 2.2 } else { 1.0 };
    let success = useful / load;
    let classes = [350, 500, 140, 10]
        .map(|asked| Class { asked, answered: (asked as f64 * success) as usize });
    let wave = 1.0 + 0.001 * (cell.seed as f64 * 2.3).sin();
    let estimate = |mean: f64| Estimate { mean: mean * wave, half_width: 0.01 };
    Some(Figures {
        useful_requests: estimate(useful * count),
        useful_work: estimate(useful),
        busy,
        wasted: busy - useful,
        classes,
        inequality: 0.0,
        success,
        refused: 0.0,
        given_up: 1.0 - success,
        failed: 0.0,
        mean_ms: Some(service * 2e3 * wave),
        p99_ms: Some(service * 2e4),
        attempt_ms: Some(service * 2e3),
        recovery: (after > 0.0).then_some(service * 10.0),
        late_p99_ms: 0.05,
        bin: service * 100.0,
        series_work: vec![useful; 100],
    })
}

/// A server that waits for its disk is the slower, the more is asked for and the slower the disk; weir
/// is not.
fn files(cell: &Cell, wave: f64) -> Option<FilesOutcome> {
    let Demand::Files(files) = &cell.demand else { return None };
    let blocks = !cell.system.starts_with("weir") || cell.system.contains("blocks");
    let capacity = if blocks { 4000.0 } else { 9000.0 } * wave;
    let phases = files.phases.iter().map(|phase| disk_phase(*phase, files, blocks, capacity));
    Some(FilesOutcome {
        capacity: Some(capacity),
        search_end: Some(SearchEnd::Server),
        nginx: Some(4000.0),
        hot_share: 0.7,
        phases: phases.collect(),
    })
}

fn disk_phase(phase: Phase, files: &Files, blocks: bool, capacity: f64) -> PhaseOutcome {
    let load = match phase.load {
        Load::Saturated => 1.2,
        Load::Own(share) => share,
        Load::Nginx(share) => share * 4000.0 / capacity,
        Load::Rate(rate) => rate / capacity,
    };
    let waits = blocks && phase.what != What::InMemory && files.set > files.memory;
    let median = if waits { 40.0 * load * files.disk.seek_ms } else { 0.3 } * 4000.0 / capacity;
    let times = |most: f64| Times {
        count: 10_000,
        mean: median * 1.5,
        percentiles: (0..=100)
            .map(|percent| median * (most / 2.0).powf(percent as f64 / 50.0 - 1.0))
            .collect(),
    };
    let series = vec![25, 28, 24, 23];
    PhaseOutcome {
        phase,
        offered: (phase.load != Load::Saturated).then_some(load * capacity),
        requests: 10_000,
        per_second: load.min(1.0) * capacity,
        megabits: load.min(1.0) * capacity * 0.12,
        incomplete: if waits { 0.02 } else { 0.001 },
        all: times(60.0),
        hot: times(20.0),
        inversion: Some(if waits { 0.5 } else { 0.33 } + 0.01 * load),
        composition: Some(weir_stats::composition::Composition {
            limits: weir_stats::composition::RUAN_SERIES.to_vec(),
            deciles: vec![series; 10],
        }),
        reads_per_1000: if blocks { 9.0 } else { 8.0 },
        reads_per_second: 400.0,
        busy: if blocks { 0.6 } else { 0.98 },
        scanned: (phase.what == What::Scanned).then_some(1.0),
        observed: (phase.what == What::Watched).then_some(Observed {
            ready: Some(Ready {
                mean: 30.0,
                median: 8.0,
                most: 400.0,
                above_100: 0.1,
                counts: vec![(8, 6), (20, 3), (400, 1)],
            }),
            runnable: Some([0.3, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05, 0.05, 0.05, 0.1, 0.1]),
            mean_runnable: Some(0.35),
            lost_events: 0,
        }),
        waiting: (phase.load == Load::Saturated && !blocks).then_some(50),
        invalid: Vec::new(),
    }
}

/// Seconds of work that wait, second by second.
fn backlog(periods: &[(f64, f64)], seconds: usize) -> Vec<f64> {
    let mut waiting = 0.0;
    let cycle: f64 = periods.iter().map(|period| period.0).sum();
    let load = |at: usize| {
        let mut into = at as f64 % cycle.max(1.0);
        for &(length, load) in periods {
            if into < length {
                return load;
            }
            into -= length;
        }
        0.9
    };
    (0..seconds)
        .map(|at| {
            waiting = f64::max(0.0, waiting + load(at) - 1.0);
            waiting + 0.05 * (at as f64 * 1.3).sin().abs()
        })
        .collect()
}

fn summary(mean: f64, by_size: Vec<(f64, f64)>) -> Summary {
    Summary {
        count: 23_000,
        mean,
        variance: mean / 60.0,
        median: mean * 0.3,
        p95: mean * 4.0,
        p99: mean * 8.0,
        largest: mean + 2500.0,
        very_largest: mean + 15_000.0,
        deciles: (1..=10).map(|tenth| mean * f64::from(tenth) / 6.0).collect(),
        by_size,
    }
}

fn sample(at: usize, waiting: f64) -> Sample {
    Sample {
        at: at as f64,
        established: waiting as u32,
        syn_received: 0,
        closing: 2,
        listen_queue: 0,
        listen_drops: 0,
        queue_drops: 0,
        queue_length: 20,
        cpu: at as f64 * 0.02,
        memory: 9_000_000,
    }
}
