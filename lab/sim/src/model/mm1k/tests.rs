//! Against the values of the paper's formula, a direct sum over the states, and limits.

use super::*;
use proptest::prelude::*;

fn queue(k: u32, timeout: f64, load: f64) -> Mm1k {
    Mm1k::new(k, timeout, load).unwrap()
}

/// Equation 7 as it stands: states by their weights, and for each the chance that all before and
/// the request itself are served within the timeout, by the terms of the Poisson law.
fn by_states(k: u32, timeout: f64, load: f64) -> f64 {
    let weights: Vec<f64> = (0..=k).map(|n| load.powi(n as i32)).collect();
    let all: f64 = weights.iter().sum();
    let mut term = (-timeout).exp();
    let mut fewer = 0.0;
    let mut useful = 0.0;
    for n in 0..k {
        fewer += term;
        term *= timeout / f64::from(n + 1);
        useful += weights[n as usize] / all * (1.0 - fewer);
    }
    load * useful
}

#[test]
fn the_values_of_the_issue() {
    for (load, timeout, wanted) in
        [(1.0, 1025.0, 0.986_578), (1.01, 1000.0, 0.773_709), (3.0, 1000.0, 0.223_355)]
    {
        let found = queue(1025, timeout, load).useful_throughput();
        assert!((found - wanted).abs() < 1e-6, "{load} {timeout}: {found}");
    }
    // Figure 17: 0.22, 0.50 and 0.78 far above a load of 1.
    for (timeout, wanted) in [(1000.0, 0.22), (1025.0, 0.50), (1050.0, 0.78)] {
        let found = queue(1025, timeout, 10.0).useful_throughput();
        assert!((found - wanted).abs() < 0.01, "{timeout}: {found}");
        let far = queue(1025, timeout, 1e12);
        assert!((far.useful_throughput() - far.limit()).abs() < 1e-9);
    }
}

#[test]
fn the_same_as_over_all_states() {
    for k in [1, 2, 5, 20] {
        for timeout in [0.3, 1.0, 5.0, 17.0] {
            for load in [0.01, 0.5, 0.999, 1.0, 1.001, 2.0, 9.0] {
                let (found, wanted) =
                    (queue(k, timeout, load).useful_throughput(), by_states(k, timeout, load));
                assert!(
                    (found - wanted).abs() < 1e-12 + 1e-10 * wanted,
                    "{k} {timeout} {load}: {found} {wanted}"
                );
            }
        }
    }
}

#[test]
fn one_place_is_the_loss_system() {
    // A request that enters is served at once: in time with 1 - e^-T.
    let found = queue(1, 2.0, 3.0);
    assert!((found.useful_throughput() - 0.75 * (1.0 - (-2.0_f64).exp())).abs() < 1e-14);
    assert!((found.rejected() - 0.75).abs() < 1e-14);
    assert!((found.throughput() - 0.75).abs() < 1e-14);
}

#[test]
fn both_forms_agree_where_the_gamma_form_has_digits() {
    let mut both = 0;
    for k in [1, 10, 100, 1025] {
        for ratio in [0.5, 0.8, 0.97, 1.0, 1.02, 1.3, 3.0] {
            for load in [0.1, 0.7, 0.95, 0.999, 1.001, 1.01, 1.3, 3.0, 50.0] {
                let queue = queue(k, ratio * f64::from(k), load);
                if let Some(gamma) = queue.useful_throughput_by_gamma() {
                    both += 1;
                    let sum = queue.useful_throughput();
                    assert!((gamma / sum - 1.0).abs() < 1e-9, "{queue:?}: {gamma} {sum}");
                }
            }
        }
    }
    assert!(both > 150, "{both} of 252 have both");
    assert!(queue(1025, 1000.0, 3.0).useful_throughput_by_gamma().is_some());
    assert!(queue(1025, 1000.0, 1.01).useful_throughput_by_gamma().is_some());
    assert_eq!(queue(1025, 1000.0, 1.0).useful_throughput_by_gamma(), None);
    assert_eq!(queue(1025, 1000.0, 1.0 + 1e-12).useful_throughput_by_gamma(), None);
}

