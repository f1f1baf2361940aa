//! The useful throughput of a server whose clients give up: M/M/1/K, first come first served, and
//! only what is answered before its client's timeout counts (Carter & Cherkasova 1999, section 5
//! and appendix A.1). Time is in mean service times and throughput in shares of the capacity.
//!
//! Both of the paper's forms are here. As printed they lose all digits next to a load of 1 and
//! overflow above it, so the sum is rearranged into terms of one sign, and the form with the
//! incomplete gamma function says when it has too few digits left.

use statrs::distribution::{ContinuousCDF, Normal};
use statrs::function::gamma::{checked_gamma_lr, checked_gamma_ur, ln_gamma};
use weir_workload::Invalid;

/// The largest capacity that is summed over.
pub const MOST_CAPACITY: u32 = 10_000_000;
/// Beyond these capacities ln Γ(K) has too few digits for the gamma form.
const MOST_BY_GAMMA: u32 = 100_000;
/// Digits, as a share, that the gamma form must have left.
const GAMMA_TOLERANCE: f64 = 1e-10;

/// An M/M/1/K queue with a timeout.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mm1k {
    capacity: u32,
    timeout: f64,
    load: f64,
}

impl Mm1k {
    /// `capacity` is the most requests in the system, waiting and in service (1 or more); `timeout`
    /// in mean service times (0 or more); `load` is offered, in shares of the capacity (0 or more).
    ///
    /// # Errors
    ///
    /// A parameter out of its range.
    pub fn new(capacity: u32, timeout: f64, load: f64) -> Result<Mm1k, Invalid> {
        if !(1..=MOST_CAPACITY).contains(&capacity) {
            return Err(Invalid(format!(
                "k is {capacity}; give a whole number from 1 to {MOST_CAPACITY}"
            )));
        }
        if !(timeout.is_finite() && timeout >= 0.0) {
            return Err(Invalid(format!(
                "the timeout is {timeout}; give mean service times, 0 or more"
            )));
        }
        if !(load.is_finite() && load >= 0.0) {
            return Err(Invalid(format!("the load is {load}; give 0 or more")));
        }
        Ok(Mm1k { capacity, timeout, load })
    }

    /// Useful throughput by the sum (the paper's equation 9, its 12). With N Poisson of mean T and
    /// g(i) = 1 + a + ... + a^(i-1) it is a E[g(min(N, K))] / g(K + 1), all terms positive.
    pub fn useful_throughput(&self) -> f64 {
        let k = self.capacity;
        if self.timeout == 0.0 || self.load == 0.0 {
            return 0.0;
        }
        let mut share = PoissonShare::new(self.timeout);
        let mut useful = 0.0;
        for i in 1..k {
            share.advance();
            useful += (share.log + self.log_part(i)).exp();
        }
        useful += self.all_done() * self.log_part(k).exp();
        self.load * useful
    }

    /// Useful throughput by the incomplete gamma function (the paper's equation 14). `None` where
    /// its terms cancel so far that fewer than nine digits would be left: next to a load of 1, and
    /// where nearly nothing is useful.
    pub fn useful_throughput_by_gamma(&self) -> Option<f64> {
        let (k, t, a) = (f64::from(self.capacity), self.timeout, self.load);
        if self.capacity > MOST_BY_GAMMA || t == 0.0 || a == 0.0 || a == 1.0 {
            return None;
        }
        let log = a.ln();
        // e^((a-1)T) Γ(K, aT) / (K-1)! and a^K Γ(K, T) / (K-1)!, both over a^K above 1.
        let scale = if a > 1.0 { -k * log } else { 0.0 };
        let grown = self.grown(scale)?;
        let in_time = checked_gamma_lr(k, t).ok()?;
        let late = checked_gamma_ur(k, t).ok()?;
        let (terms, over) = if a > 1.0 {
            ([-(scale.exp()), grown, in_time], -(-(k + 1.0) * log).exp_m1())
        } else {
            let power = (k * log).exp();
            ([-grown, 1.0 - power, power * late], -((k + 1.0) * log).exp_m1() / a)
        };
        let sum: f64 = terms.iter().sum();
        let largest = terms.iter().fold(0.0_f64, |most, term| most.max(term.abs()));
        // What ln Γ(K) and the exponents leave of the sixteen digits.
        let precision = f64::EPSILON * (8.0 + k * k.ln().max(1.0) + t * (1.0 + a) + k * log.abs());
        // A term below the least normal float has lost digits, or is 0.
        let lost = largest * precision + f64::MIN_POSITIVE;
        (lost < GAMMA_TOLERANCE * sum).then_some(sum / over)
    }

    /// Throughput, useful or not: a (1 - p_K).
    pub fn throughput(&self) -> f64 {
        self.load * self.log_part(self.capacity).exp()
    }

