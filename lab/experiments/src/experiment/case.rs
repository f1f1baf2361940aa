//! The conditions of a comparison, without the system: Schroeder's baseline (Table 2, row A) and what
//! a row changes of it.

use super::definition::Group;
use super::workload::{W1, Workload};
use crate::cell::{Cell, Demand, Files, Law, LoadIs, Network, Users};
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
        let (law, load_is) = (Law::WorldCup, LoadIs::Wire);
        Case::from(Demand::Open { law, periods, load_is, duration })
    }

    /// SURGE's users.
    pub(crate) fn closed(users: u32, duration: f64) -> Case {
        Case::from(Demand::Closed { users, duration })
    }

    /// Classes of clients, each with its offered load and its round-trip time in milliseconds.
    pub(crate) fn classes(classes: &[(f64, f64)], duration: f64) -> Case {
        let (loads, round_trips) = classes.iter().copied().unzip();
        let mut case = Case::from(Demand::Classes { law: Law::WorldCup, loads, duration });
        case.network.class_round_trips_ms = round_trips;
        case
    }

    /// Files on a slow disk.
    pub(crate) fn files(files: Files) -> Case {
        Case::from(Demand::Files(files))
    }

    /// What is asked for of files on a slow disk, if that is the case.
    pub(crate) fn files_asked(&self) -> Option<&Files> {
        match &self.demand {
            Demand::Files(files) => Some(files),
            _ => None,
        }
    }

    fn from(demand: Demand) -> Case {
        Case { network: Network::default(), users: Users::default(), demand, backlog: None }
    }

    /// A recorded trace instead of the law, under the same periods.
    pub(crate) fn traced(mut self, file: &str) -> Case {
        if let Demand::Open { periods, load_is, duration, .. } = self.demand {
            self.demand = Demand::Trace { file: file.to_owned(), periods, load_is, duration };
        }
        self
    }

    /// Schroeder's baseline as the paper ran it (Table 2, row A, and sections 2.1, 3.2 and 3.3.2):
    /// load in file bytes, a queue of 100 packets together with an initial retransmission timeout
    /// of 3 s, packets of 1500 bytes, queues of 512 connections and no SYN cookies. What a row of
    /// the table changes is set after it.
    pub(crate) fn in_the_paper(mut self) -> Case {
        if let Demand::Open { load_is, .. } | Demand::Trace { load_is, .. } = &mut self.demand {
            *load_is = LoadIs::File;
        }
        self.queue(100).initial_rto(3000).mtu(1500).backlog(PAPER_BACKLOG, false)
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

    pub(crate) fn tls(mut self) -> Case {
        self.users.tls = true;
        self
    }

    /// The periods of load; none in a closed loop.
    pub(crate) fn periods(&self) -> &[(f64, f64)] {
        match &self.demand {
            Demand::Open { periods, .. } | Demand::Trace { periods, .. } => periods,
            Demand::Classes { .. }
            | Demand::Closed { .. }
            | Demand::Application { .. }
            | Demand::Files(_) => &[],
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::systems::{APACHE, NGINX};

    #[test]
    fn the_paper_s_conditions_are_those_of_table_2_for_every_system() {
        for case in [Case::w1(Scale::Full), Case::w1(Scale::Full).traced("nasa.csv")] {
            for system in [APACHE, NGINX] {
                let Cell { network, users, demand, .. } = case.clone().in_the_paper().cell(system);
                let (Demand::Open { load_is, .. } | Demand::Trace { load_is, .. }) = demand else {
                    panic!("{system}: no open loop");
                };
                assert_eq!(load_is, LoadIs::File);
                assert_eq!((network.queue, network.initial_rto_ms), (100, Some(3000)));
                assert_eq!((network.backlog, network.syn_cookies), (512, false));
                assert_eq!((network.mtu, users), (1500, Users::default()));
            }
        }
    }

    #[test]
    fn today_s_load_counts_wire_bytes_and_only_apache_has_the_paper_s_backlog() {
        let case = Case::w1(Scale::Full);
        let Cell { network, demand, .. } = case.cell(NGINX);
        assert!(matches!(demand, Demand::Open { load_is: LoadIs::Wire, .. }));
        assert_eq!((network.queue, network.initial_rto_ms), (1000, None));
        assert_eq!((network.backlog, case.cell(APACHE).network.backlog), (4096, PAPER_BACKLOG));
    }
}
