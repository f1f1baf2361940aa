//! Response times when a period of overload is followed by one of low load: Theorem 1 of Schroeder
//! & Harchol-Balter, "Web servers under overload", appendix A, for fair sharing and SRPT, also with
//! a low load above 0. It is a fluid limit, exact to the order of the period's length; derived in
//! `lab/models.md`, because the published text is hard to read and leaves the proofs out.

use std::ops::RangeInclusive;

use weir_workload::Invalid;
use weir_workload::law::Law;

use super::renewal;
use super::sizes::Sizes;

/// The highest load of the overload.
const HIGHEST_LOAD: f64 = 1e6;
/// The shortest and the longest overload, in mean sizes.
const PERIODS: RangeInclusive<f64> = 1e-15..=1e15;

/// A server of speed 1 that is empty, is overloaded for a period, and then has a low load for at
/// least as long as it takes to work off the backlog.
#[derive(Debug)]
pub struct OnOff {
    sizes: Sizes,
    high_load: f64,
    high_rate: f64,
    low_rate: f64,
    low_load: f64,
    period: f64,
    growth: f64,
}

impl OnOff {
    /// Poisson arrivals of a law at a load of `high_load` (above 1, to a million) for `period` (the length of the
    /// overload alone, above 0, in the unit of the sizes), then at `low_load` (0 to below 1).
    ///
    /// # Errors
    ///
    /// A parameter out of its range, or a law that cannot be integrated.
    pub fn new(
        law: &dyn Law,
        high_load: f64,
        low_load: f64,
        period: f64,
    ) -> Result<OnOff, Invalid> {
        if !(high_load > 1.0 && high_load <= HIGHEST_LOAD) {
            return Err(Invalid(format!(
                "the high load is {high_load}; the theorem is for overload, give a number above 1, \
                 at most {HIGHEST_LOAD}"
            )));
        }
        if !(0.0..1.0).contains(&low_load) {
            return Err(Invalid(format!(
                "the low load is {low_load}; at 1 and above the backlog never goes, give 0 or \
                 more, below 1"
            )));
        }
        let sizes = Sizes::new(law)?;
        if !PERIODS.contains(&(period / sizes.mean())) {
            return Err(Invalid(format!(
                "the period is {period}; give a length above 0 in the unit of the sizes, {:e} to \
                 {:e} times their mean, which is {}",
                PERIODS.start(),
                PERIODS.end(),
                sizes.mean()
            )));
        }
        let (high_rate, low_rate) = (high_load / sizes.mean(), low_load / sizes.mean());
        let growth = growth(&sizes, high_rate, high_load);
        Ok(OnOff { sizes, high_load, high_rate, low_rate, low_load, period, growth })
    }

    /// Jobs that fair sharing gathers per unit of time of overload (the theorem's α).
    pub fn growth(&self) -> f64 {
        self.growth
    }

    /// The mean size.
    pub fn mean_size(&self) -> f64 {
        self.sizes.mean()
    }

    /// How long after the overload the server is empty, whatever the order.
    pub fn drain_time(&self) -> f64 {
        (self.high_load - 1.0) * self.period / (1.0 - self.low_load)
    }

    /// The size up to which jobs make a load of 1 (the theorem's x0): smaller ones are served
    /// during the overload under SRPT, and larger ones not at all.
    pub fn cutoff_size(&self) -> f64 {
        self.sizes.size_of_part(1.0 / self.high_load)
    }

    /// Mean response time, under fair sharing, of a job of this size that arrives during the
    /// overload.
    ///
    /// # Errors
    ///
    /// A size that is not above 0, or above 1e15 mean sizes.
    pub fn fair(&self, size: f64) -> Result<f64, Invalid> {
        self.sizes.check(size)?;
        let (growth, rate, b) = (self.growth, self.high_rate, self.growth * size);
        let during = -(-b).exp_m1() / 2.0;
        let places = self.sizes.cut(size).places(0.0);
        let sum: f64 =
            places.iter().map(|place| place.weight * after(growth * place.size, b)).sum();
        let mut response = during + rate / growth * sum;
        if self.low_rate > 0.0 {
            // What the backlog alone takes to give everybody y, in units of growth × period.
            let places = self.sizes.places(0.0);
            let alone = |y: f64| {
                let at = growth * y;
                let sum: f64 = places
                    .iter()
                    .map(|place| place.weight * drained(growth * place.size, at))
                    .sum();
                rate / (growth * growth) * sum
            };
            response += growth * renewal::excess(&self.sizes, self.low_rate, growth, size, alone);
        }
        Ok(response * self.period)
    }

