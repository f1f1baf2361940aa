//! Gauss-Legendre quadrature of smooth functions on [0, 1], whole and up to each node, and the
//! polynomial through the nodes: what the formulas integrate a law of sizes by.

/// Nodes of the rule: exact for polynomials up to degree 19.
pub(super) const NODES: usize = 10;

/// Values at the nodes.
pub(super) type Values = [f64; NODES];

/// The rule on [0, 1].
#[derive(Clone, Debug)]
pub(super) struct Rule {
    /// Ascending.
    pub(super) nodes: Values,
    /// They add up to 1.
    pub(super) weights: Values,
    /// Row `k`: the weights of the integral from 0 to node `k`.
    up_to: [Values; NODES],
    /// Of the polynomial through the nodes in its barycentric form (Berrut & Trefethen 2004).
    barycentric: Values,
}

impl Rule {
    pub(super) fn new() -> Rule {
        let (mut nodes, mut weights) = ([0.0; NODES], [0.0; NODES]);
        for (k, (node, weight)) in nodes.iter_mut().zip(&mut weights).enumerate() {
            // The roots of the Legendre polynomial, descending, by Newton's method.
            let mut root = (std::f64::consts::PI * (k as f64 + 0.75) / (NODES as f64 + 0.5)).cos();
            let mut slope = 1.0;
            for _ in 0..20 {
                let value;
                (value, slope) = legendre(root);
                root -= value / slope;
            }
            *node = f64::midpoint(1.0, -root);
            *weight = 1.0 / ((1.0 - root * root) * slope * slope);
        }
        let mut barycentric = [1.0; NODES];
        for (k, weight) in barycentric.iter_mut().enumerate() {
            for (_, other) in nodes.iter().enumerate().filter(|(j, _)| *j != k) {
                *weight /= nodes[k] - other;
            }
        }
        let mut rule = Rule { nodes, weights, up_to: [[0.0; NODES]; NODES], barycentric };
        for k in 0..NODES {
            let end = nodes[k];
            for m in 0..NODES {
                let basis = rule.basis(end * nodes[m]);
                for (sum, value) in rule.up_to[k].iter_mut().zip(basis) {
                    *sum += end * weights[m] * value;
                }
            }
        }
        rule
    }

    /// The integral over [0, 1] of the function with these values.
    pub(super) fn whole(&self, values: &Values) -> f64 {
        dot(&self.weights, values)
    }

    /// The integral from 0 to node `k`.
    pub(super) fn up_to(&self, k: usize, values: &Values) -> f64 {
        dot(&self.up_to[k], values)
    }

    /// The polynomial through the values, at `at` in [0, 1].
    pub(super) fn between(&self, values: &Values, at: f64) -> f64 {
        dot(&self.basis(at), values)
    }

    /// What each node's value counts for at `at`.
    pub(super) fn basis(&self, at: f64) -> Values {
        let mut basis = [0.0; NODES];
        let mut sum = 0.0;
        for k in 0..NODES {
            let distance = at - self.nodes[k];
            if distance == 0.0 {
                basis = [0.0; NODES];
                basis[k] = 1.0;
                return basis;
            }
            basis[k] = self.barycentric[k] / distance;
            sum += basis[k];
        }
        basis.iter_mut().for_each(|value| *value /= sum);
        basis
    }
}

/// The products, added up.
pub(super) fn dot(a: &Values, b: &Values) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The Legendre polynomial of degree [`NODES`] and its derivative.
fn legendre(x: f64) -> (f64, f64) {
    let (mut before, mut last) = (1.0, x);
    for degree in 2..=NODES {
        let n = degree as f64;
        (before, last) = (last, ((2.0 * n - 1.0) * x * last - (n - 1.0) * before) / n);
    }
    (last, NODES as f64 * (x * last - before) / (x * x - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integrals_of_polynomials_and_of_the_exponential_are_exact() {
        let rule = Rule::new();
        assert!(rule.nodes.windows(2).all(|pair| pair[0] < pair[1]));
        for degree in 0..20 {
            let integral = rule.whole(&rule.nodes.map(|x| x.powi(degree)));
            assert!((integral * f64::from(degree + 1) - 1.0).abs() < 1e-13, "{degree}");
        }
        let values = rule.nodes.map(f64::exp);
        for k in 0..NODES {
            assert!((rule.up_to(k, &values) - rule.nodes[k].exp_m1()).abs() < 1e-12, "{k}");
            assert_eq!(rule.between(&values, rule.nodes[k]), values[k]);
        }
        assert!((rule.between(&values, 0.3) - 0.3_f64.exp()).abs() < 1e-12);
        assert!((rule.between(&values, 1.0) - 1.0_f64.exp()).abs() < 1e-11);
    }
}
