//! The load of a workload that `make` and `scale` write: its shape, its link and how long it lasts.

use weir_units::BitRate;
use weir_workload::shape::Shape;

use crate::failure::{Failure, invalid_usage};
use crate::values::{LoadIs, link_rate, seconds};

/// Flags of `weir-lab trace make` and `scale`.
#[derive(Debug, clap::Args)]
pub(super) struct Workload {
    /// Load over time, such as w1, constant:load=0.8 or 25s@1.2,25s@0.2
    #[arg(long, value_name = "SHAPE", long_help = weir_workload::shape::SYNTAX)]
    shape: String,

    /// Rate of the link that a load of 1 fills, such as 10mbit
    #[arg(long, value_name = "RATE", value_parser = link_rate)]
    pub(super) uplink: BitRate,

    /// How long it lasts
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    pub(super) duration: f64,

    /// What load counts
    #[arg(long, value_enum, default_value = "wire")]
    pub(super) load_is: LoadIs,
}

impl Workload {
    /// The load over time.
    ///
    /// # Errors
    ///
    /// It is no shape.
    pub(super) fn shape(&self) -> Result<Shape, Failure> {
        Shape::parse(&self.shape).map_err(invalid_usage)
    }
}
