//! SURGE whole (Barford & Crovella, "Generating representative Web workloads for network and server
//! performance evaluation", 1998): a set of files, how popular they are, in which order they are
//! asked for, how many belong to a page, and how long users wait in between. `weir-lab load` and
//! the experiments send its users' requests.

mod files;
mod locality;
mod timing;
mod users;

use std::sync::Arc;

use crate::arrivals::check_classes;
use crate::invalid::Invalid;
use crate::law::{Law, Lognormal, Surge};

pub use files::{FileSet, SurgeFile};
pub use locality::Sequence;
pub use timing::Timing;
pub use users::SurgeUsers;

/// The model's parameters.
#[derive(Clone, Debug)]
pub struct Model {
    /// User equivalents, at least 1.
    pub users: u32,
    /// Distinct files, at least 1.
    pub files: u32,
    /// Sizes of the files on the server.
    pub file_sizes: Arc<dyn Law>,
    /// Sizes of the requests, to which the popularity of the files is matched.
    pub request_sizes: Arc<dyn Law>,
    /// How deep the next file lies in the stack of those asked for last, counted from 1.
    pub stack_distance: Lognormal,
    /// Pages and thought.
    pub timing: Timing,
    /// Share of the users in each client class, in any unit; with none, all are in class 0.
    pub classes: Vec<f64>,
    /// Equal seeds give equal files and requests.
    pub seed: u64,
}

impl Model {
    /// SURGE as Crovella, Frangioso & Harchol-Balter 1999 use it (sections 4.1 and 4.2): 2000
    /// files, request sizes of their Table 1, and for the rest the parameters of Barford &
    /// Crovella 1998. The paper counts 400 to 2000 users.
    pub fn new(users: u32, seed: u64) -> Model {
        Model {
            users,
            files: 2000,
            file_sizes: Arc::new(Surge::files()),
            request_sizes: Arc::new(Surge::requests()),
            stack_distance: Lognormal { mu: 1.5, sigma: 0.80 },
            timing: Timing::default(),
            classes: Vec::new(),
            seed,
        }
    }

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
