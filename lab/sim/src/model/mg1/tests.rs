//! Against closed forms of the exponential and of one size, values integrated by other means, and
//! exact servers in virtual time.

mod servers;

use proptest::prelude::*;
use weir_workload::law::{Discrete, Ranges, parse};

use super::*;
use servers::{las, psjf, responses};

const PARETO: &str = "bounded-pareto:min=1,max=1e4,alpha=1.1";

fn queue(law: &str, load: f64) -> Mg1 {
    Mg1::new(parse(law).unwrap().as_ref(), load).unwrap()
}

fn near(found: f64, wanted: f64, relative: f64) -> bool {
    (found / wanted - 1.0).abs() < relative
}

#[test]
fn the_means_of_mm1_are_those_of_the_issue() {
    let queue = queue("exponential:mean=1", 0.9);
    for (order, wanted) in [
        (Order::Srpt, 3.552),
        (Order::Psjf, 4.052),
        (Order::Ps, 10.0),
        (Order::Las, 10.0),
        (Order::Fifo, 10.0),
    ] {
        let found = queue.mean_response(order).unwrap();
        assert!(near(found, wanted, 2e-4), "{order:?}: {found}");
    }
    assert!(near(queue.mean_response(Order::Las).unwrap(), 10.0, 1e-9));
    assert!(near(queue.response_of(Order::Ps, 3.0).unwrap(), 30.0, 1e-9));
    assert!(near(queue.response_of(Order::Fifo, 3.0).unwrap(), 12.0, 1e-9));
    assert!(near(queue.mean_slowdown(Order::Ps).unwrap(), 10.0, 1e-9));
}

#[test]
fn one_size_is_first_come_first_served_or_the_end_of_a_busy_period() {
    for load in [0.0, 0.3, 0.9, 0.999] {
        let queue = queue("deterministic:size=4", load);
        let wait = load * 4.0 / (2.0 * (1.0 - load));
        for order in [Order::Fifo, Order::Srpt, Order::Psjf] {
            assert!(near(queue.mean_response(order).unwrap(), 4.0 + wait, 1e-12), "{order:?}");
            assert!(near(queue.response_of(order, 4.0).unwrap(), 4.0 + wait, 1e-12), "{order:?}");
        }
        let together = (4.0 + wait) / (1.0 - load);
        assert!(near(queue.mean_response(Order::Las).unwrap(), together, 1e-12));
        assert!(near(queue.mean_slowdown(Order::Las).unwrap(), together / 4.0, 1e-12));
    }
}

/// Integrated with mpmath from the density, to 20 digits.
#[test]
fn bounded_pareto_sizes_agree_with_another_integration() {
    let found = |load, order| queue(PARETO, load).mean_response(order).unwrap();
    let slowdown = |load, order| queue(PARETO, load).mean_slowdown(order).unwrap();
    for (load, order, response, slow) in [
        (0.9, Order::Srpt, 17.957_697_940_88, 1.219_024_308_61),
        (0.9, Order::Psjf, 19.584_325_513_70, 1.223_194_611_30),
        (0.9, Order::Las, 27.779_640_028_66, 1.560_277_870_22),
        (0.9, Order::Fifo, 3_312.917_081_956, 1_732.938_274_698),
        (0.999, Order::Srpt, 278.261_601_256_5, 1.287_386_610_62),
        (0.999, Order::Psjf, 290.807_394_561_5, 1.293_345_512_01),
        (0.999, Order::Las, 2_697.588_031_079, 1.995_252_921_60),
        (0.999, Order::Fifo, 367_005.476_778_5, 192_246.148_491_5),
    ] {
        assert!(near(found(load, order), response, 1e-7), "{load} {order:?}");
        assert!(near(slowdown(load, order), slow, 1e-7), "{load} {order:?}");
    }
    let queue = queue("bounded-pareto:min=512,max=1e10,alpha=1.1", 0.7);
    for (order, response, slow, at_95) in [
        (Order::Srpt, 7_916.772_166_571, 1.105_314_106_99, 1.266_024_762_24),
        (Order::Psjf, 8_169.731_225_099, 1.107_302_748_96, 1.310_797_043_03),
        (Order::Las, 9_044.556_652_861, 1.250_936_159_96, 1.476_747_471_65),
    ] {
        assert!(near(queue.mean_response(order).unwrap(), response, 1e-6), "{order:?}");
        assert!(near(queue.mean_slowdown(order).unwrap(), slow, 1e-6), "{order:?}");
        let size = 7_798.739_803_488_946;
        let found = queue.response_of(order, size).unwrap() / size;
        assert!(near(found, at_95, 1e-6), "{order:?}: {found}");
    }
    let fifo = queue.mean_response(Order::Fifo).unwrap();
    assert!(near(fifo, 297_397_423.629_783, 1e-6), "{fifo}");
}

