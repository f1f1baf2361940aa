//! Against the values of the issue, closed forms of the exponential law, and the exact servers of
//! `ideal`, which know nothing of the fluid limit.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use weir_workload::law::parse;

use super::*;
use crate::ideal::{Job, processor_sharing, srpt};

fn model(law: &str, high: f64, low: f64, period: f64) -> OnOff {
    OnOff::new(parse(law).unwrap().as_ref(), high, low, period).unwrap()
}

#[test]
fn the_values_of_the_issue() {
    let model = model("exponential:mean=1", 1.5, 0.0, 100.0);
    assert!((model.fair(1.0).unwrap() - 27.41).abs() < 0.005);
    assert!((model.fair(4.0).unwrap() - 80.62).abs() < 0.005);
    assert!((model.cutoff_size() - 2.289).abs() < 0.0005);
    assert!((model.srpt(4.0).unwrap() - 86.26).abs() < 0.005);
    assert_eq!(model.srpt(2.2).unwrap(), 0.0);
    // Of the exponential law α = λ - 1, as the memoryless backlog leaves at a rate of 1 each.
    assert!((model.growth() - 0.5).abs() < 1e-12);
    assert!((model.drain_time() - 50.0).abs() < 1e-12);
}

#[test]
fn exponential_sizes_with_a_low_load_have_a_closed_form() {
    // The drain's renewal equation is solved by n(v) = e^(-(1 - λ)v).
    for (high, low, size) in [(1.5, 0.2, 4.0), (1.1, 0.7, 0.5), (2.5, 0.9, 20.0), (1.5, 1e-9, 1.0)]
    {
        let (growth, idle): (f64, f64) = (high - 1.0, 1.0 - low);
        let during = 1.0 - (-growth * size).exp();
        let gap = growth - idle;
        let late = if gap.abs() < 1e-9 {
            growth * size * (-idle * size).exp()
        } else {
            growth * (-idle * size).exp() * -(-gap * size).exp_m1() / gap
        };
        let wanted = 100.0 * (during / 2.0 + growth / idle * (during - late));
        let found = model("exponential:mean=1", high, low, 100.0).fair(size).unwrap();
        assert!((found / wanted - 1.0).abs() < 1e-5, "{high} {low} {size}: {found} {wanted}");
    }
}

#[test]
fn low_load_lengthens_the_drain_of_what_srpt_left() {
    let model = model("exponential:mean=1", 1.5, 0.5, 100.0);
    let below = 1.0 - 5.0 * (-4.0_f64).exp();
    let wanted = 50.0 + (1.5 * below - 1.0) * 100.0 / (1.0 - 0.5 * below);
    assert!((model.srpt(4.0).unwrap() - wanted).abs() < 1e-6);
    assert!((model.drain_time() - 100.0).abs() < 1e-9);
}

#[test]
fn jobs_of_one_size_are_first_come_first_served_under_srpt() {
    // Backlog (ρ - 1)s at s: the wait is its length, halfway on average.
    let model = model("deterministic:size=1", 1.5, 0.0, 60.0);
    assert_eq!(model.cutoff_size(), 1.0);
    assert!((model.srpt(1.0).unwrap() - 15.0).abs() < 1e-9);
    assert!((model.srpt(2.0).unwrap() - 60.0).abs() < 1e-9);
    assert_eq!(model.srpt(0.9).unwrap(), 0.0);
}

#[test]
fn the_largest_jobs_leave_when_the_server_is_empty() {
    let model = model("bounded-pareto:min=1,max=1e4,alpha=1.1", 1.3, 0.25, 1e6);
    let wanted = 5e5 + model.drain_time();
    assert!((model.srpt(1e4).unwrap() / wanted - 1.0).abs() < 1e-9);
    let fair = model.fair(1e9).unwrap();
    assert!((fair / wanted - 1.0).abs() < 1e-3, "{fair} {wanted}");
}

#[test]
fn the_server_does_not_mind_the_unit() {
    let (one, other) = (model("carter", 1.2, 0.3, 1e7), model("carter", 1.2, 0.3, 3e7));
    let fair = other.fair(5000.0).unwrap() / one.fair(5000.0).unwrap();
    assert!((fair - 3.0).abs() < 1e-9, "{fair}");
    assert!(one.fair(1e-9).unwrap() < 1e-6, "tiny jobs, tiny times");
}

/// Mean response times, in periods, of jobs of one size that arrive during the overload: exact
/// servers, Poisson arrivals, the period `length` mean sizes long. Probes of the size come with the
/// others but at so low a rate that they do not matter.
fn simulated(law: &str, high: f64, low: f64, size: f64, length: f64, seed: u64) -> [f64; 2] {
    let law = parse(law).unwrap();
    let mean = law.mean();
    let period = length * mean;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let drained = period * (1.0 + 1.5 * (high - 1.0) / (1.0 - low));
    let mut jobs = Vec::new();
    let mut now = 0.0;
    loop {
        let load = if now < period { high } else { low };
        if load == 0.0 {
            break;
        }
        let before = now;
        now -= (1.0 - random.random::<f64>()).ln() * mean / load;
        if before < period && now > period {
            // Poisson arrivals do not remember: begin anew at the change of rate.
            now = period;
            continue;
        }
        if now > drained {
            break;
        }
        jobs.push((now, law.quantile(random.random()), false));
    }
    let probes = 60;
    for i in 0..probes {
        let at = (f64::from(i) + random.random::<f64>()) / f64::from(probes);
        jobs.push((at * period, size, true));
    }
    jobs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let plain: Vec<Job> =
        jobs.iter().map(|(arrival, work, _)| Job { arrival: *arrival, work: *work }).collect();
    [processor_sharing(&plain, 1.0), srpt(&plain, 1.0)].map(|finish| {
        let responses = finish.iter().zip(&jobs).filter(|(_, job)| job.2);
        let sum: f64 = responses.map(|(finish, job)| finish - job.0).sum();
        sum / f64::from(probes) / period
    })
}

