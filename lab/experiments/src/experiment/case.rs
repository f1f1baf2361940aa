//! The conditions of a comparison, without the system: Schroeder's baseline (Table 2, row A) and what
//! a row changes of it.

use super::definition::Group;
use super::workload::{W1, Workload};
use crate::cell::{Cell, Demand, Law, Network, Users};
use crate::choice::Scale;

/// Queues of half-open and of waiting connections, and Apache's, in section 3.2.
pub(crate) const PAPER_BACKLOG: u32 = 512;

/// Conditions that several systems meet.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Case {
    network: Network,
    users: Users,
    demand: Demand,
    /// Connections that wait to be accepted and SYN cookies, if the case is about them.
    backlog: Option<(u32, bool)>,
}

impl Case {
    /// The baseline under a workload of Table 1.
    pub(crate) fn of(workload: &Workload, scale: Scale) -> Case {
        Case::open(workload.periods(), workload.duration(scale))
    }

    /// The baseline under W1.
    pub(crate) fn w1(scale: Scale) -> Case {
        Case::of(&W1, scale)
    }

    /// The baseline under other periods of load.
    pub(crate) fn open(periods: Vec<(f64, f64)>, duration: f64) -> Case {
        Case::from(Demand::Open { law: Law::WorldCup, periods, duration })
    }

    /// SURGE's users.
    pub(crate) fn closed(users: u32, duration: f64) -> Case {
        Case::from(Demand::Closed { users, duration })
    }

    fn from(demand: Demand) -> Case {
        Case { network: Network::default(), users: Users::default(), demand, backlog: None }
    }

    /// A recorded trace instead of the law, under the same periods.
    pub(crate) fn traced(mut self, file: &str) -> Case {
        if let Demand::Open { periods, duration, .. } = self.demand {
            self.demand = Demand::Trace { file: file.to_owned(), periods, duration };
        }
        self
    }

    pub(crate) fn queue(mut self, packets: u32) -> Case {
        self.network.queue = packets;
        self
    }

    pub(crate) fn wan(mut self, round_trip_ms: f64, loss: f64) -> Case {
        self.network.round_trip_ms = round_trip_ms;
        self.network.loss = loss;
        self
    }

    pub(crate) fn router(mut self) -> Case {
        self.network.router = true;
        self
    }

    pub(crate) fn mtu(mut self, bytes: u32) -> Case {
        self.network.mtu = bytes;
        self
    }

    pub(crate) fn initial_rto(mut self, ms: u32) -> Case {
        self.network.initial_rto_ms = Some(ms);
        self
    }

    pub(crate) fn backlog(mut self, connections: u32, syn_cookies: bool) -> Case {
        self.backlog = Some((connections, syn_cookies));
        self
    }

    pub(crate) fn requests_per_connection(mut self, requests: u32) -> Case {
        self.users.requests_per_connection = requests;
        self
    }

    pub(crate) fn abort(mut self, after: f64, retries: u32) -> Case {
        self.users.abort_after = Some(after);
        self.users.retries = retries;
        self
    }

    /// The periods of load; none in a closed loop.
    pub(crate) fn periods(&self) -> &[(f64, f64)] {
        match &self.demand {
            Demand::Open { periods, .. } | Demand::Trace { periods, .. } => periods,
            Demand::Closed { .. } | Demand::Application { .. } => &[],
        }
    }

    /// Seconds of load.
    pub(crate) fn duration(&self) -> f64 {
        self.demand.seconds()
    }

    /// The cell of a system, with seed 0. Apache has the paper's backlog and no SYN cookies unless
    /// the case says otherwise; the others have their own.
    pub(crate) fn cell(&self, system: &str) -> Cell {
        let mut network = self.network.clone();
        let apache = system.starts_with("apache-prefork").then_some((PAPER_BACKLOG, false));
        if let Some((backlog, syn_cookies)) = self.backlog.or(apache) {
            network.backlog = backlog;
            network.syn_cookies = syn_cookies;
        }
        Cell {
            system: system.to_owned(),
            network,
            users: self.users.clone(),
            demand: self.demand.clone(),
            seed: 0,
        }
    }

    /// A group of each system, for a comparison.
    pub(crate) fn groups(&self, systems: &[String]) -> impl Iterator<Item = Group> {
        self.with(systems, false)
    }

    /// A group of each system, for a point of a curve.
    pub(crate) fn points(&self, systems: &[String]) -> impl Iterator<Item = Group> {
        self.with(systems, true)
    }

    fn with(&self, systems: &[String], point: bool) -> impl Iterator<Item = Group> {
        systems.iter().map(move |system| Group { cell: self.cell(system), point })
    }
}
