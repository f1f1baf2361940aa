//! The requests of a workload on an uplink. Used by the simulations that play each request through
//! the gate: `promise` and `loops`.

use weir_units::BitRate;
use weir_workload::arrivals::Offered;
use weir_workload::law;
use weir_workload::shape::Shape;

use crate::failure::{Failure, invalid_usage};

/// A body's head in bytes, as `weir-lab trace make` and `weir-lab sim replay` count it.
pub(super) const HEAD: u64 = 200;

/// The time of a run if none is given, but for whole cycles.
const USUAL: f64 = 150.0;

/// Most requests of a run: each is played several times, grant by grant.
const MOST_REQUESTS: f64 = 1e7;

/// What `workload` asks of an uplink of this rate.
///
/// # Errors
///
/// A law or workload that there is not, or more requests than can be played.
pub(super) fn offered(
    law: &str,
    workload: &str,
    duration: Option<f64>,
    uplink: BitRate,
) -> Result<Offered, Failure> {
    let law = law::parse(law).map_err(invalid_usage)?;
    let shape = Shape::parse(workload).map_err(invalid_usage)?;
    let cycle = shape.cycle();
    let usual = (USUAL / cycle).ceil() * cycle;
    let duration = duration.unwrap_or(usual);
    let offered = Offered::new(law, shape, duration, uplink.bits() as f64 / 8.0);
    let expected = offered.expected().map_err(invalid_usage)?;
    if expected > MOST_REQUESTS {
        return Err(invalid_usage(format!(
            "{workload} would be about {expected:.0} requests; give a shorter --duration, a slower \
             uplink or larger sizes, for at most {MOST_REQUESTS:.0}"
        )));
    }
    Ok(offered)
}
