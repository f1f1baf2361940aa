//! What clients ask of an application, and when: equal cells with equal seeds ask the same of every
//! system. It does not know what stands between.

use std::sync::Arc;

use weir_peers::{Error, Result};
use weir_workload::Request;
use weir_workload::arrivals::{LoadIs, Offered};
use weir_workload::law::{Law, carter};
use weir_workload::shape::{Period, Shape};

use super::service::BODY;
use crate::cell::{Cell, Demand};

/// Offered load after the window, as a multiple of the capacity.
pub(crate) const AFTERWARDS: f64 = 0.5;

/// The terms of a cell with an application.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Terms {
    /// Mean service time in seconds.
    pub(crate) service: f64,
    pub(crate) load: f64,
    /// Seconds.
    pub(crate) warm_up: f64,
    pub(crate) window: f64,
    pub(crate) after: f64,
    /// Seconds after which clients leave; infinite if they never do.
    pub(crate) patience: f64,
    pub(crate) retries: u32,
}

impl Terms {
    /// The terms of a cell.
    ///
    /// # Errors
    ///
    /// A cell without an application, or with times or loads that cannot be.
    pub(crate) fn of(cell: &Cell) -> Result<Terms> {
        let Demand::Application { service, load, warm_up, window, after } = cell.demand else {
            return Err("the cell has no application".into());
        };
        let above = |what: &str, value: f64| match value.is_finite() && value > 0.0 {
            true => Ok(()),
            false => Err(Error(format!("the cell's {what} is {value}; give more than 0"))),
        };
        above("service time", service)?;
        above("load", load)?;
        above("window", window)?;
        let none = |what: &str, value: f64| match value.is_finite() && value >= 0.0 {
            true => Ok(()),
            false => Err(Error(format!("the cell's {what} is {value} s; give 0 or more"))),
        };
        none("warm-up", warm_up)?;
        none("time after the window", after)?;
        let patience = cell.users.abort_after.unwrap_or(f64::INFINITY);
        if patience.is_nan() || patience <= 0.0 {
            let text = format!("the cell's users abort after {patience} s; give more than 0");
            return Err(Error(text));
        }
        let retries = cell.users.retries;
        Ok(Terms { service, load, warm_up, window, after, patience, retries })
    }

    /// Requests a second that the application can answer.
    pub(crate) fn capacity(&self) -> f64 {
        1.0 / self.service
    }

    /// Connections a second at most: first attempts and retries.
    pub(crate) fn attempts_per_second(&self) -> f64 {
        self.load.max(AFTERWARDS) * self.capacity() * f64::from(1 + self.retries)
    }

    /// Seconds after its arrival at which the last client has left.
    pub(crate) fn longest(&self) -> f64 {
        self.patience * f64::from(1 + self.retries)
    }

    /// When the window ends.
    pub(crate) fn end(&self) -> f64 {
        self.warm_up + self.window
    }
}

/// What is asked.
#[derive(Debug)]
pub(crate) struct Asked {
    /// In order of time. The length that clients expect is that of every answer.
    pub(crate) requests: Vec<Request>,
    /// The size that stands for the work of each.
    pub(crate) sizes: Vec<u64>,
}

impl Asked {
    /// What is asked in a cell: Poisson arrivals and sizes of Carter's Figure 21. The place of a
    /// request is its `id`.
    ///
    /// # Errors
    ///
    /// Loads or times that make no workload.
    pub(crate) fn of(terms: &Terms, seed: u64) -> Result<Asked> {
        let invalid = |e: weir_workload::Invalid| Error(e.to_string());
        let mut periods = vec![Period { seconds: terms.end(), load: terms.load }];
        if terms.after > 0.0 {
            periods.push(Period { seconds: terms.after, load: AFTERWARDS });
        }
        let shape = Shape::new("the cell's", periods).map_err(invalid)?;
        let law = Arc::new(carter());
        // The server's pace in bytes, as if they were sent.
        let pace = law.mean() * terms.capacity();
        let mut offered = Offered::new(law, shape, terms.end() + terms.after, pace);
        offered.load_is = LoadIs::File;
        offered.seed = seed;
        let mut asked = Asked { requests: Vec::new(), sizes: Vec::new() };
        for (id, request) in offered.arrivals().map_err(invalid)?.enumerate() {
            let size = request.size.unwrap_or(1);
            asked.sizes.push(size);
            asked.requests.push(Request {
                path: format!("/work/{size}?id={id}").into(),
                size: Some(BODY.len() as u64),
                ..request
            });
        }
        Ok(asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::{Network, Users};

    fn cell(load: f64, after: f64) -> Cell {
        Cell {
            system: "direct".into(),
            network: Network::default(),
            users: Users { abort_after: Some(5.0), retries: 1, ..Users::default() },
            demand: Demand::Application { service: 0.01, load, warm_up: 20.0, window: 80.0, after },
            seed: 3,
        }
    }

    #[test]
    fn requests_have_their_load_in_work_and_name_it() {
        let terms = Terms::of(&cell(3.0, 100.0)).expect("terms");
        assert_eq!(
            (terms.end(), terms.longest(), terms.attempts_per_second()),
            (100.0, 10.0, 600.0)
        );
        let asked = Asked::of(&terms, 3).expect("requests");
        let rate = |from: f64, to: f64| {
            let within = asked.requests.iter().filter(|r| r.at >= from && r.at < to);
            within.count() as f64 / (to - from)
        };
        assert!((rate(0.0, 100.0) - 300.0).abs() < 10.0, "{}", rate(0.0, 100.0));
        assert!((rate(100.0, 200.0) - 50.0).abs() < 5.0, "{}", rate(100.0, 200.0));
        for (id, (request, size)) in asked.requests.iter().zip(&asked.sizes).enumerate() {
            assert_eq!(*request.path, format!("/work/{size}?id={id}"));
            assert_eq!(request.size, Some(1024));
        }
        assert!(asked.requests.windows(2).all(|pair| pair[0].at < pair[1].at));
        let again = Asked::of(&terms, 3).expect("requests");
        assert_eq!(again.requests, asked.requests);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        assert!(Terms::of(&cell(0.0, 1.0)).is_err());
        assert!(Terms::of(&cell(f64::NAN, 1.0)).is_err());
        assert!(Terms::of(&cell(1.0, f64::INFINITY)).is_err());
        let mut hasty = cell(1.0, 0.0);
        hasty.users.abort_after = Some(0.0);
        assert!(Terms::of(&hasty).is_err());
        let asked = Asked::of(&Terms::of(&cell(0.9, 0.0)).expect("terms"), 1).expect("requests");
        assert!(asked.requests.last().is_some_and(|last| last.at < 100.0));
    }
}
