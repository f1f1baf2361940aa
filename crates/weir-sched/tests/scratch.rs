//! not committed
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::time::Duration;
use weir_sched::{BackendConfig, BackendGate, Call, CallNext, CallSpec, Time};

const F21: [(f64, [f64; 9]); 4] = [
    (1.0, [0.0102, 0.0167, 0.0276, 0.0455, 0.1500, 0.0455, 0.0276, 0.0167, 0.0102]),
    (10.0, [0.0145, 0.0239, 0.0394, 0.0650, 0.2143, 0.0650, 0.0394, 0.0239, 0.0145]),
    (100.0, [0.0041, 0.0067, 0.0110, 0.0182, 0.0600, 0.0182, 0.0110, 0.0067, 0.0041]),
    (1000.0, [0.0003, 0.0005, 0.0008, 0.0013, 0.0043, 0.0013, 0.0008, 0.0005, 0.0003]),
];

struct Law {
    name: &'static str,
    sizes: Vec<(f64, f64)>,
}
impl Law {
    fn draw(&self, r: &mut Xoshiro256PlusPlus) -> f64 {
        let u: f64 = r.random();
        match self.name {
            "const" => 1.0,
            "uniform.5-1.5" => 0.5 + u,
            "exp" => -(1.0 - u).ln(),
            _ => {
                let mut at = u;
                for (s, w) in &self.sizes {
                    at -= w;
                    if at < 0.0 {
                        return *s;
                    }
                }
                self.sizes[0].0
            }
        }
    }
}
fn law(name: &'static str) -> Law {
    let mut sizes = vec![];
    for (unit, ws) in F21 {
        for (i, w) in ws.iter().enumerate() {
            sizes.push((unit * (i + 1) as f64, *w));
        }
    }
    let all: f64 = sizes.iter().map(|s| s.1).sum();
    let mean: f64 = sizes.iter().map(|s| s.0 * s.1 / all).sum();
    Law { name, sizes: sizes.into_iter().map(|(s, w)| (s / mean, w / all)).collect() }
}

/// always `backlog` waiting. Returns (used, mean limit, [limit at], trace)
fn run(
    law: &Law,
    ms: f64,
    workers: usize,
    gap: f64,
    answers: usize,
    warm: usize,
    seed: u64,
    trace: bool,
) -> (f64, f64, Vec<(f64, u32)>) {
    let mut r = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut gate = BackendGate::new(BackendConfig::default());
    let mut ev: BinaryHeap<Reverse<(Time, u64, u8, usize)>> = BinaryHeap::new();
    let mut calls: Vec<Call> = vec![];
    let (mut n, mut tag, mut now) = (0u64, 0u64, Time::ZERO);
    let mut inside: VecDeque<usize> = VecDeque::new();
    let mut busy = 0usize;
    let mut work = 0.0;
    let mut from = Time::ZERO;
    let mut limits = vec![];
    let mut lsum = 0.0;
    let mut last = Time::ZERO;
    let mut done = 0;
    loop {
        while gate.waiting() < 50 {
            tag += 1;
            gate.arrive(now, CallSpec { tag, client: tag, ..CallSpec::default() });
        }
        loop {
            match gate.next(now) {
                CallNext::Start { call, .. } => {
                    n += 1;
                    calls.push(call);
                    ev.push(Reverse((
                        now + Duration::from_secs_f64(gap / 1e3),
                        n,
                        0,
                        calls.len() - 1,
                    )));
                    while gate.waiting() < 50 {
                        tag += 1;
                        gate.arrive(now, CallSpec { tag, client: tag, ..CallSpec::default() });
                    }
                }
                CallNext::Refuse { .. } => {}
                _ => break,
            }
        }
        if limits.last().is_none_or(|(_, l)| *l != gate.limit()) {
            limits.push((now.as_nanos() as f64 / 1e6, gate.limit()));
        }
        let Some(Reverse((at, _, kind, call))) = ev.pop() else { break };
        lsum += gate.limit() as f64 * at.since(last).as_secs_f64();
        last = at;
        now = at;
        if kind == 0 {
            inside.push_back(call)
        } else {
            busy -= 1;
            gate.answered(now, calls[call]);
            gate.ended(now, calls[call]);
            done += 1;
            if done == warm {
                from = now;
                work = 0.0;
                lsum = 0.0;
            }
            if done >= answers {
                break;
            }
        }
        while busy < workers
            && let Some(call) = inside.pop_front()
        {
            busy += 1;
            let s = law.draw(&mut r) * ms;
            work += s;
            n += 1;
            ev.push(Reverse((now + Duration::from_secs_f64(s / 1e3), n, 1, call)));
        }
    }
    let _ = trace;
    let t = now.since(from).as_secs_f64();
    (work / 1e3 / t / workers as f64, lsum / t, limits)
}

#[test]
fn table() {
    let only = std::env::var("ONLY").unwrap_or_default();
    for name in ["const", "uniform.5-1.5", "exp", "carter"] {
        for workers in [1usize, 8, 64] {
            for ms in [0.1, 1.0, 10.0, 100.0] {
                let mut line = format!("{name:>14} {workers:>3} x {ms:>5} ms:");
                if !only.is_empty() && !line.contains(&only) {
                    continue;
                }
                for gap in [0.0, 0.02, 0.2, 1.0, 5.0] {
                    let (mut u, mut l) = (0.0, 0.0);
                    let mut least: f64 = 1.0;
                    for seed in 1..=3 {
                        let a = run(
                            &law(name),
                            ms,
                            workers,
                            gap,
                            std::env::var("N").map_or(20_000, |n| n.parse().unwrap()),
                            3000,
                            seed,
                            false,
                        );
                        u += a.0 / 3.0;
                        l += a.1 / 3.0;
                        least = least.min(a.0);
                    }
                    line += &format!("  {gap}: {u:.3} ({least:.3}) L {l:.1}");
                }
                println!("{line}");
            }
        }
    }
}

#[test]
fn trace() {
    let get = |k: &str, d: f64| std::env::var(k).ok().and_then(|v| v.parse().ok()).unwrap_or(d);
    let name = match std::env::var("LAW").as_deref() {
        Ok("const") => "const",
        Ok("exp") => "exp",
        Ok("uni") => "uniform.5-1.5",
        _ => "carter",
    };
    let (u, l, t) = run(
        &law(name),
        get("MS", 10.0),
        get("W", 1.0) as usize,
        get("GAP", 0.2),
        get("N", 5000.0) as usize,
        0,
        get("SEED", 1.0) as u64,
        true,
    );
    println!("{u:.4} {l:.2}");
    for (at, l) in t.iter().take(60) {
        println!("{at:.1} ms: {l}");
    }
}
