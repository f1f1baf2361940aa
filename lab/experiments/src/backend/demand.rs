//! What clients ask of an application, and when: equal cells with equal seeds ask the same of every
//! system. The run of a cell sends it, and the figures are of it.

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

/// What is different about a cell with an application.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Parameters {
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

impl Parameters {
    /// Those of a cell.
    ///
    /// # Errors
    ///
    /// A cell without an application, or with times or loads that cannot be.
    pub(crate) fn of(cell: &Cell) -> Result<Parameters> {
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
        Ok(Parameters { service, load, warm_up, window, after, patience, retries })
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
pub(crate) struct Workload {
    /// In order of time. The length that clients expect is that of every answer.
    pub(crate) requests: Vec<Request>,
    /// The size that stands for the work of each.
    pub(crate) sizes: Vec<u64>,
}

impl Workload {
    /// What is asked in a cell: Poisson arrivals and sizes of Carter's Figure 21. The place of a
    /// request is its `id`.
    ///
    /// # Errors
    ///
    /// Loads or times that make no workload.
    pub(crate) fn of(parameters: &Parameters, seed: u64) -> Result<Workload> {
        let invalid = |e: weir_workload::Invalid| Error(e.to_string());
        let mut periods = vec![Period { seconds: parameters.end(), load: parameters.load }];
        if parameters.after > 0.0 {
            periods.push(Period { seconds: parameters.after, load: AFTERWARDS });
        }
        let shape = Shape::new("the cell's", periods).map_err(invalid)?;
        let law = Arc::new(carter());
        // The server's pace in bytes, as if they were sent.
        let pace = law.mean() * parameters.capacity();
        let mut offered = Offered::new(law, shape, parameters.end() + parameters.after, pace);
        offered.load_is = LoadIs::File;
        offered.seed = seed;
        let mut workload = Workload { requests: Vec::new(), sizes: Vec::new() };
        for (id, request) in offered.arrivals().map_err(invalid)?.enumerate() {
            let size = request.size.unwrap_or(1);
            workload.sizes.push(size);
            workload.requests.push(Request {
                path: format!("/work/{size}?id={id}").into(),
                size: Some(BODY.len() as u64),
                ..request
            });
        }
        Ok(workload)
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
        let parameters = Parameters::of(&cell(3.0, 100.0)).expect("terms");
        assert_eq!(
            (parameters.end(), parameters.longest(), parameters.attempts_per_second()),
            (100.0, 10.0, 600.0)
        );
        let workload = Workload::of(&parameters, 3).expect("requests");
        let rate = |from: f64, to: f64| {
            let within = workload.requests.iter().filter(|r| r.at >= from && r.at < to);
            within.count() as f64 / (to - from)
        };
        assert!((rate(0.0, 100.0) - 300.0).abs() < 10.0, "{}", rate(0.0, 100.0));
        assert!((rate(100.0, 200.0) - 50.0).abs() < 5.0, "{}", rate(100.0, 200.0));
        for (id, (request, size)) in workload.requests.iter().zip(&workload.sizes).enumerate() {
            assert_eq!(*request.path, format!("/work/{size}?id={id}"));
            assert_eq!(request.size, Some(1024));
        }
        assert!(workload.requests.windows(2).all(|pair| pair[0].at < pair[1].at));
        let again = Workload::of(&parameters, 3).expect("requests");
        assert_eq!(again.requests, workload.requests);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        assert!(Parameters::of(&cell(0.0, 1.0)).is_err());
        assert!(Parameters::of(&cell(f64::NAN, 1.0)).is_err());
        assert!(Parameters::of(&cell(1.0, f64::INFINITY)).is_err());
        let mut hasty = cell(1.0, 0.0);
        hasty.users.abort_after = Some(0.0);
        assert!(Parameters::of(&hasty).is_err());
        let workload =
            Workload::of(&Parameters::of(&cell(0.9, 0.0)).expect("terms"), 1).expect("requests");
        assert!(workload.requests.last().is_some_and(|last| last.at < 100.0));
    }
}