#[test]
fn nothing_jumps_at_a_load_of_one() {
    let at = |load| queue(1025, 1000.0, load).useful_throughput();
    let slope = (at(1.0 + 1e-6) - at(1.0 - 1e-6)) / 2e-6;
    for offset in [1e-15, 1e-12, 1e-9] {
        assert!((at(1.0 + offset) - at(1.0) - slope * offset).abs() < 1e-12, "{offset}");
        assert!((at(1.0 - offset) - at(1.0) + slope * offset).abs() < 1e-12, "{offset}");
    }
}

#[test]
fn limits() {
    // Few requests: each is alone, in time with 1 - e^-T.
    let load = 1e-9;
    let alone = queue(1025, 1.5, load).useful_throughput() / load;
    assert!((alone - (1.0 - (-1.5_f64).exp())).abs() < 1e-8);
    // No timeout: what M/M/1/K serves.
    for load in [0.3, 1.0, 1.7, 40.0_f64] {
        let queue = queue(7, 1e6, load);
        let served = load * (1.0 - load.powi(7) / (0..=7).map(|n| load.powi(n)).sum::<f64>());
        assert!((queue.useful_throughput() - served).abs() < 1e-12, "{load}");
        assert!((queue.throughput() - served).abs() < 1e-12, "{load}");
        assert!((load * (1.0 - queue.rejected()) - served).abs() < 1e-12, "{load}");
    }
    assert_eq!(queue(5, 0.0, 2.0).useful_throughput(), 0.0);
    assert_eq!(queue(5, 1.0, 0.0).useful_throughput(), 0.0);
    // Far apart in size and still numbers.
    let large = queue(1_000_000, 1e6, 1.0).useful_throughput();
    let short = (2.0 * std::f64::consts::PI * 1e6).sqrt().recip();
    assert!((large - (1.0 - short)).abs() < 1e-5, "{large}");
    let vast = queue(1025, 1e300, 1e300);
    assert!((vast.useful_throughput() - 1.0).abs() < 1e-12, "{vast:?}");
}

#[test]
fn the_normal_approximation_is_that_of_figure_20() {
    for (timeout, wanted) in [(800.0, 0.03), (900.0, 0.15), (1000.0, 0.42)] {
        let found = queue(1025, timeout, 3.0).normal_limit(3.7).unwrap();
        assert!((found - wanted).abs() < 0.006, "{timeout}: {found}");
    }
    // Of exponential service it is near the exact limit.
    let queue = queue(1025, 1000.0, 3.0);
    assert!((queue.normal_limit(1.0).unwrap() - queue.limit()).abs() < 0.01);
    for cv in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(queue.normal_limit(cv).is_err(), "{cv}");
    }
}

#[test]
fn invalid_parameters_are_refused() {
    for (k, timeout, load, wanted) in [
        (0, 1.0, 1.0, "k is 0"),
        (MOST_CAPACITY + 1, 1.0, 1.0, "k is"),
        (1, -1.0, 1.0, "timeout is -1"),
        (1, f64::NAN, 1.0, "timeout is NaN"),
        (1, 1.0, -0.5, "load is -0.5"),
        (1, 1.0, f64::INFINITY, "load is inf"),
    ] {
        let error = Mm1k::new(k, timeout, load).unwrap_err().0;
        assert!(error.contains(wanted), "{error}");
    }
}

#[test]
fn the_gamma_form_is_silent_where_floats_lose_their_digits() {
    let queue = queue(2333, 949.7815481246968, 2.58630205333162);
    let found = queue.useful_throughput();
    assert!(found > 0.0 && found < 1e-300, "{found}");
    assert_eq!(queue.useful_throughput_by_gamma(), None);
}

proptest! {
    #[test]
    fn always_a_share_and_never_more_than_is_served(
        k in 1_u32..3000,
        timeout in 0.0..5000.0_f64,
        load in prop_oneof![0.0..3.0_f64, 0.99..1.01_f64, 0.0..1e6_f64],
    ) {
        let queue = queue(k, timeout, load);
        let found = queue.useful_throughput();
        prop_assert!((0.0..=queue.throughput() * (1.0 + 1e-9)).contains(&found), "{}", found);
        prop_assert!((0.0..=1.0).contains(&queue.limit()));
        prop_assert!((0.0..=1.0).contains(&queue.rejected()));
        if let Some(gamma) = queue.useful_throughput_by_gamma() {
            prop_assert!((gamma / found - 1.0).abs() < 1e-9, "{} {}", gamma, found);
        }
    }
}
