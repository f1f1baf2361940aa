//! The parameters of SURGE. [`super`] makes files and users of them.

use std::sync::Arc;

use super::timing::Timing;
use crate::law::{Law, Lognormal, Surge};

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
}
