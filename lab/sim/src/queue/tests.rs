//! The server against worked cases, the ideal servers, closed forms and the policies' promises.

use proptest::prelude::*;
use weir_sched::policy::{self, Choice};
use weir_workload::law;

use super::*;
use crate::ideal;

/// Sizes and times are whole numbers or halves, so floats are exact.
fn jobs(pairs: &[(f64, f64)]) -> Vec<Job> {
    pairs.iter().map(|&(arrival, size)| Job { arrival, size }).collect()
}

fn worked_case() -> Vec<Job> {
    jobs(&[(0.0, 4.0), (1.0, 2.0), (2.0, 1.0)])
}

fn queue(discipline: Discipline, jobs: &[Job]) -> Queue {
    Queue::new(discipline, Sizes::of_jobs(jobs).expect("some jobs"))
}

/// Departures in order of arrival.
fn departures(queue: &Queue, jobs: &[Job]) -> Vec<Departure> {
    let mut all = Vec::new();
    queue.serve(jobs.iter().copied(), |departure| all.push(*departure));
    all.sort_by_key(|departure| departure.index);
    assert_eq!(all.len(), jobs.len(), "everybody leaves");
    for (index, (departure, job)) in all.iter().zip(jobs).enumerate() {
        assert_eq!((departure.index, departure.job), (index as u64, *job));
    }
    all
}

fn finishes(discipline: Discipline, jobs: &[Job]) -> Vec<f64> {
    departures(&queue(discipline, jobs), jobs).iter().map(|d| d.finish).collect()
}

fn tally(queue: &Queue, jobs: &[Job]) -> Tally {
    let mut tally = Tally::new(0, jobs.len() as u64, queue.sizes.mean, Vec::new());
    queue.serve(jobs.iter().copied(), |departure| tally.add(departure));
    tally
}

#[test]
fn the_worked_case() {
    // fsp: fair sharing would finish the third at 5, the second at 6, the first at 7. So the
    // second goes before the first at 1, the third before the second at 2, until 3.
    // las: at 1 the second begins, at 2 the third, which has had 1 at 3, as the others by then; it
    // leaves, and the others share until the second has had 2, at 5.
    for (policy, expected) in [
        (policy::FIFO, [4.0, 6.0, 7.0]),
        (policy::SRPT, [7.0, 3.0, 4.0]),
        (policy::PSJF, [7.0, 4.0, 3.0]),
        (policy::LAS, [7.0, 5.0, 3.0]),
        (policy::FSP, [7.0, 4.0, 3.0]),
        (policy::PROTECTIVE, [7.0, 3.0, 4.0]),
        (policy::BANDS, [4.0, 6.0, 7.0]),
    ] {
        assert_eq!(finishes(Discipline::Policy(policy), &worked_case()), expected, "{policy}");
    }
    assert_eq!(finishes(Discipline::Sharing, &worked_case()), [7.0, 6.0, 5.0]);
    let fair = finishes(Discipline::Policy(policy::FAIR), &worked_case());
    for (found, exact) in fair.iter().zip([7.0, 6.0, 5.0]) {
        assert!((found - exact).abs() < 0.1, "fair: {fair:?}");
    }
    let ageing = finishes(Discipline::Policy(policy::AGEING), &worked_case());
    // At 1 the first has 3 left and a tenth of 1 for waiting, the second 2.
    assert_eq!(ageing, [7.0, 3.0, 4.0]);
}

#[test]
fn ageing_lets_a_large_job_pass_once_it_has_waited() {
    // A tenth of the time waited is taken from what is left: the first, with 10 left, goes before
    // jobs of 1 that come after 90.
    let mut all = vec![Job { arrival: 0.0, size: 10.0 }];
    all.extend((0..400).map(|i| Job { arrival: f64::from(i), size: 1.0 }));
    let ageing = finishes(Discipline::Policy(policy::AGEING), &all);
    assert_eq!(ageing[0], 101.0);
    assert_eq!(finishes(Discipline::Policy(policy::SRPT), &all)[0], 410.0);
}

#[test]
fn bands_go_by_bytes_that_remain_and_first_come_inside() {
    // At 500 the first has 1499.5 left and is in the class below 2000 as the second, at 1500.5 it
    // has left 499, below 1000 as the third and before it.
    let all = jobs(&[(0.0, 1999.5), (500.0, 1001.0), (1500.5, 600.0), (1501.0, 100.0)]);
    let bands = finishes(Discipline::Policy(policy::BANDS), &all);
    assert_eq!(bands, [1999.5, 3700.5, 2599.5, 2699.5]);
    // With a byte of a thousandth, classes are as many times finer.
    let smaller: Vec<Job> =
        all.iter().map(|j| Job { arrival: j.arrival / 1000.0, size: j.size / 1000.0 }).collect();
    let bands = Queue { byte: 0.001, ..queue(Discipline::Policy(policy::BANDS), &smaller) };
    assert!((departures(&bands, &smaller)[1].finish - 3.7005).abs() < 1e-9);
}