#[test]
fn exact_servers_come_near_the_fluid_limit() {
    // Law, loads, a size above the cutoff, and how near a period of 150,000 mean sizes must come.
    for (law, high, low, size, near) in [
        ("exponential:mean=1", 1.5, 0.0, 4.0, 0.02),
        ("exponential:mean=1", 1.5, 0.4, 4.0, 0.02),
        ("exponential:mean=1", 1.5, 0.4, 0.7, 0.02),
        ("bounded-pareto:min=1,max=100,alpha=1.3", 1.4, 0.3, 30.0, 0.03),
        ("deterministic:size=1", 1.5, 0.3, 1.0, 0.02),
        ("specweb96", 1.6, 0.3, 40960.0, 0.04),
    ] {
        let model = model(law, high, low, 1.0);
        let [fair, srpt] = simulated(law, high, low, size, 150_000.0, 7);
        let (wanted_fair, wanted_srpt) = (model.fair(size).unwrap(), model.srpt(size).unwrap());
        let close = |a: f64, b: f64| (a - b).abs() < near * b + 0.002;
        assert!(close(fair, wanted_fair), "{law} {size}: fair {fair} {wanted_fair}");
        assert!(close(srpt, wanted_srpt), "{law} {size}: srpt {srpt} {wanted_srpt}");
    }
}

#[test]
fn small_arguments_cancel_nowhere() {
    // Both kernels' leading terms: aη - η²/2 and ab²/2 - b³/6.
    for scale in [1e-3, 1e-6, 1e-9] {
        let (a, b) = (2.0 * scale, scale);
        assert!((drained(a, b) / (1.5 * scale * scale) - 1.0).abs() < 3.0 * scale);
        assert!((after(a, b) / (scale.powi(3) * 5.0 / 6.0) - 1.0).abs() < 3.0 * scale);
    }
    // No jumps between the ways of writing them.
    for (a, b) in [(1.0, 0.5), (3.0, 1.0), (1.0, 1.0), (2.0, 2.0), (0.05, 0.05)] {
        for kernel in [drained, after] {
            let around = [(a, b - 1e-9), (a, b + 1e-9), (a - 1e-9, b), (a + 1e-9, b)];
            let here = kernel(a, b);
            assert!(around.iter().all(|(a, b)| (kernel(*a, *b) - here).abs() < 1e-8), "{a} {b}");
        }
    }
    assert!((drained(2000.0, 1500.0) - 1500.0).abs() < 1e-9);
    assert!((after(2000.0, 1500.0) - 1499.0).abs() < 1e-9);
    assert!((after(1500.0, 2000.0) - 1499.0).abs() < 1e-9);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let law = parse("exponential:mean=1").unwrap();
    for (high, low, period, wanted) in [
        (1.0, 0.0, 1.0, "high load is 1;"),
        (f64::NAN, 0.0, 1.0, "high load is NaN"),
        (1e300, 0.0, 1.0, "at most 1000000"),
        (1.5, 0.0, 1e300, "1e-15 to 1e15 times their mean"),
        (1.5, 1.0, 1.0, "low load is 1;"),
        (1.5, -0.1, 1.0, "low load is -0.1"),
        (1.5, 0.0, 0.0, "period is 0"),
        (1.5, 0.0, f64::INFINITY, "period is inf"),
    ] {
        let error = OnOff::new(law.as_ref(), high, low, period).unwrap_err().0;
        assert!(error.contains(wanted), "{error}");
    }
    let model = OnOff::new(law.as_ref(), 1.5, 0.0, 1.0).unwrap();
    for size in [0.0, -1.0, 1e200, f64::NAN, f64::INFINITY] {
        assert!(model.fair(size).is_err() && model.srpt(size).is_err(), "{size}");
    }
    // At the ends of what is allowed there are numbers; a job above all others leaves last.
    let low = OnOff::new(law.as_ref(), 1.5, 0.2, 100.0).unwrap();
    for size in [2e-30, 9e14] {
        assert!(low.fair(size).unwrap().is_finite() && low.srpt(size).unwrap().is_finite());
    }
    let last = 50.0 + low.drain_time();
    assert!((low.fair(9e14).unwrap() / last - 1.0).abs() < 1e-3, "{:?}", low.fair(9e14));
    let most = OnOff::new(law.as_ref(), 1e6, 0.0, 9e14).unwrap();
    assert!(most.fair(1.0).unwrap().is_finite() && most.cutoff_size() > 0.0);
}