    /// The share of the requests that find the system full: p_K.
    pub fn rejected(&self) -> f64 {
        let k = f64::from(self.capacity);
        if self.load == 1.0 {
            return 1.0 / (k + 1.0);
        }
        let log = self.load.ln();
        if self.load > 1.0 {
            return -(-log).exp_m1() / -(-(k + 1.0) * log).exp_m1();
        }
        (k * log).exp() * (1.0 - self.load) / -((k + 1.0) * log).exp_m1()
    }

    /// What the useful throughput comes to as the load grows: the share of sums of K service times
    /// that are no longer than the timeout.
    pub fn limit(&self) -> f64 {
        self.all_done()
    }

    /// The paper's approximation of that limit for service times of any coefficient of variation
    /// (above 0), by the central limit theorem: Φ((T - K) / (√K cv)).
    ///
    /// # Errors
    ///
    /// A coefficient that is not a finite number above 0.
    pub fn normal_limit(&self, cv: f64) -> Result<f64, Invalid> {
        let k = f64::from(self.capacity);
        match Normal::new(k, k.sqrt() * cv) {
            Ok(law) if cv.is_finite() && cv > 0.0 => Ok(law.cdf(self.timeout)),
            _ => Err(Invalid(format!(
                "the coefficient of variation is {cv}; give a finite number above 0"
            ))),
        }
    }

    /// P[N ≥ K], N Poisson of mean T: that K services end within the timeout. Of the two sums the
    /// one that is not nearly 1.
    fn all_done(&self) -> f64 {
        if self.timeout == 0.0 {
            return 0.0;
        }
        let mut share = PoissonShare::new(self.timeout);
        let mut fewer = 0.0;
        for _ in 0..self.capacity {
            fewer += share.log.exp();
            share.advance();
        }
        if self.timeout >= f64::from(self.capacity) {
            return (1.0 - fewer).max(0.0);
        }
        let mut sum = 0.0;
        loop {
            let next = share.log.exp();
            sum += next;
            if next <= sum * 1e-17 {
                return sum;
            }
            share.advance();
        }
    }

    /// ln of g(i) / g(K + 1), where g(i) = (1 - a^i) / (1 - a).
    fn log_part(&self, i: u32) -> f64 {
        let (i, all) = (f64::from(i), f64::from(self.capacity) + 1.0);
        // Of 1 + x this is ln_1p(x) as well as floats can say it: the subtraction is exact.
        let log =
            if (self.load - 1.0).abs() < 0.5 { (self.load - 1.0).ln_1p() } else { self.load.ln() };
        if log == 0.0 {
            return (i / all).ln();
        }
        if log > 0.0 {
            return (i - all) * log + (-(-i * log).exp_m1()).ln() - (-(-all * log).exp_m1()).ln();
        }
        (-(i * log).exp_m1()).ln() - (-(all * log).exp_m1()).ln()
    }

    /// e^((a-1)T + scale) Γ(K, aT) / (K-1)!, whose factors overflow and vanish by themselves.
    fn grown(&self, scale: f64) -> Option<f64> {
        let (k, t) = (f64::from(self.capacity), self.timeout);
        let z = self.load * t;
        if z < k + 1.0 {
            let late = checked_gamma_ur(k, z).ok()?;
            return Some(((self.load - 1.0) * t + scale + late.ln()).exp());
        }
        // Lentz's continued fraction of Γ(K, z) e^z z^-K (Numerical Recipes, section 6.2).
        let tiny = f64::MIN_POSITIVE;
        let mut b = z + 1.0 - k;
        let mut c = 1.0 / tiny;
        let mut d = 1.0 / b;
        let mut fraction = d;
        for i in 1..100_000 {
            let i = f64::from(i);
            let an = -i * (i - k);
            b += 2.0;
            d = an * d + b;
            d = 1.0 / if d.abs() < tiny { tiny } else { d };
            c = b + an / c;
            c = if c.abs() < tiny { tiny } else { c };
            fraction *= d * c;
            if (d * c - 1.0).abs() < f64::EPSILON {
                break;
            }
        }
        Some((-t + scale + k * z.ln() - ln_gamma(k) + fraction.ln()).exp())
    }
}

/// The logarithm of the Poisson share of 0, 1, 2 and so on, added up with a carry (Kahan) so that
/// many steps lose nothing.
struct PoissonShare {
    mean: f64,
    i: f64,
    log: f64,
    carry: f64,
}

impl PoissonShare {
    fn new(mean: f64) -> PoissonShare {
        PoissonShare { mean, i: 0.0, log: -mean, carry: 0.0 }
    }

    fn advance(&mut self) {
        self.i += 1.0;
        let step = (self.mean / self.i).ln() - self.carry;
        let sum = self.log + step;
        self.carry = (sum - self.log) - step;
        self.log = sum;
    }
}

#[cfg(test)]
mod tests;
