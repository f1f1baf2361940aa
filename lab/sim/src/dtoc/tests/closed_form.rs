//! The regular server with exponential sizes and no retries is M/M/1/K, of which the paper's
//! section 5 has the useful throughput.

use std::sync::Arc;

use weir_workload::law::Exponential;
use weir_workload::shape::Shape;

use super::{Model, assert_near, results};
use crate::dtoc::Strategy::Regular;

/// Equation 9 at a load other than 1: a system of `k` with one in service, a timeout of `t` mean
/// services. Each term is taken through logarithms.
fn useful(a: f64, k: i32, t: f64) -> f64 {
    let mut ln_factorial = 0.0;
    let mut sum = 0.0;
    for i in 0..k {
        ln_factorial += f64::from(i.max(1)).ln();
        sum += (f64::from(i) * t.ln() - ln_factorial - t).exp() * (a.powi(i) - a.powi(k));
    }
    a / (1.0 - a.powi(k + 1)) * (1.0 - a.powi(k) - sum)
}

#[test]
fn a_regular_server_with_exponential_sizes_is_m_m_1_k() {
    for (load, k, timeout) in
        [(0.7, 21, 8.0), (1.2, 21, 15.0), (1.2, 21, 22.0), (3.0, 21, 18.0), (0.9, 1, 1.0)]
    {
        let model = Model {
            law: Arc::new(Exponential { mean: 1000.0 }),
            queue: k as usize - 1,
            duration: 5000.0,
            warm_up: 50.0,
            ..Model::new(Shape::constant(load).expect("a load"), timeout / 100.0, Regular)
        };
        let found = results(model, 4);
        let case = format!("load {load}, {k} places, timeout {timeout}");
        let wanted = 100.0 * useful(load, k, timeout);
        assert_near(&case, found.useful_percent, wanted, 0.5);
        let lost = (1.0 - load) * load.powi(k) / (1.0 - load.powi(k + 1));
        assert_near(&case, found.utilisation_percent, 100.0 * load * (1.0 - lost), 0.5);
        assert_near(&case, found.dropped_percent.expect("clients"), 100.0 * lost, 0.5);
    }
}
