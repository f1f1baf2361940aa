//! Closed loops on the uplink: clients who ask the next response as soon as they have the last, on
//! as many connections as they like, beside responses that are asked once. It tells how far the
//! former push the latter back; `weir-lab sim loops` shows it.

mod playing;
mod scene;
#[cfg(test)]
mod tests;

use weir_sched::PolicyKind;

use super::invalid::{Invalid, LATEST, in_order};
use super::link::Link;
use playing::Playing;
pub use scene::{Again, Leaver, LoopResults, Looping, Scene, Single, Sizes};

impl Link {
    /// Plays a scene under a policy until all its singles are done. Each grant costs about a
    /// microsecond.
    ///
    /// # Errors
    ///
    /// A time that is no number or out of order.
    pub fn loops(&self, policy: PolicyKind, scene: &Scene) -> Result<LoopResults, Invalid> {
        in_order(scene.singles.iter().map(|single| single.at))?;
        let last = scene.singles.last().map_or(0.0, |single| single.at);
        within("the end", scene.until, last)?;
        for leaver in &scene.leavers {
            within("a leaver's time", leaver.at, 0.0)?;
            within("a leaver's end", leaver.at + leaver.stays.as_secs_f64(), 0.0)?;
        }
        Ok(Playing::new(self, policy, scene).run())
    }
}

fn within(what: &str, at: f64, least: f64) -> Result<(), Invalid> {
    match at >= least && at < LATEST {
        true => Ok(()),
        false => {
            Err(Invalid(format!("{what} is {at} s; expected seconds from {least} to {LATEST}")))
        }
    }
}
