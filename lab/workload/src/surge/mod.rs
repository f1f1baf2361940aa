//! SURGE whole (Barford & Crovella, "Generating representative Web workloads for network and server
//! performance evaluation", 1998): a set of files, how popular they are, in which order they are
//! asked for, how many belong to a page, and how long users wait in between. `weir-lab load` and
//! the experiments send its users' requests.

mod files;
mod locality;
mod model;
mod timing;
mod users;

use crate::arrivals::check_classes;
use crate::invalid::Invalid;
use crate::law::Lognormal;

pub use files::{FileSet, SurgeFile};
pub use locality::Sequence;
pub use model::Model;
pub use timing::Timing;
pub use users::SurgeUsers;

impl Model {
    /// The files, with their sizes and popularity.
    ///
    /// # Errors
    ///
    /// A parameter out of its range.
    pub fn file_set(&self) -> Result<FileSet, Invalid> {
        if !(1..=MOST_FILES).contains(&self.files) {
            return Err(Invalid(format!(
                "SURGE with {} files: give 1 to {MOST_FILES}",
                self.files
            )));
        }
        Ok(FileSet::new(self))
    }

    /// The users.
    ///
    /// # Errors
    ///
    /// A parameter out of its range.
    pub fn users(&self) -> Result<SurgeUsers, Invalid> {
        if self.users == 0 {
            return Err(Invalid("SURGE with 0 users: give at least 1".into()));
        }
        let Lognormal { mu, sigma } = self.stack_distance;
        if !(mu.is_finite() && sigma.is_finite() && sigma > 0.0) {
            return Err(Invalid(format!(
                "SURGE's stack distance has mu {mu} and sigma {sigma}; give numbers, sigma above 0"
            )));
        }
        self.timing.check()?;
        check_classes(&self.classes)?;
        Ok(SurgeUsers::new(self, self.file_set()?))
    }
}

/// More files than this take too long to match with their popularity.
const MOST_FILES: u32 = 20_000;