/// Crovella, Frangioso & Harchol-Balter 1999, section 6.2, on Figures 7 and 8.
#[test]
fn what_crovella_says_of_large_jobs() {
    let exponential = queue("exponential:mean=3000", 0.9);
    let slowdown = |percentile: f64| {
        let size = -3000.0 * (1.0 - percentile / 100.0_f64).ln();
        exponential.response_of(Order::Srpt, size).unwrap() / size
    };
    // The text's 5.6 "for the largest 5 %", "as high as 10 to 11", and 1.6 for a bounded Pareto law
    // of the same mean: the curves must have ended at the 99th percentile.
    for (percentile, wanted) in [(95.0, 4.938), (96.0, 5.663), (99.0, 11.146)] {
        let found = slowdown(percentile);
        assert!(near(found, wanted, 1e-3), "{percentile}: {found}");
    }
    let law = parse("bounded-pareto:min=332.0937,max=1e10,alpha=1.1").unwrap();
    let pareto = Mg1::new(law.as_ref(), 0.9).unwrap();
    assert!(near(pareto.mean_size(), 3000.0, 0.01), "{}", pareto.mean_size());
    let size = law.quantile(0.99);
    let found = pareto.response_of(Order::Srpt, size).unwrap() / size;
    assert!((1.5..1.65).contains(&found), "{found}");
}

#[test]
fn exact_servers_agree_for_laws_of_every_kind() {
    // Law, load, and how near 400,000 jobs must come.
    for (text, load, tolerance) in [
        ("exponential:mean=1", 0.8, 0.03),
        ("bounded-pareto:min=1,max=100,alpha=1.3", 0.7, 0.03),
        ("lognormal:mu=0,sigma=1", 0.6, 0.03),
        ("deterministic:size=1", 0.8, 0.03),
        ("specweb99", 0.6, 0.05),
        ("worldcup", 0.5, 0.06),
    ] {
        let law = parse(text).unwrap();
        check_against_servers(law.as_ref(), load, 400_000, tolerance);
    }
    // Atoms so coarse that the rule for ties matters.
    let coarse = Discrete::new("coarse", [(1.0, 5.0), (2.0, 3.0), (10.0, 1.0)]).unwrap();
    check_against_servers(&coarse, 0.8, 2_000_000, 0.02);
    let gap = Ranges::new("gap", vec![1.0, 2.0, 8.0, 9.0], &[3.0, 0.0, 1.0]).unwrap();
    check_against_servers(&gap, 0.8, 2_000_000, 0.02);
}

fn check_against_servers(law: &dyn Law, load: f64, count: usize, tolerance: f64) {
    let queue = Mg1::new(law, load).unwrap();
    let jobs = servers::jobs(law, load, count, 11);
    for (order, finish) in [
        (Order::Srpt, crate::ideal::srpt(&jobs, 1.0)),
        (Order::Ps, crate::ideal::processor_sharing(&jobs, 1.0)),
        (Order::Psjf, psjf(&jobs)),
        (Order::Las, las(&jobs)),
    ] {
        let (response, slowdown) = responses(&jobs, &finish);
        let wanted = queue.mean_response(order).unwrap();
        assert!(near(response, wanted, tolerance), "{law} {order:?}: {response} {wanted}");
        let wanted = queue.mean_slowdown(order).unwrap();
        assert!(near(slowdown, wanted, tolerance), "{law} {order:?}: {slowdown} {wanted}");
    }
}

#[test]
fn ties_are_told_apart_by_size() {
    // Response by size, not only in the mean: one size has half of the load.
    let law = Discrete::new("two", [(1.0, 4.0), (3.0, 1.0)]).unwrap();
    let queue = Mg1::new(&law, 0.8).unwrap();
    let jobs = servers::jobs(&law, 0.8, 400_000, 3);
    for (order, finish) in
        [(Order::Srpt, crate::ideal::srpt(&jobs, 1.0)), (Order::Psjf, psjf(&jobs))]
    {
        for size in [1.0, 3.0] {
            let of: Vec<f64> = jobs
                .iter()
                .zip(&finish)
                .filter(|(job, _)| job.work == size)
                .map(|(job, finish)| finish - job.arrival)
                .collect();
            let found = of.iter().sum::<f64>() / of.len() as f64;
            let wanted = queue.response_of(order, size).unwrap();
            assert!(near(found, wanted, 0.03), "{order:?} {size}: {found} {wanted}");
        }
    }
}

#[test]
fn the_surge_law_is_integrated_over_its_whole_tail() {
    // The second moment by hand: lognormal body, then a tail of exponent 1 from k = 631.44.
    let queue = queue("surge", 0.5);
    let fifo = queue.mean_response(Order::Fifo).unwrap();
    let mean = queue.mean_size();
    assert!(near(mean, 11_108.0, 1e-3), "{mean}");
    let second = (fifo - mean) * 2.0 * 0.5 / (0.5 / mean);
    assert!(near(second, 631.44 * 1e10, 1e-3), "{second}");
    assert!(queue.mean_response(Order::Srpt).unwrap() < 2.0 * mean);
}