#[test]
fn equal_jobs_leave_in_order_of_arrival() {
    let same = jobs(&[(1.0, 3.0), (1.0, 3.0), (1.0, 3.0)]);
    for discipline in Discipline::all() {
        let found = finishes(discipline, &same);
        match discipline {
            Discipline::Sharing => assert_eq!(found, [10.0, 10.0, 10.0]),
            Discipline::Policy(kind) if kind == policy::LAS => {
                assert_eq!(found, [10.0, 10.0, 10.0]);
            }
            Discipline::Policy(kind) if kind == policy::FAIR => {
                assert!((9.9..=10.0).contains(&found[0]), "{found:?}");
            }
            // By quanta, in whatever order the policy chooses; together they take as long.
            Discipline::Policy(kind) if kind.needs().choice == Choice::Grant => {
                let last = found.iter().copied().fold(0.0, f64::max);
                assert!((last - 10.0).abs() < 1e-9, "{discipline}: {found:?}");
            }
            Discipline::Policy(_) => assert_eq!(found, [4.0, 7.0, 10.0], "{discipline}"),
        }
    }
}

#[test]
fn a_policy_by_quanta_comes_to_the_exact_server() {
    let all = random_jobs(3, 300, 0.8);
    let exact = finishes(Discipline::Policy(policy::LAS), &all);
    let sharing = finishes(Discipline::Sharing, &all);
    for (policy, exact) in [(policy::LAS, exact), (policy::FAIR, sharing)] {
        let quantum = Some(1e-3);
        let by_quanta = Queue { quantum, ..queue(Discipline::Policy(policy), &all) };
        for (departure, exact) in departures(&by_quanta, &all).iter().zip(exact) {
            let apart = (departure.finish - exact).abs();
            assert!(apart < 0.1, "{policy}: {departure:?} {exact}");
        }
    }
}

#[test]
fn fifo_is_the_policy_of_the_server() {
    let all = random_jobs(4, 1000, 0.9);
    let queue = queue(Discipline::Policy(policy::FIFO), &all);
    let mut by_policy = Vec::new();
    queue.run(Scheduled::new(policy::FIFO, &queue), all.iter().copied(), |departure| {
        by_policy.push(departure.finish);
    });
    by_policy.sort_by(f64::total_cmp);
    for (fast, slow) in finishes(queue.discipline, &all).iter().zip(by_policy) {
        assert!((fast - slow).abs() < 1e-9, "{fast} {slow}");
    }
}

#[test]
fn means_of_m_m_1_at_0_9_are_within_their_intervals() {
    let law = law::parse("exponential:mean=1").expect("a law");
    let count = 200_000;
    let sizes = Sizes::of_law(law.as_ref(), count).expect("a mean");
    // Schrage & Miller 1966 for SRPT; PSJF by its integral; the others 1 / (1 - load).
    for (name, expected) in
        [("fifo", 10.0), ("ps", 10.0), ("las", 10.0), ("srpt", 3.552), ("psjf", 4.052)]
    {
        let discipline = name.parse().expect("a policy");
        let queue = Queue { reference: false, ..Queue::new(discipline, sizes) };
        let mut tally = Tally::new(10_000, count, 1.0, Vec::new());
        let poisson = Poisson::new(law.as_ref(), 1.0, 0.9, 5).take(count as usize + 10_000);
        queue.serve(poisson, |departure| tally.add(departure));
        let found = tally.response_interval().expect("many jobs");
        assert_eq!(tally.jobs(), count);
        assert!(found.low() < expected && expected < found.high(), "{name}: {found:?}");
        assert!(found.half_width < 0.15 * expected, "{name}: {found:?}");
    }
}

#[test]
fn memory_is_by_the_jobs_that_are_present() {
    let law = law::parse("exponential:mean=1").expect("a law");
    let mut present = Present { both: true, ..Present::default() };
    let mut server = Sharing::default();
    let mut reference = Fifo::default();
    for job in Poisson::new(law.as_ref(), 1.0, 0.5, 1).take(10_000) {
        let place = present.add(job);
        server.arrive(job, place, &mut |place, at| present.leaves(place, at, &mut |_| {}));
        reference.arrive(job, place, &mut |p, at| present.leaves_sharing(p, at, &mut |_| {}));
    }
    assert!(present.jobs.len() < 50, "{}", present.jobs.len());
}

