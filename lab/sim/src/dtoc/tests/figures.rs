//! What the paper's Figures 5 to 16 show, with one retry.

use super::{Model, assert_near, paper, results};
use crate::dtoc::Strategy::{Check, Regular};
use crate::dtoc::{Results, Strategy, day};

fn one_retry(load: f64, timeout: f64) -> Results {
    results(Model { retries: 1, ..paper(load, timeout, Check, 3000.0) }, 4)
}

#[test]
fn retries_make_it_worse_but_not_at_very_high_loads() {
    // Figure 5: the low point is at 150 %, and higher loads come back towards Figure 3.
    let [low, lowest, high, higher] = [100.0, 150.0, 300.0, 500.0].map(|load| one_retry(load, 5.0));
    assert_near("at 150 %", lowest.useful_percent, 67.4, 1.0);
    assert_near("at 300 %", high.useful_percent, 76.2, 1.0);
    assert!(low.useful_percent > lowest.useful_percent + 3.0, "{}", low.useful_percent);
    assert!(higher.useful_percent > high.useful_percent + 3.0, "{}", higher.useful_percent);
    let requests = lowest.requests_per_client.expect("clients");
    assert!(requests > 1.2 && requests < 2.0, "{requests} requests per client");
}

#[test]
fn large_files_suffer() {
    let found = one_retry(150.0, 5.0);
    // Figure 6: below the mean of what is asked for.
    assert_near("size", found.mean_successful_size_bytes.expect("some"), 6800.0, 300.0);
    // Figure 7: more of classes 0 and 1 than were offered (35, 50, 14 and 1 %), less of 2 and 3.
    let classes = found.successful_class_percent.expect("some");
    assert!(classes[0] > 38.0 && classes[1] > 51.0 && classes[2] < 9.0 && classes[3] < 0.2);
    let success = found.success_by_class;
    assert!(success.is_sorted_by(|a, b| a > b), "{success:?}");
    // Figure 8: "14 % of all requests" at 5 s; 13 to 18 % from 110 to 300 % of load here.
    assert_near("in service", found.in_service_timeout_percent.expect("some"), 17.5, 1.0);
    let at_110 = one_retry(110.0, 5.0).in_service_timeout_percent.expect("some");
    assert_near("in service at 110 %", at_110, 13.1, 1.5);
}

#[test]
fn the_days_of_figures_11_and_12() {
    let useful = |name: &str, strategy: Strategy, timeout: f64| {
        let shape = day(name).expect("a day");
        let model = Model::new(shape, timeout, strategy);
        let whole = Model { retries: 1, warm_up: 0.0, duration: 20_000.0, ..model };
        results(whole, 4).useful_percent
    };
    for (name, wanted) in
        [("carter-normal-day", [80.0, 88.0, 93.0]), ("carter-busy-day", [78.0, 85.0, 93.0])]
    {
        for (timeout, wanted) in [5.0, 8.0, 10.0].into_iter().zip(wanted) {
            let found = useful(name, Check, timeout);
            assert_near(&format!("{name}, check, {timeout} s"), found, wanted, 2.5);
        }
        assert!(useful(name, Regular, 5.0) < 8.0, "{name}: livelock");
    }
    assert_near("normal day, regular, 10 s", useful("carter-normal-day", Regular, 10.0), 76.0, 5.0);
    assert_near("busy day, regular, 10 s", useful("carter-busy-day", Regular, 10.0), 62.0, 6.0);
}
