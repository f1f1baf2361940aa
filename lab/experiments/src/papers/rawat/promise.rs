//! The experiment `rawat-promise`: the promise that no response ends later than under fair sharing,
//! over each order of `protective`, with clients near and far beside each other. Rawat's idea, and its
//! rivals, without making anybody late.

use std::sync::Arc;
use std::time::Duration;

use weir_sched::policy::{BURST, FSP, ORDERS, PROTECTIVE, SRPT, SRRT, SWIFT};
use weir_sched::{PolicyKind, policy};
use weir_sim::replications;
use weir_sim::uplink::{Client, Lateness, Link, Request};
use weir_workload::arrivals::Offered;
use weir_workload::law::WorldCup;
use weir_workload::shape::{Shape, Workload};
use weir_workload::wire::Wire;

use super::played::over_seeds;
use super::scene::RATE;
use crate::choice::Scale;
use crate::experiment::{Evidence, Experiment};
use crate::findings::{Bar, Ours, Row, Section, Table, Unit};