#[test]
fn who_asks_for_a_load_gets_it_and_the_same_sizes_at_another() {
    let law = law::parse("exponential:mean=2").expect("a law");
    let some = |load, seed| Poisson::new(law.as_ref(), 2.0, load, seed).take(100_000);
    let work: f64 = some(0.7, 1).map(|job| job.size).sum();
    let span = some(0.7, 1).last().expect("some").arrival;
    assert!((work / span - 0.7).abs() < 0.01, "{}", work / span);
    assert!(some(0.7, 1).zip(some(0.3, 1)).all(|(a, b)| a.size == b.size));
    assert!(some(0.7, 1).zip(some(0.7, 2)).any(|(a, b)| a.size != b.size));
}

#[test]
fn sizes_far_below_the_mean_are_as_the_law_has_them() {
    // One in a hundred is 1, all others are far below the mean.
    let all = [(1e-20, 99.0), (1.0, 1.0)];
    let law = weir_workload::law::Discrete::new("two", all).expect("a law");
    let small = Poisson::new(&law, 0.01, 0.5, 1).take(1000).map(|job| job.size);
    assert!(small.fold(1.0, f64::min) == 1e-20);
    let vast = law::parse("lognormal:mu=0,sigma=8").expect("a law");
    let error = Sizes::of_law(vast.as_ref(), 1000).expect_err("a tail").0;
    assert!(error.contains("shorter tail"), "{error}");
}

/// Heavy-tailed sizes at `load`.
fn random_jobs(seed: u64, count: usize, load: f64) -> Vec<Job> {
    let law = law::parse("bounded-pareto:min=1,max=1e4,alpha=1.1").expect("a law");
    Poisson::new(law.as_ref(), law.mean(), load, seed).take(count).collect()
}

fn assert_promises_hold(all: &[Job]) {
    let ends = busy_ends(all);
    let end = ends.last().copied().unwrap_or_default();
    let least = tally(&queue(Discipline::Policy(policy::SRPT), all), all);
    let least = least.mean_response().expect("jobs");
    for discipline in Discipline::all() {
        let queue = queue(discipline, all);
        let found = tally(&queue, all);
        let mean = found.mean_response().expect("jobs");
        assert!(mean >= least - 1e-9 * end, "{discipline}: {mean} {least}");
        let promised = match discipline {
            Discipline::Sharing => true,
            Discipline::Policy(kind) => kind.needs().fair_server,
        };
        if promised {
            assert_eq!(
                (found.late(), found.worst_lateness()),
                (Some(0.0), Some(0.0)),
                "{discipline}"
            );
        }
        // Work is conserved: whatever the order, all busy periods end when they end first come
        // first served.
        let mut last = std::collections::BTreeMap::new();
        for departure in departures(&queue, all) {
            let period = ends.partition_point(|end| *end <= departure.job.arrival);
            let latest: &mut f64 = last.entry(period).or_default();
            *latest = latest.max(departure.finish);
            let least = departure.job.arrival + departure.job.size;
            assert!(departure.finish >= least - 1e-9 * end, "{discipline}: {departure:?}");
        }
        for (found, end) in last.into_values().zip(&ends) {
            assert!((found - end).abs() <= 1e-9 * end, "{discipline}: {found} {end}");
        }
    }
}

/// When the server becomes idle.
fn busy_ends(all: &[Job]) -> Vec<f64> {
    let mut ends: Vec<f64> = Vec::new();
    for job in all {
        match ends.last_mut() {
            Some(end) if job.arrival < *end => *end += job.size,
            _ => ends.push(job.arrival + job.size),
        }
    }
    ends
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn nobody_is_late_and_shortest_first_has_the_least_mean(
        seed: u64, count in 1_usize..400, load in 0.3..3.0_f64,
    ) {
        assert_promises_hold(&random_jobs(seed, count, load));
    }

    #[test]
    fn nor_where_many_things_happen_at_once(
        steps in prop::collection::vec((0_u32..4, 1_u32..12), 1..80),
    ) {
        let mut at = 0;
        let all = steps.into_iter().map(|(gap, size)| {
            at += gap;
            Job { arrival: at.into(), size: size.into() }
        });
        assert_promises_hold(&all.collect::<Vec<_>>());
    }

    #[test]
    fn shortest_first_and_sharing_are_the_ideal_servers(
        seed: u64, count in 1_usize..1000, load in 0.3..1.5_f64,
    ) {
        let all = random_jobs(seed, count, load);
        let same: Vec<ideal::Job> =
            all.iter().map(|job| ideal::Job { arrival: job.arrival, work: job.size }).collect();
        for (discipline, exact) in [
            (Discipline::Policy(policy::SRPT), ideal::srpt(&same, 1.0)),
            (Discipline::Sharing, ideal::processor_sharing(&same, 1.0)),
        ] {
            for (found, exact) in finishes(discipline, &all).iter().zip(exact) {
                prop_assert!((found - exact).abs() <= 1e-9, "{discipline}: {found} {exact}");
            }
        }
    }
}