    /// Mean response time, under SRPT, of a job of this size that arrives during the overload: 0 up
    /// to the cutoff, where it does not grow with the period. Jobs of equal size are served in
    /// order of arrival.
    ///
    /// # Errors
    ///
    /// A size that is not above 0, or above 1e15 mean sizes.
    pub fn srpt(&self, size: f64) -> Result<f64, Invalid> {
        self.sizes.check(size)?;
        let place = self.sizes.place(size, 0.0);
        // Loads of the smaller jobs and of those of this very size.
        let smaller = self.high_rate * place.below.first;
        let equal = self.high_rate * size * place.atom;
        let drain = 1.0 - self.low_rate * place.below.first;
        if smaller + equal <= 1.0 {
            return Ok(0.0);
        }
        if smaller >= 1.0 {
            return Ok(self.period * (0.5 + (smaller - 1.0 + equal / 2.0) / drain));
        }
        // Jobs of the cutoff's own size get what the smaller ones leave; those of the first part
        // of the period are finished in it.
        let left = 1.0 - smaller;
        let part = left / equal;
        let within = part * part / 2.0 * (1.0 / part - 1.0);
        let rest = 1.0 - part;
        let later = rest * rest / 2.0 * (1.0 + equal / drain);
        Ok(self.period * (within + later))
    }
}

/// α of E[1 - e^(-αX)] = α / λ, between the bounds that 1 - e^-a ≥ a - a²/2 and 1 - e^-a ≤ 1 give.
fn growth(sizes: &Sizes, rate: f64, load: f64) -> f64 {
    let places = sizes.places(0.0);
    let too_small = |growth: f64| {
        let sum: f64 =
            places.iter().map(|place| -(-growth * place.size).exp_m1() * place.weight).sum();
        rate * sum > growth
    };
    let mut from = 2.0 * (load - 1.0) / (rate * sizes.second_moment());
    let mut to = rate;
    for _ in 0..200 {
        let middle = (from * to).sqrt();
        if middle <= from || middle >= to {
            break;
        }
        if too_small(middle) {
            from = middle;
        } else {
            to = middle;
        }
    }
    f64::midpoint(from, to)
}

/// a - 1 + e^-a without cancellation.
fn lag(a: f64) -> f64 {
    if a.abs() < 0.1 { series(a * a / 2.0, -a, 3, 1) } else { a + (-a).exp_m1() }
}

/// sinh b - b without cancellation.
fn sinh_lead(b: f64) -> f64 {
    if b < 1.0 { series(b * b * b / 6.0, b * b, 4, 2) } else { b.sinh() - b }
}

/// `first`, and terms that are each `ratio` over the next `factors` whole numbers from `from` on
/// times the one before.
fn series(first: f64, ratio: f64, from: u32, factors: u32) -> f64 {
    let mut term = first;
    let mut sum = first;
    for k in (from..from + 12 * factors).step_by(factors as usize) {
        let over: f64 = (k..k + factors).map(f64::from).product();
        term *= ratio / over;
        sum += term;
    }
    sum
}

/// What a job of size `a` adds to the time that the backlog takes to give everybody `y`, both in
/// units of 1/α: the κ of `lab/models.md`. Written three ways, each without cancellation in its
/// range and without overflow.
fn drained(a: f64, y: f64) -> f64 {
    if y > a {
        lag(a)
    } else if a < 1.0 {
        -(-a).exp_m1() * y.exp_m1() - lag(-y)
    } else if y < 1.0 {
        y - (-a).exp() * y.exp_m1()
    } else {
        y + (-a).exp() - (y - a).exp()
    }
}

/// The mean of [`drained`] where `b` - y is exponential of rate 1.
fn after(a: f64, b: f64) -> f64 {
    let up_to = |b: f64| {
        // cosh b - 1.
        let cosh_lead = || 2.0 * (b / 2.0).sinh().powi(2);
        if a < 1.0 {
            -(-a).exp_m1() * cosh_lead() - sinh_lead(b)
        } else if b < 1.0 {
            lag(b) - (-a).exp() * cosh_lead()
        } else {
            lag(b) + (-a).exp() - f64::midpoint((b - a).exp(), (-a - b).exp())
        }
    };
    if b <= a { up_to(b) } else { (a - b).exp() * up_to(a) - lag(a) * (a - b).exp_m1() }
}

#[cfg(test)]
mod tests;
