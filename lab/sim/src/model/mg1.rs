//! The M/G/1 queue: mean response time and slowdown of Poisson arrivals at a server of speed 1,
//! under FIFO, PS, SRPT, PSJF and LAS, over all jobs and for a job of a given size.
//!
//! Sources: Kleinrock, "Queueing Systems" II (FIFO: Pollaczek and Khinchine; PS; LAS as FB);
//! Schrage & Miller 1966 (SRPT); Harchol-Balter, "Performance Modeling and Design of Computer
//! Systems", chapters 30 to 33 (all of them). Sizes with a share of their own are served in order
//! of arrival by SRPT and PSJF; `lab/models.md` derives what becomes of the formulas.

use weir_workload::Invalid;
use weir_workload::law::Law;

use super::sizes::{Place, Sizes};

/// The largest error, relative, that FIFO's second moment may have.
const SECOND_MOMENT_TOLERANCE: f64 = 1e-4;

/// The order in which jobs are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// First come first served.
    Fifo,
    /// Processor sharing: all at once, equally.
    Ps,
    /// Shortest remaining first, preemptive; a tie goes to the earlier arrival.
    Srpt,
    /// Least original size first, preemptive; a tie goes to the earlier arrival.
    Psjf,
    /// Least attained service first, shared equally among equals (foreground-background).
    Las,
}

/// An M/G/1 queue. Sizes are also the times that jobs take alone.
#[derive(Debug)]
pub struct Mg1 {
    name: String,
    sizes: Sizes,
    /// Arrivals per unit of time.
    rate: f64,
    load: f64,
}

impl Mg1 {
    /// Jobs of a law at an offered load (arrival rate times mean size) from 0 to below 1.
    ///
    /// # Errors
    ///
    /// A load out of its range, or a law that cannot be integrated: sizes that are not finite and
    /// above 0, or a mean that lies in a tail which the quantile function cannot tell from 1.
    pub fn new(law: &dyn Law, load: f64) -> Result<Mg1, Invalid> {
        if !(0.0..1.0).contains(&load) {
            return Err(Invalid(format!(
                "the load is {load}; at 1 and above response times grow without end, give 0 or \
                 more, below 1"
            )));
        }
        let sizes = Sizes::new(law)?;
        Ok(Mg1 { name: law.to_string(), rate: load / sizes.mean(), sizes, load })
    }

    /// The mean size.
    pub fn mean_size(&self) -> f64 {
        self.sizes.mean()
    }

    /// Mean response time (departure minus arrival) of all jobs.
    ///
    /// # Errors
    ///
    /// FIFO for a law whose second moment lies in a tail that the quantile function cannot resolve.
    pub fn mean_response(&self, order: Order) -> Result<f64, Invalid> {
        match order {
            Order::Fifo => Ok(self.sizes.mean() + self.fifo_wait()?),
            Order::Ps => Ok(self.sizes.mean() / (1.0 - self.load)),
            _ => Ok(self.expect(|place| self.at(order, place))),
        }
    }

    /// Mean slowdown (response time ÷ size) of all jobs.
    ///
    /// # Errors
    ///
    /// FIFO where the mean of 1 ÷ size diverges (small jobs wait as long as large ones, so their
    /// slowdown has no bound), and as [`Mg1::mean_response`].
    pub fn mean_slowdown(&self, order: Order) -> Result<f64, Invalid> {
        match order {
            Order::Fifo => match self.sizes.inverse {
                Some(inverse) => Ok(1.0 + self.fifo_wait()? * inverse),
                // Nobody waits.
                None if self.load == 0.0 => Ok(1.0),
                None => Err(Invalid(format!(
                    "{}: fifo has no mean slowdown, as the mean of 1 / size diverges; take a law \
                     with a least size above 0",
                    self.name
                ))),
            },
            Order::Ps => Ok(1.0 / (1.0 - self.load)),
            _ => Ok(self.expect(|place| self.at(order, place) / place.size)),
        }
    }

    /// Mean response time of a job of this size, whether or not the law gives it.
    ///
    /// # Errors
    ///
    /// A size that is not above 0 or above 1e15 mean sizes, and as [`Mg1::mean_response`].
    pub fn response_of(&self, order: Order, size: f64) -> Result<f64, Invalid> {
        self.sizes.check(size)?;
        if order == Order::Fifo {
            return Ok(size + self.fifo_wait()?);
        }
        Ok(self.at(order, &self.sizes.place(size, self.rate)))
    }

    fn expect(&self, f: impl Fn(&Place) -> f64) -> f64 {
        self.sizes.places(self.rate).iter().map(|place| place.weight * f(place)).sum()
    }

    /// Pollaczek and Khinchine's mean wait.
    fn fifo_wait(&self) -> Result<f64, Invalid> {
        if self.sizes.second_error > SECOND_MOMENT_TOLERANCE {
            return Err(Invalid(format!(
                "{}: its second moment, on which fifo depends, lies in a tail that cannot be \
                 resolved (shares within 2^-53 of 1); take a shorter tail",
                self.name
            )));
        }
        Ok(self.rate * self.sizes.second_moment() / (2.0 * (1.0 - self.load)))
    }

    /// The mean response time of a job at a place, under an order that looks at sizes or attained
    /// service, or under PS.
    fn at(&self, order: Order, place: &Place) -> f64 {
        let (rate, size, below) = (self.rate, place.size, place.below);
        let up_to = below.with(size, place.atom);
        // The load of the jobs that come before a waiting one, and of those that interrupt it: the
        // later ones of its own size do not.
        let ahead = 1.0 - rate * up_to.first;
        let interrupting = 1.0 - rate * below.first;
        match order {
            Order::Fifo => size + rate * self.sizes.second_moment() / (2.0 * (1.0 - self.load)),
            Order::Ps => size / (1.0 - self.load),
            Order::Srpt => {
                let (_, second) = up_to.cut_at(size);
                rate * second / (2.0 * ahead * interrupting) + place.residence
            }
            Order::Psjf => rate * up_to.second / (2.0 * ahead * interrupting) + size / interrupting,
            Order::Las => {
                let (first, second) = up_to.cut_at(size);
                let idle = 1.0 - rate * first;
                (rate * second / (2.0 * idle) + size) / idle
            }
        }
    }
}

#[cfg(test)]
mod tests;
