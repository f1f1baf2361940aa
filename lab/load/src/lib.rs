//! Sends a workload to a server, open loop or closed loop, as impatient users would, and records
//! what they would see. `weir-lab load` and the experiments use it.

mod attempts;
mod connections;
mod delay_queue;
mod demand;
mod engine;
mod error;
mod http1;
mod limits;
mod machine;
mod plan;
mod read_lag;
mod ready;
mod report;
mod run;
mod schedule;
mod socket;
mod stream;
mod task;
mod timer;
mod times;
mod tls;
mod traffic;

pub use demand::{Demand, Step, Users};
pub use error::Error;
#[doc(hidden)]
pub use http1::outcome_of;
pub use limits::check_limits;
pub use plan::{Body, Plan, Source};
pub use report::{Live, Report};
pub use run::run;
pub use tls::{HandshakeTimes, Handshakes, Tls, TlsOptions, TlsVersion, Trust};