#[test]
fn fifo_has_a_mean_slowdown_only_where_the_inverse_mean_does_not_diverge() {
    let error = queue("exponential:mean=1", 0.5).mean_slowdown(Order::Fifo).unwrap_err().0;
    assert!(error.contains("1 / size diverges"), "{error}");
    assert_eq!(queue("exponential:mean=1", 0.0).mean_slowdown(Order::Fifo), Ok(1.0));
    // E[1/X] of the lognormal law is e^(σ²/2 - μ), though it has sizes next to 0.
    let lognormal = queue("lognormal:mu=0.5,sigma=1.5", 0.5);
    let wait = lognormal.mean_response(Order::Fifo).unwrap() - lognormal.mean_size();
    let wanted = 1.0 + wait * (1.5_f64 * 1.5 / 2.0 - 0.5).exp();
    assert!(near(lognormal.mean_slowdown(Order::Fifo).unwrap(), wanted, 1e-6));
}

#[test]
fn sizes_that_the_law_does_not_give_have_a_response_too() {
    let queue = queue("deterministic:size=2", 0.6);
    // Below: nobody is in front but the rest of a running job, cut to the size itself.
    let small = queue.response_of(Order::Srpt, 1.0).unwrap();
    assert!(near(small, 0.3 / 2.0 + 1.0, 1e-12), "{small}");
    // Above: everybody comes first.
    let large = queue.response_of(Order::Psjf, 5.0).unwrap();
    assert!(near(large, 0.3 * 4.0 / (2.0 * 0.16) + 5.0 / 0.4, 1e-12), "{large}");
    let large = queue.response_of(Order::Srpt, 5.0).unwrap();
    assert!(near(large, 0.3 * 4.0 / (2.0 * 0.16) + 2.0 + 3.0 / 0.4, 1e-12), "{large}");
}

#[test]
fn a_size_beyond_all_others_waits_for_them_all() {
    for law in ["exponential:mean=1", "lognormal:mu=-0.5,sigma=1", PARETO] {
        let queue = queue(law, 0.9);
        for order in [Order::Srpt, Order::Psjf, Order::Las] {
            for size in [1e9, 1e15] {
                let found = queue.response_of(order, size * queue.mean_size()).unwrap();
                assert!(near(found, size * queue.mean_size() / 0.1, 1e-4), "{law} {order:?}");
            }
        }
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let law = parse("exponential:mean=1").unwrap();
    for load in [1.0, 1.5, -0.1, f64::NAN, f64::INFINITY] {
        let error = Mg1::new(law.as_ref(), load).unwrap_err().0;
        assert!(error.contains(&format!("the load is {load}")), "{error}");
    }
    for size in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = queue("surge", 0.5).response_of(Order::Srpt, size).unwrap_err().0;
        assert!(error.contains("the size is"), "{error}");
    }
    for size in [1e200, 1e-200] {
        let error = queue("exponential:mean=2", 0.5).response_of(Order::Las, size).unwrap_err().0;
        assert!(error.contains("1e15 times the mean size"), "{error}");
    }
    for mean in [1e-200, 1e200] {
        let law = parse(&format!("exponential:mean={mean}")).unwrap();
        let error = Mg1::new(law.as_ref(), 0.5).unwrap_err().0;
        assert!(error.contains("its mean is 1e") && error.contains("1e-15 to 1e15"), "{error}");
    }
    for text in
        ["lognormal:mu=0,sigma=20", "lognormal:mu=500,sigma=500", "lognormal:mu=-500,sigma=400"]
    {
        let law = parse(text).unwrap();
        assert!(Mg1::new(law.as_ref(), 0.5).is_err(), "{text}");
    }
    let vast = parse("bounded-pareto:min=1,max=1e30,alpha=1.8").unwrap();
    let vast = Mg1::new(vast.as_ref(), 0.5).unwrap();
    assert!(vast.mean_response(Order::Fifo).unwrap_err().0.contains("second moment"));
    assert!(vast.mean_response(Order::Srpt).is_ok());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_law_and_load_give_numbers_or_an_error(
        min in 1e-3..1e3_f64,
        factor in 1.001..1e12_f64,
        alpha in 0.1..20.0_f64,
        load in prop_oneof![0.0..1.0_f64, 0.999..1.0_f64],
    ) {
        let law = format!("bounded-pareto:min={min},max={},alpha={alpha}", min * factor);
        if let Ok(queue) = Mg1::new(parse(&law).unwrap().as_ref(), load) {
            let mean = queue.mean_size();
            let of = |order| queue.mean_response(order);
            let (srpt, psjf, las) = (of(Order::Srpt).unwrap(), of(Order::Psjf).unwrap(), of(Order::Las).unwrap());
            prop_assert!(mean * (1.0 - 1e-9) <= srpt, "{} {}", mean, srpt);
            prop_assert!(srpt <= psjf * (1.0 + 1e-6), "{} {}", srpt, psjf);
            prop_assert!(srpt <= of(Order::Ps).unwrap() * (1.0 + 1e-6));
            prop_assert!(las.is_finite() && srpt <= las * (1.0 + 1e-6));
            prop_assert!(queue.mean_slowdown(Order::Srpt).unwrap() >= 1.0 - 1e-9);
        }
    }
}
